//! SCIM: an identity provider maintains users and groups here, with a token that can do nothing else.

mod attacks;
mod tester;

use std::time::Duration;

use http::Method;
use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::harness::{Kitbag, User, Visitor, guests, within};

/// A server that an identity provider maintains users at; their `userName` is the id that tokens carry.
pub(crate) async fn server() -> Kitbag {
    Kitbag::start_with(|settings| settings.scim_user_id = "userName".parse().expect("an attribute")).await
}

/// The identity provider of a server, with a new token.
pub(crate) async fn provider(server: &Kitbag) -> User {
    let body = json!({ "name": "provider" });
    let made = server.as_operator().post("/scim-tokens", &body).await.assert_status(201).json();
    server.with_token(made["token"].as_str().expect("the token, once"))
}

/// A request of a provider with operations.
pub(crate) fn patch(operations: &Value) -> Value {
    json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations })
}

/// A user.
pub(crate) fn user(name: &str) -> Value {
    json!({ "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": name, "active": true })
}

/// A group with members.
pub(crate) fn group(name: &str, members: &[&str]) -> Value {
    let members: Vec<_> = members.iter().map(|id| json!({ "value": id })).collect();
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": name, "members": members,
    })
}

/// Creates a resource and returns its id.
pub(crate) async fn create(provider: &User, kind: &str, resource: &Value) -> String {
    let made = provider.post(&format!("/scim/v2/{kind}"), resource).await.assert_status(201);
    let location = made.header("location").expect("a location").to_owned();
    let id = made.json()["id"].as_str().expect("an id").to_owned();
    assert!(location.ends_with(&format!("/scim/v2/{kind}/{id}")), "{location}");
    id
}

/// The resources of a list.
async fn listed(provider: &User, path: &str) -> Vec<Value> {
    let list = provider.get(path).await.assert_status(200).json();
    assert_eq!(list["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:ListResponse"]), "{list}");
    list["Resources"].as_array().expect("a list").clone()
}

/// Acts of the audit log about provisioning, oldest first, as `act name user`.
async fn acts(server: &Kitbag) -> Vec<String> {
    let log = server.as_operator().get("/audit?since=1h").await.assert_status(200).json_lines();
    let mut acts: Vec<_> = log
        .iter()
        .filter(|entry| entry["key"].is_string())
        .map(|entry| {
            let part = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", part("act"), part("name"), part("affectedUser")).trim().to_owned()
        })
        .collect();
    acts.dedup();
    acts
}

