//! Users as operators see them, and the end of one, by command, over HTTP and on pages.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::audit::routes::TokenEndpoint;
use crate::harness::{CommandOutput, Kitbag, User, Visitor, Wat, eventually, kitbag, run, wat::Visibility};

/// A title and a text that no operator may see.
const TITLE: &str = "Canary title";
const TEXT: &str = "canary-5ecret text of a wombat";

/// Starts a server in local mode with the operators `olga` and `ole`.
async fn start() -> Kitbag {
    Kitbag::start_with(|settings| settings.operators = "olga,ole".parse().expect("a list")).await
}

/// Runs a command as a user.
async fn command(server: &Kitbag, user: &User, arguments: &[&str]) -> CommandOutput {
    let mut command = kitbag(arguments);
    command.env("KITBAG_SERVER", server.base_url().as_str()).env("KITBAG_TOKEN", user.token());
    run(command).await
}

async fn json_of(server: &Kitbag, user: &User, arguments: &[&str]) -> Value {
    let printed = command(server, user, &[arguments, &["--json"]].concat()).await.succeeded();
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed}"))
}

/// Gives `ana` documents, a key, a secret, a setting and collections. Returns the ids of her documents, and her key.
async fn give(server: &Kitbag, ana: &User) -> (Vec<String>, String) {
    let toolkit = Wat { secrets: &["KEY"], visibility: Visibility::Shared, ..Wat::default() };
    server.as_user("olga").deploy(toolkit.component()).await.assert_status(201);
    ana.set_secret("wat", "KEY", "canary-5ecret").await;
    ana.post("/toolkits/wat/hide?tool=run", &json!(null)).await.assert_status(204);
    let documents = json!([{ "title": TITLE, "text": TEXT }, { "title": "Two", "text": "A second wombat." }]);
    let ids = ana.ingest(documents).await;
    ana.settled().await;
    ana.post("/collections", &json!({ "id": "plans", "name": "Plans" })).await.assert_status(201);
    let made = ana.post("/keys", &json!({ "name": "nightly" })).await.assert_status(201).json();
    (ids, made["key"].as_str().expect("the key, once").to_owned())
}

#[tokio::test]
async fn an_operator_sees_what_a_user_has_and_ends_them_in_one_act() {
    let server = start().await;
    let [ana, olga] = ["ana", "olga"].map(|name| server.as_user(name));
    let (_, key) = give(&server, &ana).await;
    let visitor = Visitor::sign_in(&server, "ana").await;
    let program = server.with_token(&key);
    program.get("/toolkits").await.assert_status(200);

    let listed = command(&server, &olga, &["user", "list"]).await.succeeded();
    assert!(listed.contains("ana ") && listed.contains("2 documents, 1 secret, 1 key"), "{listed}");
    let shown = command(&server, &olga, &["user", "show", "ana"]).await.succeeded();
    for has in [
        "documents 2 documents",
        "nightly: everything",
        "secret    wat KEY",
        "hides     wat run",
        "member    plans, the last curator",
    ] {
        assert!(shown.contains(has), "{has:?} in {shown}");
    }
    let details = json_of(&server, &olga, &["user", "show", "ana"]).await;
    assert_eq!(
        (&details["counts"]["documents"]["documents"], &details["keys"][0]["name"]),
        (&json!(2), &json!("nightly"))
    );
    for hidden in ["canary-5ecret", TITLE, "wombat"] {
        assert!(!shown.contains(hidden) && !details.to_string().contains(hidden), "{hidden}");
    }

    let asked = command(&server, &olga, &["user", "end", "ana"]).await;
    asked.assert_failed("there is no terminal to ask");
    assert!(asked.stderr.contains("You become a curator of plans"), "{}", asked.stderr);
    program.get("/toolkits").await.assert_status(200);

    let ended = json_of(&server, &olga, &["user", "end", "ana", "--yes"]).await;

    assert_eq!(
        (&ended["isFinished"], &ended["documents"], &ended["secrets"]),
        (&json!(true), &json!(2), &json!(1))
    );
    assert_eq!((&ended["keys"], &ended["passedCollections"]), (&json!(1), &json!(["plans"])));
    program.get("/toolkits").await.assert_status(401);
    ana.get("/toolkits").await.assert_status(401);
    visitor.get("/ui/documents").await.assert_status(303);
    let again = command(&server, &olga, &["user", "end", "ana", "--yes"]).await.succeeded();
    assert_eq!(again, "ana is ended.\nThere was nothing left to do.\n");
    let shown = command(&server, &olga, &["user", "show", "ana"]).await.succeeded();
    assert!(shown.contains("ended ") && shown.contains("in bin    2 documents"), "{shown}");
    olga.get("/collections/plans").await.assert_status(200);
    let acts = olga.get("/audit?user=ana&since=1h").await.json_lines();
    let cleared: Vec<_> = acts.iter().filter(|entry| entry["act"] == "user.cleared").collect();
    assert_eq!(cleared.len(), 1, "{acts:?}");
    assert_eq!((&cleared[0]["user"], &cleared[0]["affectedUser"]), (&json!("olga"), &json!("ana")));
    assert!(
        cleared[0]["name"].as_str().is_some_and(|name| name.contains("2 documents deleted, 1 key")),
        "{cleared:?}"
    );
    assert!(acts.iter().all(|entry| !entry.to_string().contains("canary")), "{acts:?}");
}

