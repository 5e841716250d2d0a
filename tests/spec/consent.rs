//! Consent: a toolkit that extends its reach gets no secrets, tokens or documents of a user until the user
//! agrees. Until then, calls fail with a link to the consent page.

use http::Method;
use serde_json::{Value, json};

use crate::fetch::{loopback_allowed, value_of};
use crate::harness::{
    Answer, CommandOutput, Kitbag, Outcome, Revision, Upstream, User, Visitor, Wat, guests, run,
};

const PAGE: &str = "/ui/toolkits/wat/consent";
const ROUTE: &str = "/toolkits/wat/consent";
const SECRET: &str = "canary-of-una";

/// Starts a server on which each user consents, with the operators `ana` and `ben`. Its toolkits may send
/// requests to loopback.
async fn server() -> Kitbag {
    Kitbag::start_with(|settings| {
        loopback_allowed(settings);
        settings.operators = "ana,ben".parse().expect("a list");
        settings.consent = "users".parse().expect("a choice");
    })
    .await
}

/// Component of the toolkit `wat` with one secret and these egress hosts.
fn wat<'a>(version: &'a str, hosts: &'a [&'a str]) -> Vec<u8> {
    Wat { version, egress: hosts, secrets: &["KEY"], ..Wat::default() }.component()
}

/// Starts a server where `una` set a secret for version 1.0.0, and version 2.0.0 extends the reach.
async fn waiting() -> (Kitbag, User) {
    let kitbag = server().await;
    let (ana, una) = (kitbag.as_user("ana"), kitbag.as_user("una"));
    ana.deploy(wat("1.0.0", &["a.example"])).await.assert_status(201);
    una.set_secret("wat", "KEY", SECRET).await;
    ana.deploy(wat("2.0.0", &["a.example", "b.example"])).await.assert_status(201);
    (kitbag, una)
}

impl User {
    async fn run_wat(&self) -> Outcome {
        self.call("wat__run", json!({})).await
    }

    async fn consent(&self) -> Value {
        self.get(ROUTE).await.assert_status(200).json()
    }

    async fn waits(&self) -> bool {
        self.consent().await["waiting"] == true
    }

    async fn agree_to(&self, digest: &str) -> Answer {
        self.post(ROUTE, &json!({ "digest": digest })).await
    }
}

