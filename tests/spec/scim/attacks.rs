//! What a stolen token of a provider, an outsider, and hostile requests can do.

use http::{HeaderMap, Method};
use serde_json::json;

use super::{create, group, patch, provider, server, user};
use crate::harness::{Kitbag, guests, routes};

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

#[tokio::test]
async fn a_stolen_token_reaches_no_route_but_those_of_scim() {
    let server = server().await;
    let thief = provider(&server).await;
    let open = ["/.well-known/", "/oauth/", "/healthz", "/readyz", "/scim/", "/secrets/name/page", "/ui"];
    let closed: Vec<_> = routes()
        .into_iter()
        .filter(|path| path != "/" && !open.iter().any(|part| path.contains(part)))
        .collect();
    assert!(closed.len() > 30 && closed.iter().any(|path| path == "/graphql"), "{closed:?}");

    for path in &closed {
        for method in METHODS {
            let answer = thief.send(method.clone(), path, "application/json", "{}").await;
            assert_eq!(answer.status, 401, "{method} {path}");
        }
    }
    for path in routes().iter().filter(|path| path.starts_with("/ui/") && !path.starts_with("/ui/sign")) {
        let status = thief.get(path).await.status;
        assert!(
            [303, 401, 404, 405].contains(&status.as_u16()) || path.contains("assets"),
            "{path}: {status}"
        );
    }
}

