//! Every route that changes something records it.

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{CANARY, entries, id, newest, server, text};
use crate::backchannel_logout::log_out;
use crate::harness::{Answer, Kitbag, ScriptedProvider, User, Visitor, Wat, changing_routes, guests};
use crate::local_issuer::client;
use crate::scim;
use crate::ui_review::wat;

/// Routes that change something without an audit entry, each with the reason.
const NOT_RECORDED: [(&str, &str); 26] = [
    ("PATCH /toolkits/id/config", "a user's own settings, which are no credentials"),
    ("POST /ui/toolkits/id/settings", "the same"),
    ("POST /toolkits/id/hide", "what a user's own clients list"),
    ("POST /toolkits/id/show-again", "the same"),
    ("POST /ui/toolkits/id/hide", "the same"),
    ("POST /ui/toolkits/id/show-again", "the same"),
    ("DELETE /toolkits/id/cache", "what a toolkit kept for the user, and does without"),
    ("POST /ui/toolkits/id/cache/clear", "the same"),
    ("POST /toolkits/id/tools/tool", "a call, which has a record"),
    ("POST /ui/toolkits/id/tools/tool", "the same"),
    ("POST /mcp", "calls, which have records"),
    ("POST /mcp/", "the same"),
    ("POST /documents/file", "documents"),
    ("POST /ui/documents/new", "the same"),
    ("POST /ui/documents/file", "the same"),
    ("POST /ui/documents/id/delete", "the same"),
    ("POST /ui/documents/id/move", "the same"),
    ("POST /ui/documents/id/versions/number/restore", "the same"),
    ("POST /ui/bin/restore", "the same"),
    ("POST /ui/bin/purge", "the same"),
    ("POST /ui/toolkits/id/account/connect", "only leads to the provider"),
    ("POST /scim/v2/.search", "only reads"),
    ("POST /scim/v2/Users/.search", "the same"),
    ("POST /scim/v2/Groups/.search", "the same"),
    ("POST /oauth/register", "open to anybody, and gives no access"),
    ("POST /oauth/authorize", "gives a code: the grant is recorded when it is redeemed"),
];

/// Operator who reads the log, and the routes tested so far.
struct Steps {
    ana: User,
    tested: Vec<&'static str>,
}