#[tokio::test]
async fn documents_go_where_the_operator_says() {
    let server = start().await;
    let [ana, ben, olga] = ["ana", "ben", "olga"].map(|name| server.as_user(name));
    let (ids, _) = give(&server, &ana).await;
    ben.post("/collections", &json!({ "id": "handbook", "name": "Handbook" })).await.assert_status(201);
    let same = json!([{ "title": "Two", "text": "A second wombat." }]);
    let there = ben.ingest_into("handbook", same).await.remove(0);

    command(&server, &olga, &["user", "end", "ana", "--documents-to", "nowhere", "--yes"])
        .await
        .assert_failed("There is no collection nowhere");
    ana.get("/documents/x/artifact").await.assert_status(404);
    let ended = json_of(&server, &olga, &["user", "end", "ana", "--documents-to", "handbook", "--yes"]).await;

    assert_eq!((&ended["moved"], &ended["documents"]), (&json!(1), &json!(1)));
    assert_eq!(ended["conflicts"], json!([{ "id": ids[1], "existing": there }]));
    assert!(!ended.to_string().contains("Two"), "ids, and no titles: {ended}");
    let query = "query ($id: ID!) { document(id: $id) { title addedBy collection } }";
    let moved = ben.ask(query, json!({ "id": ids[0] })).await["document"].clone();
    assert_eq!((&moved["title"], &moved["addedBy"]), (&json!(TITLE), &json!("ana")));
    eventually("he finds it", async || {
        let found = ben.ask("{ search(query: \"canary\") { results { document { id } } } }", json!({})).await;
        found.to_string().contains(&ids[0])
    })
    .await;
}