/// The requests of Entra's documentation, "Develop and plan provisioning for a SCIM endpoint".
#[tokio::test]
async fn requests_as_entra_sends_them() {
    let server = server().await;
    let entra = provider(&server).await;
    let name = "Test_User_ab6490ee-1e48-479e-a20b-2d77186b5dd1";
    let filter = format!("/scim/v2/Users?filter=userName eq \"{name}\"");
    assert_eq!(listed(&entra, &filter).await, [] as [Value; 0], "none is 200 with an empty list");

    let made = entra
        .post("/scim/v2/Users", &json!({
            "schemas": [
                "urn:ietf:params:scim:schemas:core:2.0:User",
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
            ],
            "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef", "userName": name, "active": true,
            "emails": [{ "primary": true, "type": "work", "value": "Test_User_fd0ea19b@testuser.com" }],
            "meta": { "resourceType": "User" },
            "name": { "formatted": "givenName familyName", "familyName": "familyName", "givenName": "givenName" },
            "roles": [],
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { "department": "Sales" },
        }))
        .await
        .assert_status(201);
    assert_eq!(made.header("content-type"), Some("application/scim+json"));
    let made = made.json();
    assert_eq!((&made["active"], &made["meta"]["resourceType"]), (&json!(true), &json!("User")));
    let id = made["id"].as_str().expect("an id");
    let path = format!("/scim/v2/Users/{id}");
    let in_capitals = format!("/scim/v2/Users?filter=userName eq \"{}\"", name.to_uppercase());
    assert_eq!(listed(&entra, &in_capitals).await, std::slice::from_ref(&made));
    assert_eq!(entra.get(&path).await.assert_status(200).json(), made);
    let again = entra.post("/scim/v2/Users", &user(name)).await.assert_status(409).json();
    assert_eq!(again["scimType"], "uniqueness", "{again}");

    let changed = patch(&json!([
        { "op": "Replace", "path": "emails[type eq \"work\"].value", "value": "updatedEmail@microsoft.com" },
        { "op": "Replace", "path": "name.familyName", "value": "updatedFamilyName" },
        { "op": "Add", "path": "emails[type eq \"home\"].value", "value": "home@example.org" },
        { "op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "IT" },
    ]));
    let changed = entra.patch(&path, &changed).await.assert_status(200).json();
    assert_eq!(changed["name"]["familyName"], "updatedFamilyName");
    assert_eq!(
        changed["emails"],
        json!([
            { "value": "updatedEmail@microsoft.com", "type": "work", "primary": true },
            { "value": "home@example.org", "type": "home" },
        ])
    );

    let groups = json!({
        "schemas": [
            "urn:ietf:params:scim:schemas:core:2.0:Group",
            "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group",
        ],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159", "displayName": "displayName", "members": [],
        "meta": { "resourceType": "Group" },
    });
    let group_id = create(&entra, "Groups", &groups).await;
    let group_path = format!("/scim/v2/Groups/{group_id}");
    let found =
        listed(&entra, "/scim/v2/Groups?excludedAttributes=members&filter=displayName eq \"displayName\"")
            .await;
    assert!(found.len() == 1 && found[0].get("members").is_none(), "{found:?}");
    let member = json!([{ "$ref": null, "value": id }]);
    let add = patch(&json!([{ "op": "Add", "path": "members", "value": member }]));
    entra.patch(&group_path, &add).await.assert_status(204);
    let membership = format!("/scim/v2/Groups?filter=id eq \"{group_id}\" and members eq \"{id}\"");
    assert_eq!(listed(&entra, &membership).await.len(), 1);
    let of_user = format!("/scim/v2/Groups?filter=members[value eq \"{id}\"] and members.value eq \"{id}\"");
    assert_eq!(listed(&entra, &of_user).await.len(), 1);
    let rename = patch(&json!([{ "op": "Replace", "path": "displayName", "value": "Sales" }]));
    entra.patch(&group_path, &rename).await.assert_status(204);
    let shown =
        entra.get(&format!("{group_path}?excludedAttributes=members")).await.assert_status(200).json();
    assert!(shown["displayName"] == "Sales" && shown.get("members").is_none(), "{shown}");
    let remove = patch(&json!([{ "op": "Remove", "path": "members", "value": member }]));
    entra.patch(&group_path, &remove).await.assert_status(204);
    assert_eq!(listed(&entra, &membership).await, [] as [Value; 0]);

    // Without the flag `aadOptscim062020`, Entra sends booleans as texts.
    let disable = patch(&json!([{ "op": "Replace", "path": "active", "value": "False" }]));
    let disabled = entra.patch(&path, &disable).await.assert_status(200).json();
    assert_eq!(disabled["active"], false);
    entra.delete(&path).await.assert_status(204);
    entra.get(&path).await.assert_status(404);
    entra.delete(&group_path).await.assert_status(204);

    let acts = acts(&server).await;
    let expected = [
        format!("user.provisioned added {name}"),
        format!("user.provisioned changed {name}"),
        "group.provisioned displayName".to_owned(),
        format!("group.member_added displayName {name}"),
        "group.provisioned displayName → Sales".to_owned(),
        format!("group.member_removed Sales {name}"),
        format!("user.provisioned changed {name}"),
        format!("user.deactivated  {name}"),
        format!("user.deprovisioned  {name}"),
        "group.deprovisioned Sales".to_owned(),
    ];
    assert_eq!(acts, expected);
}

/// The requests of Okta's documentation, "SCIM 2.0 protocol reference".
#[tokio::test]
async fn requests_as_okta_sends_them() {
    let server = server().await;
    let okta = provider(&server).await;
    let query = "/scim/v2/Users?filter=userName eq \"test.user@okta.local\"&startIndex=1&count=100";
    assert_eq!(listed(&okta, query).await, [] as [Value; 0]);
    let body = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "test.user@okta.local",
        "name": { "givenName": "Test", "familyName": "User" },
        "emails": [{ "primary": true, "value": "test.user@okta.local", "type": "work" }],
        "displayName": "Test User", "locale": "en-US", "externalId": "00ujl29u0le5T6Aj10h7", "groups": [],
        "password": "1mz050nq", "active": true,
    });
    let made = okta.post("/scim/v2/Users", &body).await.assert_status(201);
    assert!(!made.text().contains("1mz050nq"), "a password is not kept");
    let made = made.json();
    let (id, path) = (made["id"].clone(), format!("/scim/v2/Users/{}", made["id"].as_str().expect("an id")));
    assert_eq!(listed(&okta, query).await, std::slice::from_ref(&made));
    let page = okta.get("/scim/v2/Users?startIndex=2&count=1").await.assert_status(200).json();
    assert_eq!((&page["totalResults"], &page["Resources"]), (&json!(1), &json!([])));

    let mut whole = made.clone();
    whole["name"]["middleName"] = "Excited".into();
    let replaced = okta.put_json(&path, &whole).await.assert_status(200).json();
    assert_eq!(
        replaced["name"],
        json!({ "givenName": "Test", "middleName": "Excited", "familyName": "User" })
    );

    let sales = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"], "displayName": "Test SCIMv2", "members": [],
    });
    let group_path = format!("/scim/v2/Groups/{}", create(&okta, "Groups", &sales).await);
    let rename =
        json!([{ "op": "replace", "value": { "id": "abf4dd94-a4c0-4f67", "displayName": "Sales" } }]);
    okta.patch(&group_path, &patch(&rename)).await.assert_status(204);
    let members = async || {
        let shown = okta.get(&group_path).await.assert_status(200).json();
        (shown["displayName"].clone(), shown["members"].clone())
    };
    let location = made["meta"]["location"].clone();
    let member = json!({ "value": id, "$ref": location, "type": "User" });
    let add = json!([{ "op": "add", "path": "members", "value": [{ "value": id, "display": "test.user@okta.local" }] }]);
    okta.patch(&group_path, &patch(&add)).await.assert_status(204);
    assert_eq!(members().await, (json!("Sales"), json!([member])));
    let id = id.as_str().expect("a text");
    let remove = json!([{ "op": "remove", "path": format!("members[value eq \"{id}\"]") }]);
    okta.patch(&group_path, &patch(&remove)).await.assert_status(204);
    assert_eq!(members().await, (json!("Sales"), json!([])));
    let replace = json!([{ "op": "replace", "path": "members", "value": [{ "value": id }] }]);
    okta.patch(&group_path, &patch(&replace)).await.assert_status(204);
    assert_eq!(members().await, (json!("Sales"), json!([member])));

    let deactivate = patch(&json!([{ "op": "replace", "value": { "active": false } }]));
    assert_eq!(okta.patch(&path, &deactivate).await.assert_status(200).json()["active"], false);
    let activate = patch(&json!([{ "op": "replace", "value": { "active": true } }]));
    assert_eq!(okta.patch(&path, &activate).await.assert_status(200).json()["active"], true);
}