impl Steps {
    /// Sends a request to a route. Asserts that it succeeds and records exactly `acts`. Returns the entries.
    async fn step(
        &mut self,
        route: &'static str,
        acts: &[&str],
        request: impl Future<Output = Answer>,
    ) -> Vec<Value> {
        let before = newest(&self.ana).await;
        let answer = request.await;
        assert!(answer.status.as_u16() < 400, "{route}: {} {}", answer.status, answer.text());
        self.tested.push(route);
        let entries: Vec<_> =
            entries(&self.ana, "").await.into_iter().filter(|entry| id(entry) > before).collect();
        let found: Vec<_> = entries.iter().map(|entry| entry["act"].as_str().expect("an act")).collect();
        assert_eq!(found, acts, "{route}: {entries:?}");
        assert!(entries.iter().all(|entry| entry["outcome"] == "done"), "{route}: {entries:?}");
        entries
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one step for each route")]
async fn every_route_that_changes_something_records_it_or_says_why_not() {
    let kitbag = server().await;
    let [ana, ben, una] = ["ana", "ben", "una"].map(|name| kitbag.as_user(name));
    let mut steps = Steps { ana: kitbag.as_user("ana"), tested: Vec::new() };

    // Toolkits.
    let deployed =
        steps.step("POST /toolkits", &["toolkit.deployed"], ana.deploy(wat("1.0.0").component())).await;
    assert_eq!((&deployed[0]["user"], &deployed[0]["client"]), (&json!("ana"), &json!("spec")));
    assert_eq!((&deployed[0]["toolkit"], &deployed[0]["version"]), (&json!("wat"), &json!("1.0.0")));
    let digest = ana.get("/toolkits/wat").await.json()["versions"][0]["digest"].clone();
    assert_eq!(deployed[0]["digest"], digest);
    let second =
        async { ana.send(Method::POST, "/uploads", "application/wasm", wat("2.0.0").component()).await };
    let uploaded = steps.step("POST /uploads", &["toolkit.uploaded"], second).await;
    let review = ana.get(&format!("/uploads/{}", text(&uploaded[0], "digest"))).await.json();
    let reviewed = json!({ "live": review["live"], "manifestDigest": review["manifestDigest"] });
    let path = format!("/uploads/{}/deploy", text(&uploaded[0], "digest"));
    steps.step("POST /uploads/digest/deploy", &["toolkit.deployed"], ben.post(&path, &reviewed)).await;
    let third = ana.review(wat("3.0.0").component()).await;
    let path = format!("/uploads/{}", text(&third, "digest"));
    let discarded =
        steps.step("DELETE /uploads/digest", &["toolkit.upload_discarded"], ben.delete(&path)).await;
    assert_eq!((&discarded[0]["user"], &discarded[0]["version"]), (&json!("ben"), &json!("3.0.0")));
    let back = async { ana.post("/toolkits/wat/rollback", &json!({})).await };
    let back = steps.step("POST /toolkits/id/rollback", &["toolkit.rolled_back"], back).await;
    assert_eq!(back[0]["version"], "1.0.0");
    let grants =
        json!({ "grants": [{ "group": "sales", "tool": "run", "perMinute": 9 }, { "everyone": true }] });
    let share = async { ana.post("/toolkits/wat/audience", &grants).await };
    let shared = steps.step("POST /toolkits/id/audience", &["toolkit.shared", "toolkit.shared"], share).await;
    assert!(shared.iter().any(|entry| entry["name"] == "group:sales run 9/m"), "{shared:?}");
    let unshare = async { ana.delete("/toolkits/wat/audience?group=sales").await };
    let unshared = steps.step("DELETE /toolkits/id/audience", &["toolkit.unshared"], unshare).await;
    assert_eq!(unshared[0]["name"], "group:sales");
    let release = async { ana.post("/toolkits/wat/release", &json!({})).await };
    steps.step("POST /toolkits/id/release", &["toolkit.released"], release).await;
    let take = async { ben.post("/toolkits/wat/take-over", &json!({})).await };
    let taken = steps.step("POST /toolkits/id/take-over", &["toolkit.taken_over"], take).await;
    assert_eq!((&taken[0]["user"], &taken[0]["affectedUser"]), (&json!("ben"), &json!("ana")));

    // Publishers.
    let key = crate::publishers::Key::new();
    let add = async { ana.add_publisher("acme", &key).await };
    let added = steps.step("POST /publishers", &["publisher.added"], add).await;
    assert!(text(&added[0], "name").starts_with("acme "), "{added:?}");
    let component = wat("1.0.1").component();
    ana.deploy_signed(component, &key).await.assert_status(201);
    let reset = async { ben.delete("/toolkits/wat/publisher").await };
    steps.step("DELETE /toolkits/id/publisher", &["toolkit.publisher_reset"], reset).await;
    steps.step("DELETE /publishers/name", &["publisher.removed"], ana.delete("/publishers/acme")).await;
    ana.post("/toolkits/wat/rollback", &json!({ "version": "1.0.0" })).await.assert_status(200);

    // Secrets.
    let set = async { una.put("/toolkits/wat/secrets/KEY", CANARY).await };
    let set = steps.step("PUT /toolkits/id/secrets/name", &["secret.set"], set).await;
    assert_eq!((&set[0]["user"], &set[0]["name"]), (&json!("una"), &json!("KEY")));
    let unset = async { una.delete("/toolkits/wat/secrets/KEY").await };
    steps.step("DELETE /toolkits/id/secrets/name", &["secret.unset"], unset).await;
    let set = async { ana.put("/toolkits/wat/secrets/KEY?for-everyone=true&readable=true", CANARY).await };
    steps.step("PUT /toolkits/id/secrets/name", &["secret.set_for_everyone"], set).await;
    let unset = async { ana.delete("/toolkits/wat/secrets/KEY?for-everyone=true").await };
    steps.step("DELETE /toolkits/id/secrets/name", &["secret.unset_for_everyone"], unset).await;
    kitbag.deploy_as(&ana, guests::NEEDS_SECRET.bytes()).await;
    let link = link(&una).await;
    let http = kitbag.anonymous();
    let headers = http::HeaderMap::new();
    let reach = http.send(Method::GET, &link, headers.clone(), "").await.hidden("reach");
    let form = format!("reach={reach}&value={CANARY}");
    let by_link = async { http.send(Method::POST, &link, headers, form).await };
    let set = steps.step("POST /toolkits/id/secrets/name/page", &["secret.set"], by_link).await;
    assert_eq!((&set[0]["user"], set[0].get("client")), (&json!("una"), None));
    let rotated = async { ana.post("/vault/rotate", &json!({})).await };
    steps.step("POST /vault/rotate", &["master_key.rotated"], rotated).await;

    // Keys of programs.
    let key = async { una.post("/keys", &json!({ "name": CANARY })).await };
    let created = steps.step("POST /keys", &["key.created"], key).await;
    let path = format!("/keys/{}", text(&created[0], "name"));
    steps.step("DELETE /keys/id", &["key.revoked"], una.delete(&path)).await;
    let key = una.post("/keys", &json!({ "name": CANARY })).await.assert_status(201).json();
    let path = format!("/users/una/keys/{}", text(&key, "id"));
    let revoked = steps.step("DELETE /users/id/keys/key", &["key.revoked"], ana.delete(&path)).await;
    assert_eq!((&revoked[0]["user"], &revoked[0]["affectedUser"]), (&json!("ana"), &json!("una")));
    assert_eq!(revoked[0]["name"], key["id"]);

    // OAuth clients.
    let registration = json!({ "client_name": CANARY, "redirect_uris": [client::CALLBACK] });
    let client_id = client::register(&http, &registration).await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let back = client::consent(&http, &client_id, "una").await;
        let code = back.query_pairs().find(|(name, _)| name == "code").expect("a code").1.into_owned();
        let redeem = async {
            let answer = client::redeem(&http, &client_id, &code).await;
            tokens.push(text(&answer.json(), "refresh_token").to_owned());
            answer
        };
        let granted = steps.step("POST /oauth/token", &["client.granted"], redeem).await;
        assert_eq!((&granted[0]["user"], &granted[0]["client"]), (&json!("una"), &json!(client_id)));
    }
    let fields = [("token", tokens[0].as_str()), ("client_id", client_id.as_str())];
    let revoke = client::post(&http, "/oauth/revoke", &fields);
    steps.step("POST /oauth/revoke", &["client.revoked"], revoke).await;

    // Pages of users.
    let code = crate::harness::sign_in_code(kitbag.base_url()).expect("local mode");
    let fields = [("user", "una"), ("code", code.as_str()), ("to", "/ui/")];
    let mut visitor = Visitor::new(&kitbag);
    let sign_in = async { visitor.post("/ui/signin", &fields).await };
    let signed_in = steps.step("POST /ui/signin", &["session.signed_in"], sign_in).await;
    assert_eq!(signed_in[0]["user"], "una");
    visitor = Visitor::sign_in(&kitbag, "una").await;
    let path = format!("/ui/account/clients/{client_id}/revoke");
    let revoke = async { visitor.post(&path, &[]).await };
    steps.step("POST /ui/account/clients/id/revoke", &["client.revoked"], revoke).await;
    let key = una.post("/keys", &json!({ "name": "report" })).await.json();
    let path = format!("/ui/account/keys/{}/revoke", text(&key, "id"));
    steps.step("POST /ui/account/keys/id/revoke", &["key.revoked"], visitor.post(&path, &[])).await;
    let seen = [("owner", "ben"), ("version", "1.0.0"), ("secret", CANARY)];
    let set = async { visitor.post("/ui/toolkits/wat/secrets/KEY", &seen).await };
    steps.step("POST /ui/toolkits/id/secrets/name", &["secret.set"], set).await;
    let unset = async { visitor.post("/ui/toolkits/wat/secrets/KEY/unset", &[]).await };
    steps.step("POST /ui/toolkits/id/secrets/name/unset", &["secret.unset"], unset).await;
    let page = visitor.get("/ui/account").await;
    let own = page.text().split("action=\"/ui/account/sessions/").skip(1);
    let own = own.filter_map(|rest| rest.split("/end\"").next()).find(|id| id.len() > 10).expect("a session");
    let path = format!("/ui/account/sessions/{own}/end");
    let ended =
        steps.step("POST /ui/account/sessions/id/end", &["session.ended"], visitor.post(&path, &[])).await;
    assert!(own.starts_with(text(&ended[0], "name")), "{ended:?}");
    let visitor = Visitor::sign_in(&kitbag, "una").await;
    steps.step("POST /ui/signout", &["session.ended"], visitor.post("/ui/signout", &[])).await;
    let visitor = Visitor::sign_in(&kitbag, "una").await;
    let end = async { visitor.post("/ui/account/sessions/end", &[]).await };
    let ended = steps.step("POST /ui/account/sessions/end", &["session.ended"], end).await;
    assert_eq!(ended[0]["name"], "all");

    // Pages of operators.
    let operator = Visitor::sign_in(&kitbag, "ben").await;
    let upload = operator.post_file("/ui/operate/uploads", "component", &wat("4.0.0").component()).await;
    let path = upload.header("location").expect("a page").to_owned();
    let discard = async { operator.post(&format!("{path}/discard"), &[]).await };
    steps.step("POST /ui/operate/uploads/digest/discard", &["toolkit.upload_discarded"], discard).await;
    let component = wat("4.0.0").component();
    let upload = async { operator.post_file("/ui/operate/uploads", "component", &component).await };
    steps.step("POST /ui/operate/uploads", &["toolkit.uploaded"], upload).await;
    let page = operator.get(&path).await.assert_status(200);
    let names = ["manifest-digest", "live-version", "live-digest"];
    let fields = names.map(|name| (name, page.hidden(name)));
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let fields = [&fields[..], &[("read", "1")]].concat();
    let deploy = async { operator.post(&format!("{path}/deploy"), &fields).await };
    steps.step("POST /ui/operate/uploads/digest/deploy", &["toolkit.deployed"], deploy).await;
    let page = operator.get("/ui/toolkits/wat/versions?from=4.0.0&to=1.0.0").await.assert_status(200);
    let names = ["version", "digest", "manifest-digest", "live-version", "live-digest"];
    let fields = names.map(|name| (name, page.hidden(name)));
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let back = async {
        operator.post("/ui/toolkits/wat/versions/rollback", &[&fields[..], &[("read", "1")]].concat()).await
    };
    steps.step("POST /ui/toolkits/id/versions/rollback", &["toolkit.rolled_back"], back).await;
    let of_cid = [("kind", "user"), ("name", "cid")];
    let share = async { operator.post("/ui/toolkits/wat/audience", &of_cid).await };
    steps.step("POST /ui/toolkits/id/audience", &["toolkit.shared"], share).await;
    let unshare = async { operator.post("/ui/toolkits/wat/audience/unshare", &of_cid).await };
    steps.step("POST /ui/toolkits/id/audience/unshare", &["toolkit.unshared"], unshare).await;
    let release = async { operator.post("/ui/toolkits/wat/versions/release", &[("confirm", "wat")]).await };
    steps.step("POST /ui/toolkits/id/versions/release", &["toolkit.released"], release).await;
    let remove = async { operator.post("/ui/toolkits/wat/versions/remove", &[("confirm", "wat")]).await };
    steps.step("POST /ui/toolkits/id/versions/remove", &["toolkit.removed"], remove).await;
    ben.deploy(wat("1.0.0").component()).await.assert_status(201);
    let owner = Visitor::sign_in(&kitbag, "ana").await;
    let take = async { owner.post("/ui/toolkits/wat/versions/take-over", &[("confirm", "wat")]).await };
    steps.step("POST /ui/toolkits/id/versions/take-over", &["toolkit.taken_over"], take).await;
    steps.step("DELETE /toolkits/id", &["toolkit.removed"], ana.delete("/toolkits/wat")).await;

    collections(&kitbag, &mut steps).await;

    end_users(&kitbag, &mut steps).await;

    provision(&kitbag, &mut steps).await;
    steps.tested.push(signed_out_at_the_provider().await);

    // Accounts, and consents.
    connect_and_end_accounts(&kitbag, &mut steps).await;
    vouch_and_agree(&kitbag, &mut steps).await;

    let mut known: Vec<_> = steps.tested.clone();
    known.extend(NOT_RECORDED.map(|(route, reason)| {
        assert!(!reason.is_empty(), "{route}");
        route
    }));
    let unknown: Vec<_> =
        changing_routes().into_iter().filter(|route| !known.contains(&route.as_str())).collect();
    assert!(changing_routes().len() > 40, "{:?}", changing_routes());
    assert!(
        unknown.is_empty(),
        "neither tested here nor in the list of those that record nothing: {unknown:#?}"
    );
    let log = ana.get("/audit?since=1h").await.text().to_owned();
    assert!(!log.contains(CANARY), "{log}");
    assert!(log.lines().count() > 40, "{log}");
}

/// Tests the end of a user and exports, on both routes.
async fn end_users(kitbag: &Kitbag, steps: &mut Steps) {
    let ana = kitbag.as_user("ana");
    let leave = async |name: &str| {
        kitbag.as_user(name).ingest(json!([{ "title": CANARY, "text": CANARY }])).await;
    };
    leave("dan").await;
    let export = async { kitbag.as_user("dan").get("/export").await };
    let exported = steps.step("GET /export", &["user.exported"], export).await;
    assert_eq!((&exported[0]["user"], exported[0].get("affectedUser")), (&json!("dan"), None));
    let access = async { ana.post("/users/dan/end", &json!({ "accessOnly": true })).await };
    let ended = steps.step("POST /users/id/end", &["user.ended"], access).await;
    assert_eq!((&ended[0]["user"], &ended[0]["affectedUser"]), (&json!("ana"), &json!("dan")));
    let export = async { ana.get("/users/dan/export").await };
    let exported = steps.step("GET /users/id/export", &["user.exported"], export).await;
    assert_eq!((&exported[0]["user"], &exported[0]["affectedUser"]), (&json!("ana"), &json!("dan")));
    let rest = async { ana.post("/users/dan/end", &json!({})).await };
    let cleared = steps.step("POST /users/id/end", &["user.cleared"], rest).await;
    assert_eq!(cleared[0]["name"], "1 document deleted");

    leave("dora").await;
    let operator = Visitor::sign_in(kitbag, "ana").await;
    let end = async { operator.post("/ui/operate/users/dora/end", &[("confirm", "dora")]).await };
    steps.step("POST /ui/operate/users/id/end", &["user.ended", "user.cleared"], end).await;
    let export = async { operator.get("/ui/operate/users/dora/export").await };
    steps.step("GET /ui/operate/users/id/export", &["user.exported"], export).await;
    let export = async { operator.get("/ui/account/export").await };
    steps.step("GET /ui/account/export", &["user.exported"], export).await;
}

/// A provider signs a user out, at a server that trusts it. Returns the route.
async fn signed_out_at_the_provider() -> &'static str {
    let route = "POST /ui/signin/backchannel-logout";
    let provider = ScriptedProvider::start().await;
    let server = provider.kitbag_with(|settings| settings.operators = "ana".parse().expect("a list")).await;
    provider.sign_in(&server, "una").await;
    let mut steps = Steps { ana: provider.as_user(&server, "ana"), tested: Vec::new() };
    let token = provider.logout_token("una", |_, _| {});
    let ended = steps.step(route, &["session.ended"], log_out(&server, &token)).await;
    assert_eq!((&ended[0]["affectedUser"], &ended[0]["name"]), (&json!("una"), &json!("all")));
    route
}