#[tokio::test]
async fn an_erasure_asks_twice_and_leaves_no_document_and_no_record() {
    let server = start().await;
    let [ana, olga] = ["ana", "olga"].map(|name| server.as_user(name));
    let (ids, _) = give(&server, &ana).await;
    ana.post("/toolkits/wat/show-again?tool=run", &json!(null)).await.assert_status(204);
    ana.call("wat__run", json!({})).await.text();
    assert_eq!(ana.logs("wat").await.len(), 1);

    let ended = json_of(&server, &olga, &["user", "end", "ana", "--erase", "--yes"]).await;

    assert_eq!((&ended["documents"], &ended["records"]), (&json!(2), &json!(1)));
    let shown = json_of(&server, &olga, &["user", "show", "ana"]).await;
    assert_eq!((&shown["counts"]["bin"]["documents"], &shown["records"]), (&json!(0), &json!(0)));
    assert!(olga.logs("wat").await.is_empty());
    for id in ids {
        olga.get(&format!("/documents/{id}/artifact")).await.assert_status(404);
    }
    let both =
        command(&server, &olga, &["user", "end", "ana", "--erase", "--documents-to", "x", "--yes"]).await;
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[tokio::test]
async fn a_provider_that_is_down_is_told_and_stops_nothing() {
    let server = Kitbag::start_with(|settings| {
        settings.operators = "olga".parse().expect("a list");
        crate::fetch::loopback_allowed(settings);
    })
    .await;
    let [ana, olga] = ["ana", "olga"].map(|name| server.as_user(name));
    let provider = TokenEndpoint::start().await;
    let host = provider.host();
    let further = json!({ "auth": [{
        "type": "oauth2_authorization_code", "apiHost": host,
        "authorizationUrl": format!("http://{host}/auth"), "tokenUrl": format!("http://{host}/token"),
        "revocationUrl": "http://127.0.0.1:9/revoke", "clientIdSecret": "CLIENT_ID",
    }] });
    let toolkit = Wat { egress: &[&host, "127.0.0.1:9"], further: &further.to_string(), ..Wat::default() };
    olga.deploy(toolkit.component()).await.assert_status(201);
    olga.put("/toolkits/wat/secrets/CLIENT_ID?for-everyone=true", "client").await.assert_status(200);
    let visitor = Visitor::sign_in(&server, "ana").await;
    let seen = [("owner", "olga"), ("version", "1.0.0")];
    let leave = visitor.post("/ui/toolkits/wat/account/connect", &seen).await.assert_status(200);
    let link = leave.text().split("<a class=\"button primary\" href=\"").nth(1).expect("a link");
    let link = link.split('"').next().expect("its end").replace("&#38;", "&");
    let link: url::Url = link.parse().expect("a URL");
    let (_, state) = link.query_pairs().find(|(name, _)| name == "state").expect("a state");
    let back = format!("/ui/toolkits/wat/auth/callback?code=x&state={state}");
    let from_elsewhere = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")];
    visitor.sending(&from_elsewhere).get(&back).await.assert_status(303);
    assert_eq!(ana.get("/toolkits/wat/account").await.json()["connected"], true);

    let ended = olga.post("/users/ana/end", &json!({})).await.assert_status(200).json();

    assert_eq!(
        (&ended["isFinished"], &ended["accounts"], &ended["notRevoked"]),
        (&json!(true), &json!(1), &json!(["wat"]))
    );
    let shown = olga.get("/users/ana").await.json();
    assert_eq!(shown["accounts"], json!([]));
    // What comes back from the provider after that connects nothing.
    let late = visitor.sending(&from_elsewhere).get(&back).await;
    assert_ne!(late.status, StatusCode::OK, "{}", late.text());
    assert_eq!(olga.get("/users/ana").await.json()["accounts"], json!([]));
}

#[tokio::test]
async fn only_operators_who_have_signed_in_end_users_and_nobody_themselves() {
    let server = start().await;
    let [ana, olga, ole] = ["ana", "olga", "ole"].map(|name| server.as_user(name));
    give(&server, &ana).await;
    let key = |user: User, body: Value| {
        let server = &server;
        async move {
            let made = user.post("/keys", &body).await.assert_status(201).json();
            server.with_token(made["key"].as_str().expect("the key"))
        }
    };
    let program = key(server.as_user("olga"), json!({ "name": "all" })).await;
    let limited = key(server.as_user("olga"), json!({ "name": "some", "toolkits": ["wat"] })).await;
    let anas = key(server.as_user("ana"), json!({ "name": "mine" })).await;

    for (name, user, statuses) in [
        ("ana", &ana, [403, 403, 403]),
        ("a key of ana", &anas, [403, 403, 403]),
        ("a key of olga for some toolkits", &limited, [403, 403, 403]),
        ("a key of olga", &program, [200, 200, 403]),
        ("eve", &server.as_user("eve"), [403, 403, 403]),
    ] {
        let found = [
            user.get("/users").await.status,
            user.get("/users/ana").await.status,
            user.post("/users/ana/end", &json!({})).await.status,
        ];
        assert_eq!(found.map(|status| status.as_u16()), statuses, "{name}");
    }
    let anonymous = server.anonymous();
    let nobody = anonymous.send(Method::POST, "/users/ana/end", http::HeaderMap::new(), "{}").await;
    assert_eq!(nobody.status, 401);
    olga.post("/users/olga/end", &json!({})).await.assert_problem(409, "You cannot end yourself");
    olga.post("/users/nobody/end", &json!({})).await.assert_problem(404, "There is no user nobody");
    olga.get("/users/nobody").await.assert_problem(404, "There is no user nobody");
    let body = json!({ "documentsTo": "plans", "erase": true });
    olga.post("/users/ana/end", &body)
        .await
        .assert_problem(400, "either move to a collection, are erased, or stay");
    olga.post("/users/ana/end", &json!({ "purge": true })).await.assert_status(400);
    ana.get("/toolkits").await.assert_status(200);
    let refused = ole.get("/audit?act=operator.refused&since=1h").await.json_lines();
    assert!(
        refused.iter().any(|entry| entry["name"] == "user.ended" && entry["key"].is_string()),
        "{refused:?}"
    );

    // An operator ends another one, whose name stays in the settings.
    let ended = json_of(&server, &ole, &["user", "end", "olga", "--yes"]).await;
    assert_eq!((&ended["isNamedOperator"], &ended["toolkits"]), (&json!(true), &json!(["wat"])));
    assert_eq!(ole.get("/toolkits/wat").await.json()["owner"], "ole");
}

#[tokio::test]
async fn users_are_listed_page_by_page() {
    let server = start().await;
    let olga = server.as_user("olga");
    for nth in 0..5 {
        let user = server.as_user(&format!("user {nth}/ä"));
        user.ingest(json!([{ "title": "Mine", "text": "Mine." }])).await;
    }

    let mut ids = Vec::new();
    let mut path = "/users?limit=2".to_owned();
    loop {
        let page = olga.get(&path).await.assert_status(200).json();
        let users = page["users"].as_array().expect("a list").clone();
        assert!(users.len() <= 2);
        ids.extend(users.into_iter().map(|user| user["id"].as_str().expect("an id").to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        let after: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        path = format!("/users?limit=2&after={after}");
    }

    let others: Vec<_> = ids.iter().filter(|id| id.starts_with("user ")).collect();
    assert_eq!(others, ["user 0/ä", "user 1/ä", "user 2/ä", "user 3/ä", "user 4/ä"]);
    let listed = json_of(&server, &olga, &["user", "list"]).await;
    // The operator's own sign-in is recorded beside requests.
    let listed = listed.as_array().expect("a list").iter();
    let listed = listed.filter(|user| user["id"].as_str().is_some_and(|id| id.starts_with("user ")));
    assert_eq!(listed.count(), 5);
    let shown = json_of(&server, &olga, &["user", "show", "user 3/ä"]).await;
    assert_eq!(shown["id"], "user 3/ä");
    let ended = json_of(&server, &olga, &["user", "end", "user 3/ä", "--yes"]).await;
    assert_eq!(ended["documents"], 1);
}

#[tokio::test]
async fn an_operator_ends_a_user_on_pages() {
    let server = start().await;
    let ana = server.as_user("ana");
    give(&server, &ana).await;
    let olga = Visitor::sign_in(&server, "olga").await;
    let eve = Visitor::sign_in(&server, "eve").await;
    for path in ["/ui/operate/users", "/ui/operate/users/ana"] {
        eve.get(path).await.assert_status(403);
    }
    eve.post("/ui/operate/users/ana/end", &[("confirm", "ana")]).await.assert_status(403);

    let list = olga.get("/ui/operate/users").await.assert_status(200);
    assert!(list.text().contains("href=\"/ui/operate/users/ana\""), "{}", list.text());
    let page = olga.get("/ui/operate/users/ana").await.assert_status(200);
    for has in ["nightly", "<code>KEY</code>", "nobody else keeps it", "End this user"] {
        assert!(page.text().contains(has), "{has}: {}", page.text());
    }
    assert!(!page.text().contains(TITLE) && !page.text().contains("canary"), "{}", page.text());
    let own = olga.get("/ui/operate/users/olga").await.assert_status(200);
    assert!(!own.text().contains("End this user"), "{}", own.text());
    let refused = olga.post("/ui/operate/users/ana/end", &[("confirm", "anna")]).await.assert_status(422);
    assert!(refused.text().contains("type ana to confirm"), "{}", refused.text());
    let nowhere = [("confirm", "ana"), ("documents", "move"), ("collection", "nowhere")];
    let refused = olga.post("/ui/operate/users/ana/end", &nowhere).await.assert_status(404);
    assert!(refused.text().contains("There is no collection nowhere"), "{}", refused.text());
    ana.get("/toolkits").await.assert_status(200);

    let end = [("confirm", "ana"), ("documents", "bin")];
    let ended = olga.post("/ui/operate/users/ana/end", &end).await.assert_status(200);

    assert!(
        ended.text().contains("is ended.") && ended.text().contains("2 documents deleted"),
        "{}",
        ended.text()
    );
    assert!(ended.text().contains("You are a curator now of plans"), "{}", ended.text());
    let list = olga.get("/ui/operate/users").await.assert_status(200);
    assert!(list.text().contains("ended</span>"), "{}", list.text());
}

#[tokio::test]
async fn a_user_is_ended_while_they_upload_search_and_call() {
    let server = start().await;
    let [ana, olga] = ["ana", "olga"].map(|name| server.as_user(name));
    give(&server, &ana).await;
    ana.post("/toolkits/wat/show-again?tool=run", &json!(null)).await.assert_status(204);
    let busy: Vec<_> = (0..6)
        .map(|nth| {
            let ana = server.as_user("ana");
            tokio::spawn(async move {
                for round in 0..400 {
                    let answer = match nth % 3 {
                        0 => {
                            let path = format!("/documents/file?name={nth}-{round}.txt");
                            ana.send(Method::POST, &path, "text/plain", format!("wombat {nth} {round}")).await
                        }
                        1 => ana.post("/toolkits/wat/hide?tool=run", &json!(null)).await,
                        _ => ana.put("/toolkits/wat/secrets/KEY", "another-value").await,
                    };
                    if !answer.status.is_success() {
                        return round;
                    }
                }
                400
            })
        })
        .collect();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;

    let ended = json_of(&server, &olga, &["user", "end", "ana", "--yes"]).await;

    for task in busy {
        assert!(task.await.expect("it ends") < 400, "they stop");
    }
    assert_eq!(ended["isFinished"], true);
    let shown = olga.get("/users/ana").await.json();
    assert_eq!(shown["counts"]["documents"]["documents"], 0, "{shown}");
    assert_eq!((&shown["secrets"], &shown["hiddenTools"]), (&json!([]), &json!([])), "{shown}");
}

/// Whether an archive has an entry, or a text.
fn has(archive: &[u8], text: &str) -> bool {
    archive.windows(text.len()).any(|some| some == text.as_bytes())
}

#[tokio::test]
async fn users_export_what_they_have_and_operators_whom_they_have_ended() {
    let server = start().await;
    let [ana, olga] = ["ana", "olga"].map(|name| server.as_user(name));
    let (ids, key) = give(&server, &ana).await;
    let path = "/documents/file?name=wings.txt&title=Wings";
    ana.send(Method::POST, path, "text/plain", "a file of wings").await.assert_status(201);
    ana.settled().await;
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("ana.tar").display().to_string();

    let saved = command(&server, &ana, &["user", "export", "--file", &file]).await.succeeded();

    assert!(saved.contains("Saved as"), "{saved}");
    let archive = std::fs::read(&file).expect("it is there");
    let document = format!("documents/{}", ids[0]);
    for name in [
        "user.json",
        "contents.json",
        &format!("{document}/document.json"),
        &format!("{document}/text.txt"),
        "file.txt",
        TEXT,
        "a file of wings",
        "nightly",
    ] {
        assert!(has(&archive, name), "{name}");
    }
    assert!(!has(&archive, &key), "no key");
    let unpacked = std::process::Command::new("tar").args(["-xf", &file, "-C"]).arg(folder.path()).status();
    assert!(unpacked.is_ok_and(|status| status.success()), "it is an archive");
    let text = folder.path().join(&document).join("text.txt");
    assert_eq!(std::fs::read_to_string(text).expect("it is there"), TEXT);
    let visitor = Visitor::sign_in(&server, "ana").await;
    visitor.get("/ui/account").await.assert_status(200).assert_says("href=\"/ui/account/export\"");
    let page = visitor.get("/ui/account/export").await.assert_status(200);
    assert_eq!(page.header("content-type"), Some("application/x-tar"));
    assert!(page.header("content-disposition").is_some_and(|it| it.starts_with("attachment; ")), "{page:?}");
    assert!(has(&page.body, TEXT) && page.body.ends_with(&[0; 1024]));

    olga.get("/users/ana/export").await.assert_problem(409, "ana can export what they have themselves");
    ana.get("/users/olga/export").await.assert_status(403);
    visitor.get("/ui/operate/users/olga/export").await.assert_status(403);
    server.with_token(&key).get("/users/olga/export").await.assert_status(403);
    let before = Visitor::sign_in(&server, "olga").await;
    before.get("/ui/operate/users/ana/export").await.assert_status(409);
    let both = command(&server, &olga, &["user", "end", "ana", "--access-only", "--erase", "--yes"]).await;
    assert_eq!(both.code, Some(2), "{both:?}");

    let ended = command(&server, &olga, &["user", "end", "ana", "--access-only", "--yes"]).await.succeeded();

    assert_eq!(ended, "The access of ana is ended. What they have stays.\n");
    server.with_token(&key).get("/export").await.assert_status(401);
    let shown = json_of(&server, &olga, &["user", "show", "ana"]).await;
    assert_eq!((&shown["isEnded"], &shown["counts"]["documents"]["documents"]), (&json!(true), &json!(3)));
    before.get("/ui/operate/users/ana").await.assert_says("href=\"/ui/operate/users/ana/export\"");
    let saved = json_of(&server, &olga, &["user", "export", "ana", "--file", &file]).await;
    assert_eq!(saved, json!({ "user": "ana", "file": file }));
    let archive = std::fs::read(&file).expect("it is there");
    assert!(has(&archive, TEXT) && has(&archive, "contents.json"));
    let page = before.get("/ui/operate/users/ana/export").await.assert_status(200);
    assert!(has(&page.body, "a file of wings"));
}

#[tokio::test]
async fn what_a_user_is_called_breaks_out_of_no_page() {
    let server = start().await;
    let evil = "<script>alert(1)</script>\u{202e}\"'/../x";
    let user = server.as_user(evil);
    user.ingest(json!([{ "title": "Mine", "text": "Mine." }])).await;
    let olga = Visitor::sign_in(&server, "olga").await;
    let path = format!(
        "/ui/operate/users/{}",
        percent_encoding::utf8_percent_encode(evil, percent_encoding::NON_ALPHANUMERIC)
    );

    let list = olga.get("/ui/operate/users").await.assert_status(200);
    let page = olga.get(&path).await.assert_status(200);
    let refused = olga.post(&format!("{path}/end"), &[("confirm", "x")]).await.assert_status(422);
    let ended = olga
        .post(&format!("{path}/end"), &[("confirm", evil), ("documents", "stay")])
        .await
        .assert_status(200);
    let export = olga.get(&format!("{path}/export")).await.assert_status(200);

    assert!(list.text().contains(&path), "{}", list.text());
    for answer in [&list, &page, &refused, &ended] {
        let text = answer.text();
        assert!(!text.contains("<script>alert") && !text.contains('\u{202e}'), "{text}");
    }
    ended.assert_says("What they have stays until you end the rest.");
    let name = export.header("content-disposition").expect("a name");
    assert!(!name.contains("script"), "{name}");
    let gone = olga.post(&format!("{path}/end"), &[("confirm", evil), ("documents", "erase")]).await;
    gone.assert_status(200).assert_says("1 document deleted");
}