#[tokio::test]
async fn nobody_without_a_token_of_a_provider_reaches_scim() {
    let server = server().await;
    let operator = server.as_operator();
    let key = operator.post("/keys", &json!({ "name": "all" })).await.assert_status(201).json();
    let key = server.with_token(key["key"].as_str().expect("the key, once"));
    let revoked = provider(&server).await;
    let tokens = operator.get("/scim-tokens").await.assert_status(200).json();
    assert!(!tokens.to_string().contains(revoked.token()), "a token is shown once");
    let id = tokens[0]["id"].as_str().expect("an id");
    operator.delete(&format!("/scim-tokens/{id}")).await.assert_status(204);
    operator.delete(&format!("/scim-tokens/{id}")).await.assert_status(404);
    let paths: Vec<_> = routes().into_iter().filter(|path| path.starts_with("/scim/")).collect();
    assert!(paths.len() > 6, "{paths:?}");

    let wrong = ["kbs_", "kbs_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "x"];
    let wrong = wrong.map(|token| server.with_token(token));
    for path in &paths {
        for method in METHODS {
            for outsider in [&operator, &key, &revoked].into_iter().chain(&wrong) {
                let answer = outsider.send(method.clone(), path, "application/json", "{}").await;
                assert_eq!(answer.status, 401, "{method} {path}");
                assert_eq!(answer.header("content-type"), Some("application/scim+json"));
                assert!(answer.header("www-authenticate").is_some_and(|it| it.starts_with("Bearer")));
            }
            let answer = server.anonymous().send(method.clone(), path, HeaderMap::new(), "").await;
            assert_eq!(answer.status, 401, "{method} {path}");
        }
    }

    let off = Kitbag::start().await;
    for path in &paths {
        off.as_operator().get(path).await.assert_status(404);
    }
    off.as_operator().post("/scim-tokens", &json!({ "name": "a" })).await.assert_problem(409, "scim-user-id");
}

#[tokio::test]
async fn only_an_operator_who_has_signed_in_makes_and_revokes_tokens() {
    let server = server().await;
    let operator = server.as_operator();
    let key = operator.post("/keys", &json!({ "name": "all" })).await.assert_status(201).json();
    let key = server.with_token(key["key"].as_str().expect("the key, once"));
    let body = json!({ "name": "mine" });
    key.post("/scim-tokens", &body).await.assert_problem(403, "key of a program");
    key.delete("/scim-tokens/0123").await.assert_problem(403, "key of a program");
    let una = server.as_user("una");
    una.get("/scim-tokens").await.assert_status(403);
    una.post("/scim-tokens", &body).await.assert_status(403);
    una.delete("/scim-tokens/0123").await.assert_status(403);
    for name in ["", " ", "a\nb", &"x".repeat(101)] {
        operator.post("/scim-tokens", &json!({ "name": name })).await.assert_status(422);
    }
    for number in 0..20 {
        operator.post("/scim-tokens", &json!({ "name": number.to_string() })).await.assert_status(201);
    }
    operator.post("/scim-tokens", &body).await.assert_problem(409, "as many");
}

#[tokio::test]
async fn a_stolen_token_makes_no_operator_and_nobody_somebody_else() {
    let server = Kitbag::start_with(|settings| {
        settings.scim_user_id = "userName".parse().expect("an attribute");
        settings.operators = "kitbag,group:admins".parse().expect("a list");
    })
    .await;
    server.deploy(guests::TEXT).await;
    let thief = provider(&server).await;
    let una = server.as_user("una");
    let key = una.post("/keys", &json!({ "name": "all" })).await.assert_status(201).json();
    let program = server.with_token(key["key"].as_str().expect("the key, once"));

    let id = create(&thief, "Users", &user("una")).await;
    create(&thief, "Groups", &group("admins", &[&id])).await;
    create(&thief, "Groups", &group("group:admins", &[&id])).await;
    for name in ["group:admins", "group:sales", "admins"] {
        create(&thief, "Users", &user(name)).await;
    }

    for caller in [&una, &program, &server.as_user("group:admins"), &server.as_user("admins")] {
        caller.get("/users").await.assert_status(403);
        caller.get("/overview").await.assert_status(403);
        caller.post("/scim-tokens", &json!({ "name": "more" })).await.assert_status(403);
    }

    // The id of another: once for each, whatever the case of the user name.
    for name in ["una", "UNA"] {
        thief.post("/scim/v2/Users", &user(name)).await.assert_status(409);
    }
    let rename = json!([{ "op": "replace", "path": "userName", "value": "admins" }]);
    let path = format!("/scim/v2/Users/{id}");
    let refused = thief.patch(&path, &patch(&rename)).await.assert_status(409).json();
    assert_eq!(refused["scimType"], "uniqueness");
    for name in ["(erased)", "", "a\u{0}b", &"x".repeat(256)] {
        thief.post("/scim/v2/Users", &user(name)).await.assert_status(400);
    }
    una.get("/toolkits").await.assert_status(200);
}

#[tokio::test]
async fn hostile_requests_are_refused_within_limits() {
    let server = server().await;
    let provider = provider(&server).await;
    let id = create(&provider, "Users", &user("ana")).await;
    let path = format!("/scim/v2/Users/{id}");
    let group_path = format!("/scim/v2/Groups/{}", create(&provider, "Groups", &group("sales", &[])).await);

    let operation = json!({ "op": "add", "path": "emails", "value": [{ "value": "a@example.com" }] });
    let mut bombs = vec![
        (patch(&json!(vec![operation; 1001])), "invalidSyntax"),
        (patch(&json!([])), "invalidSyntax"),
        (patch(&json!(7)), "invalidSyntax"),
        (patch(&json!([7])), "invalidSyntax"),
        (json!({ "Operations": [] }), "invalidSyntax"),
        (patch(&json!([{ "op": "destroy", "path": "active" }])), "invalidSyntax"),
        (patch(&json!([{ "op": "remove" }])), "noTarget"),
        (patch(&json!([{ "op": "add", "path": 7, "value": 7 }])), "invalidPath"),
        (patch(&json!([{ "op": "add", "path": "active[", "value": true }])), "invalidPath"),
        (patch(&json!([{ "op": "add", "path": "a..b", "value": true }])), "invalidPath"),
        (patch(&json!([{ "op": "add", "path": "emails[a eq", "value": "x" }])), "invalidPath"),
        (patch(&json!([{ "op": "add", "path": "x".repeat(5000), "value": "x" }])), "invalidPath"),
        (patch(&json!([{ "op": "replace", "path": "active", "value": "perhaps" }])), "invalidValue"),
        (patch(&json!([{ "op": "replace", "path": "active", "value": [true] }])), "invalidValue"),
        (patch(&json!([{ "op": "remove", "path": "userName" }])), "invalidValue"),
        (patch(&json!([{ "op": "replace", "path": "name", "value": "x".repeat(20_000) }])), "invalidValue"),
        (
            patch(&json!([{ "op": "replace", "path": "displayName", "value": "x".repeat(20_000) }])),
            "invalidValue",
        ),
        (patch(&json!([{ "op": "replace", "path": "displayName", "value": "a\u{0}b" }])), "invalidValue"),
    ];
    let emails: Vec<_> = (0..500)
        .map(|it| json!({ "op": "add", "path": "emails", "value": { "value": it.to_string() } }))
        .collect();
    bombs.push((patch(&emails.into()), "invalidValue"));
    for (bomb, scim_type) in &bombs {
        let refused = provider.patch(&path, bomb).await.assert_status(400);
        assert_eq!(refused.header("content-type"), Some("application/scim+json"));
        let refused = refused.json();
        assert_eq!(refused["scimType"], *scim_type, "{refused} {:.200}", bomb.to_string());
        assert_eq!(refused["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:Error"]));
    }
    let strangers = json!([{ "op": "add", "path": "members", "value": [{ "value": "nobody" }] }]);
    provider.patch(&group_path, &patch(&strangers)).await.assert_status(400);
    let itself = json!([{ "op": "add", "path": "members", "value": [{ "value": group_path }] }]);
    provider.patch(&group_path, &patch(&itself)).await.assert_status(400);
    let many: Vec<_> = (0..10_001).map(|it| json!({ "value": it.to_string() })).collect();
    let many = json!([{ "op": "add", "path": "members", "value": many }]);
    provider.patch(&group_path, &patch(&many)).await.assert_status(400);

    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [deep.as_str(), "", "[]", "null", "{", "{\"schemas\":[]"] {
        provider.send(Method::PATCH, &path, "application/json", body.to_owned()).await.assert_status(400);
        provider
            .send(Method::POST, "/scim/v2/Users", "application/scim+json", body.to_owned())
            .await
            .assert_status(400);
    }
    let large = format!("{{\"userName\":\"{}\"}}", "x".repeat(2 << 20));
    provider.send(Method::POST, "/scim/v2/Users", "application/json", large).await.assert_status(413);
    provider.send(Method::POST, "/scim/v2/Users", "text/plain", "{}").await.assert_status(415);
    let values = format!("{{\"userName\":\"ben\",\"roles\":[{}0]}}", "0,".repeat(1 << 16));
    let refused = provider.send(Method::POST, "/scim/v2/Users", "application/json", values).await;
    assert!(refused.assert_status(400).text().contains("too many values"));

    for filter in [
        format!("{}userName pr{}", "(".repeat(300), ")".repeat(300)),
        ["userName pr"; 100].join(" or "),
        format!("userName eq \"{}\"", "x".repeat(3000)),
        "members pr".to_owned(),
        "userName eq".to_owned(),
    ] {
        for kind in ["Users", "Groups"] {
            if kind == "Users" && filter == "members pr" {
                continue;
            }
            let refused = provider.get(&format!("/scim/v2/{kind}?filter={filter}")).await.assert_status(400);
            assert_eq!(refused.json()["scimType"], "invalidFilter", "{filter:.100}");
        }
    }
    provider.get("/scim/v2/Users?count=9999999&startIndex=-5").await.assert_status(200);
    provider.get("/scim/v2/Users?count=x").await.assert_status(400);
    let unchanged = provider.get(&path).await.assert_status(200).json();
    assert_eq!((&unchanged["userName"], unchanged.get("emails")), (&json!("ana"), None));
}