/// Tests tokens of identity providers, and each act of one.
async fn provision(kitbag: &Kitbag, steps: &mut Steps) {
    let ana = kitbag.as_user("ana");
    let made = ana.post("/scim-tokens", &json!({ "name": "okta" })).await.assert_status(201).json();
    let okta = kitbag.with_token(text(&made, "token"));
    let create = async { ana.post("/scim-tokens", &json!({ "name": "entra" })).await };
    let created = steps.step("POST /scim-tokens", &["scim_token.created"], create).await;
    let id = text(&created[0], "name").split(' ').next().expect("an id").to_owned();
    let path = format!("/scim-tokens/{id}");
    steps.step("DELETE /scim-tokens/id", &["scim_token.revoked"], ana.delete(&path)).await;

    let pat = json!({ "userName": "pat", "displayName": CANARY });
    let create = async { okta.post("/scim/v2/Users", &pat).await };
    let added = steps.step("POST /scim/v2/Users", &["user.provisioned"], create).await;
    assert_eq!((&added[0]["affectedUser"], added[0].get("user")), (&json!("pat"), None));
    assert!(added[0]["key"].is_string(), "{added:?}");
    let listed = okta.get("/scim/v2/Users").await.json();
    let pat_id = text(&listed["Resources"][0], "id").to_owned();
    let path = format!("/scim/v2/Users/{pat_id}");
    let inactive = json!({ "userName": "pat", "active": false });
    let inactive = inactive.to_string();
    let replace = async { okta.send(Method::PUT, &path, "application/json", inactive).await };
    steps.step("PUT /scim/v2/Users/id", &["user.provisioned", "user.deactivated"], replace).await;
    let active = scim::patch(&json!([{ "op": "replace", "path": "active", "value": true }]));
    let activate = async { okta.patch(&path, &active).await };
    steps.step("PATCH /scim/v2/Users/id", &["user.provisioned", "user.reactivated"], activate).await;

    let sales = scim::group("sales", &[&pat_id]);
    let create = async { okta.post("/scim/v2/Groups", &sales).await };
    let acts = ["group.provisioned", "group.member_added"];
    let made = steps.step("POST /scim/v2/Groups", &acts, create).await;
    assert_eq!((&made[1]["name"], &made[1]["affectedUser"]), (&json!("sales"), &json!("pat")));
    let listed = okta.get("/scim/v2/Groups").await.json();
    let group = format!("/scim/v2/Groups/{}", text(&listed["Resources"][0], "id"));
    let leave = scim::patch(&json!([{ "op": "remove", "path": "members" }]));
    let leave = async { okta.patch(&group, &leave).await };
    steps.step("PATCH /scim/v2/Groups/id", &["group.member_removed"], leave).await;
    let renamed = scim::group("sellers", &[]).to_string();
    let rename = async { okta.send(Method::PUT, &group, "application/json", renamed).await };
    steps.step("PUT /scim/v2/Groups/id", &["group.provisioned"], rename).await;
    steps.step("DELETE /scim/v2/Groups/id", &["group.deprovisioned"], okta.delete(&group)).await;
    let acts = ["user.deactivated", "user.deprovisioned"];
    steps.step("DELETE /scim/v2/Users/id", &acts, okta.delete(&path)).await;
}

