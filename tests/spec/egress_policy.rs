//! The egress policy (`egress-policy`): hosts that no toolkit exceeds, whatever it declares.

use std::fs;

use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::capture::captures_allowed;
use crate::fetch::{loopback_allowed, probe, value_of};
use crate::harness::{
    AccountProvider, Files, Kitbag, ServerProcess, Upstream, User, Visitor, Wat, eventually, guests, kitbag,
    run,
};

/// Words of each refusal: what it is, and what to do.
const REFUSED: &str = "(setting egress-policy): ask your operator";

/// Lets toolkits reach loopback, and of it only these hosts.
fn permitting(policy: &'static str) -> impl FnOnce(&mut Settings) {
    move |settings| {
        loopback_allowed(settings);
        settings.egress_policy = policy.parse().expect("a policy");
        settings.local_groups = "ana=staff,fay=finance,fay=staff".parse().expect("groups");
    }
}

impl User {
    /// Returns a client with a key of this user.
    async fn key_client(&self, kitbag: &Kitbag) -> User {
        let made = self.post("/keys", &json!({ "name": "nightly" })).await.assert_status(201).json();
        kitbag.with_token(made["key"].as_str().expect("the key, once"))
    }
}

#[tokio::test]
async fn a_toolkit_reaches_no_declared_host_beyond_the_policy_and_its_caller_is_told() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(permitting("localhost:18999,api.example")).await;

    for host in ["127.0.0.1", "127.1", "0x7f.1", "2130706433"] {
        let refused = ana.fetch(&format!("http://{host}:18999/hello")).await;
        refused.assert_tool_error(
            "127.0.0.1:18999 is not permitted to toolkits by the egress policy of this server",
        );
        refused.assert_tool_error(REFUSED);
    }
    upstream.assert_untouched();
    // The record is that of any refused request.
    let logged = ana.logged("probe__fetch").await;
    let entries = logged["entries"].to_string();
    assert!(
        entries.contains("127.0.0.1:18999 is not permitted to toolkits") && entries.contains(REFUSED),
        "{entries}"
    );
    assert_eq!((&logged["outcome"], &logged["requests"]), (&json!("tool-error"), &json!(1)), "{logged}");

    for url in [upstream.named_url("/hello"), upstream.named_url("/hello").replace("localhost", "LOCALHOST.")]
    {
        assert_eq!(value_of(&ana.fetch(&url).await)["body"], "hello", "{url}");
    }
    // What the policy permits, the declaration does not.
    let undeclared = ana.fetch("https://api.example/").await;
    undeclared.assert_tool_error("HttpRequestDenied");
    assert!(!undeclared.raw().contains("egress-policy"), "{}", undeclared.raw());
}

#[tokio::test]
async fn a_redirect_leads_to_no_host_beyond_the_policy() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = probe(permitting("localhost:18999")).await;
    let redirect = upstream.named_url(&format!("/redirect/307?{}", upstream.url("/hello")));

    let refused = ana.fetch(&redirect).await;

    refused.assert_tool_error("127.0.0.1:18999 is not permitted to toolkits");
    let paths: Vec<_> = upstream.requests().iter().map(|head| head.uri.path().to_owned()).collect();
    assert_eq!(paths, ["/redirect/307"]);
    // A handler that follows redirects itself is refused in the same way.
    let manual = json!({ "url": redirect, "headers": { "kitbag-redirect": "manual" } });
    assert_eq!(value_of(&ana.call("probe__fetch", manual).await)["status"], 307);
    ana.fetch(&upstream.url("/hello")).await.assert_tool_error(REFUSED);
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn a_group_adds_hosts_for_its_members_and_a_key_has_no_groups() {
    let upstream = Upstream::start().await;
    let (kitbag, ana) = probe(permitting("localhost:18999,group:finance=127.0.0.1:18999")).await;
    let fay = kitbag.as_user("fay");

    for user in [&ana, &fay, &kitbag.as_user("una")] {
        assert_eq!(value_of(&user.fetch(&upstream.named_url("/hello")).await)["body"], "hello");
    }
    assert_eq!(value_of(&fay.fetch(&upstream.url("/hello")).await)["body"], "hello");
    for user in [&ana, &kitbag.as_user("una"), &kitbag.as_user("finance"), &fay.key_client(&kitbag).await] {
        user.fetch(&upstream.url("/hello")).await.assert_tool_error(REFUSED);
    }
    assert_eq!(upstream.requests().len(), 4);
}