impl User {
    async fn put_json(&self, path: &str, body: &Value) -> crate::harness::Answer {
        self.send(Method::PUT, path, "application/scim+json", body.to_string()).await
    }
}

#[tokio::test]
async fn whom_the_provider_deactivates_is_out_at_once_and_loses_nothing() {
    let server = server().await;
    let provider = provider(&server).await;
    let ana = server.as_user("ana");
    ana.ingest(json!([{ "title": "Diary", "text": "wombat" }])).await;
    let key = ana.post("/keys", &json!({ "name": "nightly" })).await.assert_status(201).json();
    let program = server.with_token(key["key"].as_str().expect("the key, once"));
    program.get("/toolkits").await.assert_status(200);
    let visitor = Visitor::sign_in(&server, "ana").await;
    let stream = ana.listen().await.assert_open();
    let id = create(&provider, "Users", &user("ana")).await;
    ana.get("/toolkits").await.assert_status(200);
    let path = format!("/scim/v2/Users/{id}");
    let set = async |active: bool| {
        let operation = json!([{ "op": "replace", "path": "active", "value": active }]);
        provider.patch(&path, &patch(&operation)).await.assert_status(200);
    };

    set(false).await;

    within("the stream's end", stream.rest()).await;
    ana.get("/toolkits").await.assert_status(401);
    program.get("/toolkits").await.assert_status(401);
    visitor.get("/ui/documents").await.assert_status(303);
    sleep(Duration::from_millis(1100)).await;
    server.as_user("ana").get("/toolkits").await.assert_status(401);
    let listed = server.as_operator().get("/users/ana").await.assert_status(200).json();
    assert!(listed["isEnded"] == true && listed["isDeactivated"] == true, "{listed}");
    assert_eq!(listed["counts"]["documents"]["documents"], 1, "what she has stays: {listed}");

    let server = server.stop().await.start().await;
    server.as_user("ana").get("/toolkits").await.assert_status(401);
    let provider = server.with_token(provider.token());
    let activate = json!([{ "op": "replace", "path": "active", "value": true }]);
    provider.patch(&path, &patch(&activate)).await.assert_status(200);
    server.with_token(ana.token()).get("/toolkits").await.assert_status(401);
    sleep(Duration::from_millis(1100)).await;
    server.as_user("ana").get("/toolkits").await.assert_status(200);
    provider.delete(&path).await.assert_status(204);
    sleep(Duration::from_millis(1100)).await;
    server.as_user("ana").get("/toolkits").await.assert_status(401);
    let listed = server.as_operator().get("/users/ana").await.assert_status(200).json();
    assert_eq!(listed["counts"]["documents"]["documents"], 1, "a machine removes nothing: {listed}");

    // The way back without the provider.
    let server = server
        .stop()
        .await
        .changed(|settings| settings.scim_user_id = Settings::default().scim_user_id)
        .start()
        .await;
    sleep(Duration::from_millis(1100)).await;
    server.as_user("ana").get("/toolkits").await.assert_status(200);
    server.with_token(provider.token()).get("/scim/v2/Users").await.assert_status(404);
}