/// Tests each act on a collection, on both routes.
async fn collections(kitbag: &Kitbag, steps: &mut Steps) {
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));
    let create = async { una.post("/collections", &json!({ "id": "handbook", "name": CANARY })).await };
    let created = steps.step("POST /collections", &["collection.created"], create).await;
    assert_eq!((&created[0]["user"], &created[0]["name"]), (&json!("una"), &json!("handbook")));
    let describe = async { una.patch("/collections/handbook", &json!({ "name": CANARY })).await };
    steps.step("PATCH /collections/id", &["collection.described"], describe).await;
    let sales = json!({ "members": [{ "group": "sales", "role": "reader" }] });
    let share = async { una.post("/collections/handbook/members", &sales).await };
    let shared = steps.step("POST /collections/id/members", &["collection.shared"], share).await;
    assert_eq!(shared[0]["name"], "handbook group:sales reader");
    let unshare = async { una.delete("/collections/handbook/members?group=sales").await };
    let unshared = steps.step("DELETE /collections/id/members", &["collection.unshared"], unshare).await;
    assert_eq!(unshared[0]["name"], "handbook group:sales");
    let take = async { ana.post("/collections/handbook/take-over", &json!({})).await };
    steps.step("POST /collections/id/take-over", &["collection.taken_over"], take).await;
    let delete = async { una.delete("/collections/handbook").await };
    steps.step("DELETE /collections/id", &["collection.deleted"], delete).await;
    let restore = async { una.post("/collections/handbook/restore", &json!({})).await };
    steps.step("POST /collections/id/restore", &["collection.restored"], restore).await;
    una.delete("/collections/handbook").await.assert_status(204);
    let purge = async { una.delete("/collections/handbook?purge=true").await };
    steps.step("DELETE /collections/id", &["collection.purged"], purge).await;
    let mutation = json!({ "query": "mutation { createCollection(id: \"plans\", name: \"Plans\") }" });
    let create = async { una.send(Method::POST, "/graphql", "application/json", mutation.to_string()).await };
    steps.step("POST /graphql", &["collection.created"], create).await;

    let visitor = Visitor::sign_in(kitbag, "una").await;
    let about = [("id", "notes"), ("name", CANARY)];
    let create = async { visitor.post("/ui/collections", &about).await };
    steps.step("POST /ui/collections", &["collection.created"], create).await;
    let describe = async { visitor.post("/ui/collections/notes", &about).await };
    steps.step("POST /ui/collections/id", &["collection.described"], describe).await;
    let cid = [("kind", "user"), ("name", "cid")];
    let share = async { visitor.post("/ui/collections/notes/share", &cid).await };
    steps.step("POST /ui/collections/id/share", &["collection.shared"], share).await;
    let unshare = async { visitor.post("/ui/collections/notes/unshare", &cid).await };
    steps.step("POST /ui/collections/id/unshare", &["collection.unshared"], unshare).await;
    let delete = async { visitor.post("/ui/collections/notes/delete", &[]).await };
    steps.step("POST /ui/collections/id/delete", &["collection.deleted"], delete).await;
    let restore = async { visitor.post("/ui/collections/notes/restore", &[]).await };
    steps.step("POST /ui/collections/id/restore", &["collection.restored"], restore).await;
    visitor.post("/ui/collections/notes/delete", &[]).await.assert_status(303);
    let purge = async { visitor.post("/ui/collections/notes/purge", &[]).await };
    steps.step("POST /ui/collections/id/purge", &["collection.purged"], purge).await;
}