/// Replaces texts in a component by others of the same length. Panics if a text is missing.
pub(crate) fn with_texts(component: &[u8], texts: &[(&str, &str)]) -> Vec<u8> {
    let mut changed = component.to_vec();
    for (from, to) in texts {
        assert_eq!(from.len(), to.len());
        let places: Vec<_> =
            changed.windows(from.len()).enumerate().filter(|(_, it)| *it == from.as_bytes()).collect();
        let places: Vec<_> = places.into_iter().map(|(place, _)| place).collect();
        assert!(!places.is_empty(), "{from} is not in the component");
        for place in places {
            changed[place..place + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    changed
}

#[tokio::test]
async fn no_secret_and_no_token_reaches_another_host_before_its_user_agrees() {
    let upstream = Upstream::start().await;
    let kitbag = server().await;
    let (ana, una) = (kitbag.as_user("ana"), kitbag.as_user("una"));
    let further = guests::SIGNED_IN.bytes();
    // Version 1.0.0 declares a host that looks like the later one.
    let before = with_texts(&further, &[("localhost:18999", "loca1host:18999")]);
    ana.deploy(before).await.assert_status(201);
    una.set_secret("signed-in", "CLIENT_ID", "una-at-api").await;
    una.set_secret("signed-in", "CLIENT_SECRET", "unas-5ecret").await;
    let arguments = json!({ "url": upstream.url("/api") });
    assert_eq!(value_of(&una.call("signed-in__fetch", arguments.clone()).await)["status"], 200);
    let asked = upstream.requests().len();
    assert!(asked > 0);

    ana.deploy(with_texts(&further, &[("1.0.0", "2.0.0")])).await.assert_status(201);

    let page = kitbag.anonymous().url("/ui/toolkits/signed-in/consent");
    let refused = una.call("signed-in__fetch", arguments.clone()).await;
    refused.assert_tool_error("network localhost:18999");
    refused.assert_tool_error("kitbag toolkit agree signed-in");
    refused.assert_tool_error(page.as_str());
    let (path, json) = ("/toolkits/signed-in/tools/fetch", "application/json");
    let over_http = una.send(Method::POST, path, json, arguments.to_string()).await;
    let over_http = over_http.assert_status(200).json();
    assert_eq!((&over_http["code"], &over_http["retryable"]), (&json!("TOOL_ERROR"), &json!(false)));
    assert!(over_http["error"].as_str().expect("a text").contains(page.as_str()), "{over_http}");
    let visitor = Visitor::sign_in(&kitbag, "una").await;
    let fields = [("json", arguments.to_string())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let tried = visitor.post("/ui/toolkits/signed-in/tools/fetch", &fields).await.assert_status(200);
    tried.assert_says("href=\"/ui/toolkits/signed-in/consent\"");
    assert_eq!(upstream.requests().len(), asked, "nothing was sent");
    // A user without any secret is not asked for consent: the call fails because the secret is missing.
    kitbag.as_user("ben").call("signed-in__fetch", arguments.clone()).await.assert_tool_error("CLIENT_ID");

    let shown = visitor.get("/ui/toolkits/signed-in/consent").await.assert_status(200);
    shown.assert_says("localhost:18999");
    let digest = shown.hidden("digest");
    let agreed = visitor.post("/ui/toolkits/signed-in/consent", &[("digest", &digest)]).await;
    let agreed = agreed.assert_status(303);
    assert_eq!(agreed.header("location"), Some("/ui/toolkits/signed-in?done=agreed"));
    assert_eq!(value_of(&una.call("signed-in__fetch", arguments).await)["status"], 200);
    assert!(upstream.requests().len() > asked);
}

#[tokio::test]
async fn no_account_is_connected_by_a_version_that_waits_for_consent() {
    let elsewhere = Upstream::start().await;
    let origin = elsewhere.url("");
    let host = origin.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let kitbag = server().await;
    let (ana, una) = (kitbag.as_user("ana"), kitbag.as_user("una"));
    let secrets = ["CLIENT_ID", "CLIENT_SECRET"];
    let before = Wat { egress: &["a.example"], secrets: &secrets, ..Wat::default() };
    ana.deploy(before.component()).await.assert_status(201);
    una.set_secret("wat", "CLIENT_ID", "una-at-api").await;
    una.set_secret("wat", "CLIENT_SECRET", SECRET).await;
    let signs_in = json!({ "auth": [{
        "type": "oauth2_authorization_code", "apiHost": host,
        "authorizationUrl": elsewhere.url("/auth"), "tokenUrl": elsewhere.url("/token"),
        "clientIdSecret": "CLIENT_ID", "clientSecretSecret": "CLIENT_SECRET",
    }] });
    let after = Wat { version: "2.0.0", egress: &[&host], further: &signs_in.to_string(), ..Wat::default() };
    ana.deploy(after.component()).await.assert_status(201);
    let visitor = Visitor::sign_in(&kitbag, "una").await;
    let connect = async || {
        let seen = [("owner", "ana"), ("version", "2.0.0")];
        visitor.post("/ui/toolkits/wat/account/connect", &seen).await
    };

    assert!(!visitor.get("/ui/toolkits/wat").await.text().contains("account/connect"));
    let refused = connect().await.assert_status(303);
    assert_eq!(refused.header("location"), Some(PAGE));
    let callback = visitor.get("/ui/toolkits/wat/auth/callback?code=c&state=s").await.assert_status(303);
    assert_eq!(callback.header("location"), Some(PAGE));
    assert!(elsewhere.requests().is_empty());

    let digest = una.consent().await["digest"].as_str().expect("a digest").to_owned();
    una.agree_to(&digest).await.assert_status(204);
    connect().await.assert_status(200);
}

#[tokio::test]
async fn documents_stay_out_of_reach_until_their_user_agrees() {
    let kitbag = server().await;
    let (ana, una) = (kitbag.as_user("ana"), kitbag.as_user("una"));
    let imports = crate::grants::search();
    let call = "(call $search (i32.const 0) (i32.const 0) (i32.const 256))";
    let version = |version: &'static str, hosts: &'static [&'static str]| {
        Wat { version, egress: hosts, scopes: &["svc:search"], imports: &imports, call, ..Wat::default() }
            .component()
    };
    ana.deploy(version("1.0.0", &[])).await.assert_status(201);
    assert_eq!(una.consent().await.get("agreedAt"), None);
    assert_eq!(una.run_wat().await.text(), "done");
    assert_eq!(una.consent().await["agreedVersion"], "1.0.0", "the first call is the consent");

    ana.deploy(version("2.0.0", &["b.example"])).await.assert_status(201);

    una.run_wat().await.assert_tool_error("network b.example");
    let status = una.consent().await;
    assert_eq!(
        status["new"][0],
        json!({ "kind": "Network", "name": "b.example",
            "meaning": "receives its requests, which may carry your documents" })
    );
    // A new owner needs a new consent, even for a version that reaches no further.
    let take = "/toolkits?takeOver=true";
    let component = version("3.0.0", &[]);
    let taken = kitbag.as_user("ben").send(Method::POST, take, "application/wasm", component).await;
    taken.assert_status(201);
    una.run_wat().await.assert_tool_error("owner ben");
    // Removing and deploying the toolkit again does not avoid the consent.
    kitbag.as_user("ben").delete("/toolkits/wat").await.assert_status(204);
    kitbag.as_user("ben").deploy(version("1.0.0", &["b.example"])).await.assert_status(201);
    una.run_wat().await.assert_tool_error("owner ben, network b.example");

    let digest = una.consent().await["digest"].as_str().expect("a digest").to_owned();
    una.agree_to(&digest).await.assert_status(204);
    assert_eq!(una.run_wat().await.text(), "done");
}

#[tokio::test]
async fn a_client_that_opens_links_gets_the_page_in_both_revisions_and_the_call_goes_on() {
    let (kitbag, una) = waiting().await;
    let params = json!({ "name": "wat__run", "arguments": {} });
    for revision in [Revision::Current, Revision::Older] {
        let client = crate::elicitation::client(&kitbag, "una", revision).await;
        let reply = client.request("tools/call", Some("wat__run"), params.clone()).await;
        let question = match revision {
            Revision::Current => reply["result"]["inputRequests"]["consent"]["params"].clone(),
            Revision::Older => {
                assert_eq!(reply["error"]["code"], -32042, "{reply}");
                reply["error"]["data"]["elicitations"][0].clone()
            }
        };
        assert_eq!(question["mode"], "url", "{reply}");
        assert_eq!(question["url"].as_str(), Some(kitbag.anonymous().url(PAGE).as_str()), "{reply}");
    }

    let client = crate::elicitation::client(&kitbag, "una", Revision::Current).await;
    let mut params = params;
    let declined = json!({ "consent": { "action": "decline" } });
    params["inputResponses"] = declined;
    let reply = client.request("tools/call", Some("wat__run"), params.clone()).await;
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    params["inputResponses"] = json!({ "consent": { "action": "accept" } });
    let waiting = tokio::spawn(async move { client.request("tools/call", Some("wat__run"), params).await });
    let digest = una.consent().await["digest"].as_str().expect("a digest").to_owned();
    una.agree_to(&digest).await.assert_status(204);
    let reply = waiting.await.expect("it answers");
    assert_eq!(reply["result"]["content"][0]["text"], "done", "{reply}");
}

#[tokio::test]
async fn nobody_is_led_to_agree() {
    let (kitbag, una) = waiting().await;
    let visitor = Visitor::sign_in(&kitbag, "una").await;
    let page = visitor.get(PAGE).await.assert_status(200);
    let digest = page.hidden("digest");
    let agree = [("digest", digest.as_str())];

    // Opening a link does not give consent.
    visitor.get(&format!("{PAGE}?digest={digest}")).await.assert_status(200);
    assert!(una.waits().await);
    // Requests from other sites are refused, and the page in a frame too.
    for sent in [
        &[("origin", "https://evil.example")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
    ] {
        visitor.sending(sent).post(PAGE, &agree).await.assert_status(403);
    }
    for place in ["iframe", "frame", "embed", "object", "empty"] {
        let framed = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", place)];
        visitor.sending(&framed).get(PAGE).await.assert_status(403);
    }
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert!(page.header("content-security-policy").expect("one").contains("frame-ancestors 'none'"));
    assert!(una.waits().await);
    // Another user who knows the page or its digest cannot agree for `una`.
    Visitor::sign_in(&kitbag, "eve").await.post(PAGE, &agree).await.assert_status(303);
    kitbag.as_user("eve").agree_to(&digest).await.assert_status(204);
    Visitor::new(&kitbag).post(PAGE, &agree).await.assert_status(401);
    kitbag.with_token("guess").post(ROUTE, &json!({ "digest": digest })).await.assert_status(401);
    assert!(una.waits().await);
    // A program with a key of `una` cannot agree.
    let key = una.post("/keys", &json!({ "name": "report" })).await.assert_status(201).json();
    let program = kitbag.with_token(key["key"].as_str().expect("a key"));
    program.agree_to(&digest).await.assert_problem(403, "A program cannot agree");
    program.run_wat().await.assert_tool_error("kitbag toolkit agree wat");
    // A digest other than the one shown is refused.
    for other in ["", "guess", &digest.to_uppercase(), &format!("{digest}0")] {
        una.agree_to(other).await.assert_problem(409, "has changed in the meantime");
        visitor.post(PAGE, &[("digest", other)]).await.assert_status(409);
    }
    for body in [json!({}), json!({ "digest": 1 }), json!({ "digest": digest, "more": 1 }), json!([digest])] {
        una.post(ROUTE, &body).await.assert_status(400);
    }
    let large = json!({ "digest": "x".repeat(5 << 10) });
    una.post(ROUTE, &large).await.assert_status(413);
    una.run_wat().await.assert_tool_error("network b.example");

    visitor.post(PAGE, &agree).await.assert_status(303);
    assert_eq!(una.run_wat().await.text(), "done");
}

#[tokio::test]
async fn a_version_that_becomes_live_between_page_and_form_is_not_agreed_to() {
    let (kitbag, una) = waiting().await;
    let visitor = Visitor::sign_in(&kitbag, "una").await;
    let digest = visitor.get(PAGE).await.hidden("digest");
    let ana = kitbag.as_user("ana");
    ana.deploy(wat("3.0.0", &["a.example", "b.example", "c.example"])).await.assert_status(201);

    let refused = visitor.post(PAGE, &[("digest", &digest)]).await.assert_status(409);

    refused.assert_says("c.example");
    assert!(una.waits().await);
    visitor.post(PAGE, &[("digest", &refused.hidden("digest"))]).await.assert_status(303);
    assert_eq!(una.run_wat().await.text(), "done");
    // A rollback to a version that reaches no further needs no new consent.
    ana.post("/toolkits/wat/rollback", &json!({ "version": "2.0.0" })).await.assert_status(200);
    assert_eq!(una.run_wat().await.text(), "done");
}

#[tokio::test]
async fn the_page_of_a_secret_agrees_to_what_it_showed_alone() {
    let kitbag = server().await;
    let ana = kitbag.as_user("ana");
    ana.deploy(guests::NEEDS_SECRET.bytes()).await.assert_status(201);
    let link = crate::elicitation::client(&kitbag, "una", Revision::Current).await.link().await;
    let shown = crate::elicitation::open(&kitbag, &link, &[]).await;
    shown.assert_says("<dt>It reaches also</dt>");
    shown.assert_says("<code><bdi>EXTRA_KEY</bdi></code> is read by the toolkit");
    let changed =
        with_texts(&guests::NEEDS_SECRET.bytes(), &[("1.0.0", "2.0.0"), ("EXTRA_KEY", "OTHER_KEY")]);
    ana.deploy(changed).await.assert_status(201);

    let http = kitbag.anonymous();
    let form = format!("reach={}&value={SECRET}", shown.hidden("reach"));
    let refused = http.send(Method::POST, link.as_str(), http::HeaderMap::new(), form).await;

    let refused = refused.assert_status(422);
    refused.assert_says("has changed since you opened the page");
    let una = kitbag.as_user("una");
    assert_eq!(una.get("/toolkits/needy/secrets").await.json()[0]["set"], false);
    let form = format!("reach={}&value={SECRET}", refused.hidden("reach"));
    http.send(Method::POST, link.as_str(), http::HeaderMap::new(), form).await.assert_status(200);
    assert_eq!(una.get("/toolkits/needy/consent").await.json()["agreedVersion"], "2.0.0");
}

#[tokio::test]
async fn a_toolkit_that_one_does_not_see_has_no_consent() {
    let kitbag = server().await;
    let private =
        Wat { visibility: crate::harness::wat::Visibility::Private, secrets: &["KEY"], ..Wat::default() };
    kitbag.as_user("ana").deploy(private.component()).await.assert_status(201);
    let (una, visitor) = (kitbag.as_user("una"), Visitor::sign_in(&kitbag, "una").await);

    let hidden = una.get(ROUTE).await.assert_status(404).text().replace("wat", "it");
    let absent = una.get("/toolkits/absent/consent").await.assert_status(404).text().replace("absent", "it");
    assert_eq!(hidden, absent);
    una.agree_to("guess").await.assert_status(404);
    visitor.get(PAGE).await.assert_status(404);
    visitor.post(PAGE, &[("digest", "guess")]).await.assert_status(404);
}

#[tokio::test]
async fn where_operators_consent_nobody_is_asked() {
    // The default in local mode.
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    let una = kitbag.as_user("una");
    operator.deploy(wat("1.0.0", &["a.example"])).await.assert_status(201);
    una.set_secret("wat", "KEY", SECRET).await;

    operator.deploy(wat("2.0.0", &["b.example"])).await.assert_status(201);

    assert_eq!(una.run_wat().await.text(), "done");
    assert!(!una.waits().await);
    assert_eq!(operator.get("/toolkits/wat").await.json()["waitingConsents"], 0);
    let page = Visitor::sign_in(&kitbag, "una").await.get(PAGE).await.assert_status(200);
    page.assert_says("You are not asked");
    assert!(!page.text().contains("<button class=\"primary\">Agree"), "{}", page.text());
}

pub(crate) async fn command(kitbag: &Kitbag, user: &User, words: &[&str]) -> CommandOutput {
    let mut command = crate::harness::kitbag(words);
    command.env("KITBAG_SERVER", kitbag.base_url().as_str()).env("KITBAG_TOKEN", user.token());
    run(command).await
}

#[tokio::test]
async fn an_operator_vouches_for_one_version_with_a_reason_that_users_read() {
    let (kitbag, una) = waiting().await;
    let ana = kitbag.as_user("ana");
    assert_eq!(ana.get("/toolkits/wat").await.json()["waitingConsents"], 1);
    assert_eq!(una.get("/toolkits/wat").await.json().get("waitingConsents"), None);
    let reason = "Read by ana & ben.";

    // Every command that makes a version live can vouch for it: deploy, rollback, deploy of an upload.
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("wat.wasm");
    let third = wat("3.0.0", &["a.example", "c.example"]);
    std::fs::write(&file, &third).expect("it is written");
    let path = file.to_str().expect("UTF-8");
    command(&kitbag, &ana, &["toolkit", "deploy", path, "--vouch", reason]).await.succeeded();
    assert_eq!(una.run_wat().await.text(), "done");
    let status = una.consent().await;
    assert_eq!(
        (&status["waiting"], &status["vouched"]),
        (&json!(false), &json!({ "by": "ana", "reason": reason }))
    );
    let page = Visitor::sign_in(&kitbag, "una").await.get("/ui/toolkits/wat").await.assert_status(200);
    page.assert_says("vouches for version 3.0.0: “<bdi>Read by ana &#38; ben.</bdi>”");
    let shown = command(&kitbag, &una, &["toolkit", "show", "wat"]).await.succeeded();
    assert!(shown.contains("ana vouches for 3.0.0: Read by ana & ben."), "{shown}");

    let back = ["toolkit", "rollback", "wat", "--to", "2.0.0"];
    command(&kitbag, &ana, &back).await.succeeded();
    una.run_wat().await.assert_tool_error("network b.example");
    command(&kitbag, &ana, &[&back[..], &["--vouch", reason]].concat()).await.succeeded();
    assert_eq!(una.run_wat().await.text(), "done");

    let review = ana.review(wat("4.0.0", &["d.example"])).await;
    let digest = review["digest"].as_str().expect("a digest");
    let words = ["toolkit", "uploads", "deploy", digest, "--yes", "--vouch", reason];
    command(&kitbag, &ana, &words).await.succeeded();
    assert_eq!(una.run_wat().await.text(), "done");
    // The next version is deployed without vouching.
    ana.deploy(wat("5.0.0", &["d.example"])).await.assert_status(201);
    una.run_wat().await.assert_tool_error("network d.example");

    for wrong in ["", "%20", "a%0Ab", &"x".repeat(301)] {
        let path = format!("/toolkits?vouch={wrong}");
        ana.send(Method::POST, &path, "application/wasm", third.clone()).await.assert_status(400);
    }
    una.send(Method::POST, "/toolkits?vouch=mine", "application/wasm", third.clone())
        .await
        .assert_status(403);
}

#[tokio::test]
async fn the_command_shows_what_is_new_and_agrees() {
    let (kitbag, una) = waiting().await;

    let asked = command(&kitbag, &una, &["toolkit", "agree", "wat"]).await;
    asked.assert_failed("--yes");
    assert!(asked.stdout.contains("+ Network b.example receives its requests"), "{asked:?}");
    assert!(una.waits().await);

    let agreed = command(&kitbag, &una, &["toolkit", "agree", "wat", "--yes"]).await.succeeded();
    assert!(agreed.contains("You have agreed."), "{agreed}");
    assert_eq!(una.run_wat().await.text(), "done");
    let again = command(&kitbag, &una, &["toolkit", "agree", "wat", "-o", "json"]).await.succeeded();
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!((&again["agreed"], &again["status"]["new"]), (&json!(false), &json!([])));
}