#[tokio::test]
async fn a_provisioned_group_counts_for_keys_and_whom_nobody_has_seen_is_listed() {
    let server = server().await;
    server.deploy(guests::TEXT).await;
    let operator = server.as_operator();
    let sales = json!({ "grants": [{ "group": "sales" }] });
    operator.post("/toolkits/text/audience", &sales).await.assert_status(200);
    let provider = provider(&server).await;
    let ana = server.as_user("ana");
    let key = ana.post("/keys", &json!({ "name": "nightly" })).await.assert_status(201).json();
    let program = server.with_token(key["key"].as_str().expect("the key, once"));
    let sees = async || program.tool_names().await.contains(&"text__count".to_owned());
    let ids =
        [create(&provider, "Users", &user("ana")).await, create(&provider, "Users", &user("ben")).await];
    assert!(!sees().await);

    let group_id = create(&provider, "Groups", &group("sales", &[&ids[0]])).await;

    assert!(sees().await);
    assert_eq!(program.call("text__count", json!({ "text": "a" })).await.structured()["words"], 1);
    let users = operator.get("/users").await.assert_status(200).json();
    let listed = |id: &str| users["users"].as_array().expect("a list").iter().any(|user| user["id"] == id);
    assert!(listed("ana") && listed("ben"), "{users}");
    let groups = operator.get("/groups").await.assert_status(200).json();
    assert_eq!(groups["groups"], json!([{ "name": "sales", "users": 1 }]));
    assert!(!ana.tool_names().await.contains(&"text__count".to_owned()), "a token has its own groups");

    let leave = json!([{ "op": "remove", "path": "members" }]);
    provider.patch(&format!("/scim/v2/Groups/{group_id}"), &patch(&leave)).await.assert_status(204);
    assert!(!sees().await);
}

#[tokio::test]
async fn lists_have_pages_and_the_attributes_that_are_asked_for() {
    let server = server().await;
    let provider = provider(&server).await;
    for number in 0..5 {
        let mut body = user(&format!("user-{number}"));
        body["displayName"] = format!("Number {number}").into();
        body["emails"] = json!([{ "value": format!("{number}@example.com"), "type": "work" }]);
        create(&provider, "Users", &body).await;
    }

    let mut seen = Vec::new();
    for start in [1, 3, 5] {
        let path = format!("/scim/v2/Users?startIndex={start}&count=2");
        let list = provider.get(&path).await.assert_status(200).json();
        assert_eq!((&list["totalResults"], &list["startIndex"]), (&json!(5), &json!(start)));
        let resources = list["Resources"].as_array().expect("a list").clone();
        assert_eq!(list["itemsPerPage"], resources.len());
        seen.extend(resources.into_iter().map(|user| user["userName"].to_string()));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5);
    let path =
        "/scim/v2/Users?filter=displayName sw \"number\" and not (displayName ew \"3\")&count=2&startIndex=3";
    let list = provider.get(path).await.assert_status(200).json();
    assert_eq!((&list["totalResults"], &list["itemsPerPage"]), (&json!(4), &json!(2)));
    let none = provider.get("/scim/v2/Users?count=0").await.assert_status(200).json();
    assert_eq!((&none["totalResults"], &none["Resources"]), (&json!(5), &json!([])));
    let parts = "/scim/v2/Users?filter=userName eq \"user-1\"&attributes=userName,emails.value";
    let mut found = listed(&provider, parts).await.remove(0);
    found.as_object_mut().expect("an object").remove("id");
    let expected = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "user-1",
        "emails": [{ "value": "1@example.com" }],
    });
    assert_eq!(found, expected);
}