/// Tests vouching for a version, consent on both routes, and allowing a tool in code.
async fn vouch_and_agree(kitbag: &Kitbag, steps: &mut Steps) {
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));
    ana.delete("/toolkits/wat").await;
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);
    una.set_secret("wat", "KEY", CANARY).await;
    let further = |version, hosts| Wat { egress: hosts, ..wat(version) }.component();
    let path = "/toolkits?vouch=Read%20by%20two.";
    let deploy =
        async { ana.send(Method::POST, path, "application/wasm", further("2.0.0", &["b.example"])).await };
    let vouched = steps.step("POST /toolkits", &["toolkit.deployed", "toolkit.vouched"], deploy).await;
    let vouched = &vouched[1];
    assert_eq!((&vouched["version"], &vouched["name"]), (&json!("2.0.0"), &json!("Read by two.")));
    let status = una.get("/toolkits/wat/consent").await.json();
    let agree = async { una.post("/toolkits/wat/consent", &json!({ "digest": status["digest"] })).await };
    let given = steps.step("POST /toolkits/id/consent", &["consent.given"], agree).await;
    assert_eq!((&given[0]["user"], &given[0]["version"]), (&json!("una"), &json!("2.0.0")));

    let route = "/toolkits/wat/code-tools/run";
    let allow = async { una.post(route, &json!(null)).await };
    let allowed = steps.step("POST /toolkits/id/code-tools/tool", &["code.allowed"], allow).await;
    assert_eq!((&allowed[0]["user"], &allowed[0]["name"]), (&json!("una"), &json!("run")));
    let disallow = async { una.delete(route).await };
    steps.step("DELETE /toolkits/id/code-tools/tool", &["code.disallowed"], disallow).await;
    let visitor = Visitor::sign_in(kitbag, "una").await;
    let fields = [("allow", "run")];
    let allow = async { visitor.post("/ui/toolkits/wat/code-tools", &fields).await };
    steps.step("POST /ui/toolkits/id/code-tools", &["code.allowed"], allow).await;

    ana.deploy(further("3.0.0", &["c.example"])).await.assert_status(201);
    let status = una.get("/toolkits/wat/consent").await.json();
    let visitor = Visitor::sign_in(kitbag, "una").await;
    let fields = [("digest", text(&status, "digest"))];
    let agree = async { visitor.post("/ui/toolkits/wat/consent", &fields).await };
    let given = steps.step("POST /ui/toolkits/id/consent", &["consent.given"], agree).await;
    assert_eq!(given[0].get("client"), None);
}