#[tokio::test]
async fn the_server_asks_for_no_token_beyond_the_policy() {
    let upstream = Upstream::start().await;
    let kitbag = Kitbag::start_with(permitting("localhost:18999,group:finance=127.0.0.1:18999")).await;
    kitbag.deploy(guests::SIGNED_IN).await;
    for name in ["ana", "fay"] {
        for secret in ["CLIENT_ID", "CLIENT_SECRET"] {
            kitbag.as_user(name).set_secret("signed-in", secret, "a-clients-5ecret").await;
        }
    }
    let fetch = async |name: &str| {
        kitbag.as_user(name).call("signed-in__fetch", json!({ "url": upstream.url("/api") })).await
    };

    fetch("ana").await.assert_tool_error(REFUSED);
    upstream.assert_untouched();

    assert_eq!(value_of(&fetch("fay").await)["status"], 200);
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn an_account_is_not_connected_at_a_provider_beyond_the_policy() {
    let _turn = AccountProvider::turn().await;
    let kitbag = Kitbag::start_with(permitting("127.0.0.1:18999")).await;
    kitbag.deploy(guests::ACCOUNT).await;
    for name in ["CLIENT_ID", "CLIENT_SECRET"] {
        let path = format!("/toolkits/account/secrets/{name}?for-everyone=true");
        kitbag.as_operator().put(&path, "client-of-tests").await.assert_status(200);
    }
    let visitor = Visitor::sign_in(&kitbag, "ana").await;

    let fields = [("owner", "local"), ("version", "1.0.0")];
    let refused = visitor.post("/ui/toolkits/account/account/connect", &fields).await;

    assert!(!refused.status.is_success(), "{}", refused.text());
    refused.assert_says("127.0.0.1:18997 is not permitted to toolkits");
    refused.assert_says(REFUSED);
}

#[tokio::test]
async fn a_toolkit_has_no_file_fetched_beyond_the_policy_and_a_user_has() {
    let (elsewhere, files) = (Files::start_at("127.0.0.3").await, Files::start().await);
    let permitted = files.put("/a.txt", "text/plain", "permitted");
    let forbidden = elsewhere.put("/b.txt", "text/plain", "forbidden");
    let redirect = files.url(&format!("/redirect?{forbidden}"));
    let host = permitted.trim_start_matches("http://").split('/').next().expect("a host").to_owned();
    let (server, ana) = probe(|settings| {
        loopback_allowed(settings);
        captures_allowed(settings);
        settings.egress_policy = host.parse().expect("a policy");
    })
    .await;
    let ingest = async |field: &str, url: &str| {
        let document = json!({ "documents": [{ "title": "A file", (field): url }] });
        ana.call("probe__ingest", document).await
    };

    for field in ["fileUrl", "audioUrl"] {
        for url in [&forbidden, &format!(" {forbidden}"), &forbidden.replace("127.0.0.3", "0x7f.3")] {
            let refused = ingest(field, url).await;
            refused.assert_tool_error(&format!("documents[0].{field}: 127.0.0.3:"));
            refused.assert_tool_error(REFUSED);
        }
    }
    ingest("fileUrl", &permitted).await.text();
    ingest("fileUrl", &redirect).await.text();
    assert_eq!(server.settled(&permitted).await.state, "ready");
    server.settled(&redirect).await.assert_failed(REFUSED);
    assert_eq!(elsewhere.hits("/b.txt"), 0);

    // The policy is about toolkits: what users add themselves is theirs to decide.
    ana.ingest(json!([{ "title": "Mine", "fileUrl": forbidden }])).await;
    assert_eq!(server.settled(&forbidden).await.state, "ready");
}

#[tokio::test]
async fn a_policy_counts_from_the_next_request_after_a_hang_up_also_over_open_connections() {
    let upstream = Upstream::start().await;
    let data = tempfile::tempdir().expect("a scratch directory");
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("kitbag.toml");
    let ranges = "allow-private-ranges = \"127.0.0.0/8\"\n";
    fs::write(&file, ranges).expect("a file");
    let server = ServerProcess::start_with(data.path(), |command| {
        command.arg("--config").arg(&file);
    })
    .await;
    let operator = server.as_operator().await;
    operator.deploy(guests::PROBE.bytes()).await.assert_status(201);
    let ana = server.as_user("ana").await;
    let hang_up = async |policy: &str| {
        fs::write(&file, format!("{ranges}{policy}\n")).expect("it is ours");
        let process = server.process().to_string();
        let asked = Command::new("kill").args(["-HUP", &process]).status().await.expect("there is `kill`");
        assert!(asked.success());
    };
    let is_permitted = async || !ana.fetch(&upstream.url("/hello")).await.raw().contains("egress-policy");
    assert!(is_permitted().await);

    hang_up(r#"egress-policy = { "everyone" = ["localhost:18999"] }"#).await;
    eventually("the policy counts", async || !is_permitted().await).await;
    let asked = upstream.requests().len();
    assert!(!is_permitted().await && upstream.requests().len() == asked);

    hang_up(r#"egress-policy = ["*.example"]"#).await;
    eventually("the mistake is told", async || {
        String::from_utf8_lossy(&server.log()).contains("cannot be read again")
    })
    .await;
    assert!(!is_permitted().await, "a wrong file changes nothing");
    hang_up("egress-policy = []").await;
    ana.fetch(&upstream.named_url("/hello")).await;
    eventually("no host is permitted", async || {
        ana.fetch(&upstream.named_url("/hello")).await.raw().contains("egress-policy")
    })
    .await;

    hang_up("").await;
    eventually("there is no policy any more", is_permitted).await;
}

/// Starts a server with a policy, where `sal` of sales and `una` have signed in.
async fn reviewing() -> Kitbag {
    let kitbag = Kitbag::start_with(|settings| {
        settings.egress_policy =
            "files.example:443,group:sales=crm.example,group:sales=files.example".parse().expect("a policy");
        settings.operators = "ana".parse().expect("a list");
        settings.local_groups = "sal=sales".parse().expect("groups");
    })
    .await;
    for name in ["sal", "una"] {
        kitbag.as_user(name).get("/toolkits").await.assert_status(200);
    }
    eventually("their sign-ins are recorded", async || {
        let users = kitbag.as_user("ana").get("/users").await.json();
        users["users"].as_array().is_some_and(|users| users.len() >= 3)
    })
    .await;
    kitbag
}

fn wat(version: &'static str) -> Wat<'static> {
    Wat { version, egress: &["crm.example", "evil.example", "files.example"], ..Wat::default() }
}

fn refused() -> Value {
    json!([
        { "host": "crm.example", "exceptGroups": ["sales"] },
        { "host": "evil.example" },
        { "host": "files.example", "inPart": true, "exceptGroups": ["sales"] },
    ])
}

#[tokio::test]
async fn whoever_reviews_or_deploys_sees_which_hosts_the_policy_refuses() {
    let kitbag = reviewing().await;
    let ana = kitbag.as_user("ana");

    let review = ana.review(wat("1.0.0").component()).await;
    assert_eq!(review["refusedHosts"], refused());
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let digest = review["digest"].as_str().expect("a digest");
    let page = visitor.get(&format!("/ui/operate/uploads/{digest}")).await.assert_status(200);
    page.assert_says("refused by egress-policy, except to members of sales");
    page.assert_says("refused in part by egress-policy");

    let deployed = ana.deploy(wat("1.0.0").component()).await.assert_status(201).json();
    assert_eq!(deployed["refusedHosts"], refused());
    ana.deploy(Wat { egress: &[], ..wat("1.1.0") }.component()).await.assert_status(201);
    let back =
        ana.post("/toolkits/wat/rollback", &json!({ "version": "1.0.0" })).await.assert_status(200).json();
    assert_eq!(back["refusedHosts"], refused());
    let compared = visitor.get("/ui/toolkits/wat/versions?from=1.1.0&to=1.0.0").await.assert_status(200);
    compared.assert_says("refused by egress-policy");

    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("wat.wasm");
    fs::write(&file, wat("1.2.0").component()).expect("a file");
    for more in [&["--review"][..], &[]] {
        let mut command = self::kitbag(["toolkit", "deploy"]);
        command.arg(&file).args(more);
        command.env("KITBAG_SERVER", kitbag.base_url().as_str()).env("KITBAG_TOKEN", ana.token());
        let said = run(command).await;
        let warning = "warning: evil.example is refused by egress-policy\n";
        assert!(said.code == Some(0) && said.stderr.contains(warning), "{said:?}");
    }
}

#[tokio::test]
async fn the_view_of_access_takes_the_policy_into_account() {
    let kitbag = reviewing().await;
    let ana = kitbag.as_user("ana");
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);
    let view = async |query: &str| ana.get(&format!("/access?{query}")).await.assert_status(200).json();
    let people = |view: &Value| view["toolkits"][0]["people"]["first"].clone();
    let hosts = |view: &Value| {
        let refused = view["toolkits"][0]["refusedHosts"].as_array().cloned().unwrap_or_default();
        refused.iter().map(|it| it["host"].as_str().expect("a host").to_owned()).collect::<Vec<_>>()
    };

    assert_eq!(people(&view("host=crm.example").await), json!(["sal"]));
    assert_eq!(people(&view("host=evil.example").await), json!([]));
    assert_eq!(people(&view("host=files.example").await), json!(["ana", "sal", "una"]));
    assert_eq!(people(&view("toolkit=wat").await), json!(["ana", "sal", "una"]));
    assert_eq!(hosts(&view("toolkit=wat").await), ["crm.example", "evil.example", "files.example"]);
    assert_eq!(hosts(&view("user=una").await), ["crm.example", "evil.example", "files.example"]);
    assert_eq!(hosts(&view("user=sal").await), ["evil.example"]);
    assert_eq!(hosts(&view("group=sales").await), ["evil.example"]);

    let mut command = self::kitbag(["user", "access", "--host", "crm.example"]);
    command.env("KITBAG_SERVER", kitbag.base_url().as_str()).env("KITBAG_TOKEN", ana.token());
    let said = run(command).await.succeeded();
    assert!(said.contains("crm.example: refused by egress-policy, except to members of sales"), "{said}");
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let page = visitor.get("/ui/operate/access?kind=user&name=una").await.assert_status(200);
    page.assert_says("refused by egress-policy, except to members of sales");
}