/// Connects an account twice, and ends it once on each route.
async fn connect_and_end_accounts(kitbag: &Kitbag, steps: &mut Steps) {
    let provider = TokenEndpoint::start().await;
    let further = json!({ "auth": [{
        "type": "oauth2_authorization_code", "apiHost": provider.host(),
        "authorizationUrl": format!("http://{}/auth", provider.host()),
        "tokenUrl": format!("http://{}/token", provider.host()), "clientIdSecret": "CLIENT_ID",
    }] });
    let host = provider.host();
    let toolkit = Wat { egress: &[&host], further: &further.to_string(), ..wat("1.0.0") };
    let ana = kitbag.as_user("ana");
    ana.deploy(toolkit.component()).await.assert_status(201);
    ana.put("/toolkits/wat/secrets/CLIENT_ID?for-everyone=true", "client").await.assert_status(200);
    let visitor = Visitor::sign_in(kitbag, "una").await;

    let una = kitbag.as_user("una");
    for route in ["POST /ui/toolkits/id/account/end", "DELETE /toolkits/id/account"] {
        let seen = [("owner", "ana"), ("version", "1.0.0")];
        let leave = visitor.post("/ui/toolkits/wat/account/connect", &seen).await.assert_status(200);
        let link = leave.text().split("<a class=\"button primary\" href=\"").nth(1).expect("a link");
        let link = link.split('"').next().expect("its end").replace("&#38;", "&");
        let link: url::Url = link.parse().expect("a URL");
        let (_, state) = link.query_pairs().find(|(name, _)| name == "state").expect("a state");
        let back = format!("/ui/toolkits/wat/auth/callback?code={CANARY}&state={state}");
        let arrive = async {
            let from_elsewhere = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")];
            visitor.sending(&from_elsewhere).get(&back).await
        };
        let connected = steps.step("GET /ui/toolkits/id/auth/callback", &["account.connected"], arrive).await;
        assert_eq!((&connected[0]["user"], &connected[0]["toolkit"]), (&json!("una"), &json!("wat")));
        let end = async {
            if route.starts_with("POST") {
                visitor.post("/ui/toolkits/wat/account/end", &[]).await
            } else {
                una.delete("/toolkits/wat/account").await
            }
        };
        let ended = steps.step(route, &["account.ended"], end).await;
        assert!(ended[0].get("name").is_none(), "{ended:?}");
    }
}

/// OAuth token endpoint that accepts every code. The field is its port.
pub(crate) struct TokenEndpoint(u16);

impl TokenEndpoint {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let body = format!(r#"{{"access_token":"{CANARY}","token_type":"Bearer"}}"#);
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{body}",
                    body.len()
                );
                let mut request = [0; 8192];
                let _ = connection.read(&mut request).await;
                let _ = connection.write_all(answer.as_bytes()).await;
                let _ = connection.shutdown().await;
            }
        });
        Self(port)
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.0)
    }
}

/// Path and query of the elicitation link to the page on which `needy`'s secret is set.
async fn link(user: &User) -> String {
    let user = user.clone().capable_of(json!({ "elicitation": { "url": {} } }));
    let call = json!({ "name": "needy__need", "arguments": {} });
    let reply = user.request("tools/call", Some("needy__need"), call).await.to_string();
    let link = reply.split("/page?link=").nth(1).unwrap_or_else(|| panic!("no link in {reply}"));
    let link = link.split(['"', '\\', '&']).next().expect("an id");
    format!("/toolkits/needy/secrets/API_KEY/page?link={link}")
}

impl Kitbag {
    async fn deploy_as(&self, operator: &User, component: Vec<u8>) {
        operator.deploy(component).await.assert_status(201);
    }
}
