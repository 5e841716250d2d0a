//! Elicitation in URL mode: a call that went without a secret leads its person to a page, and nobody
//! else.

use std::process::Stdio;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::sleep;
use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::harness::{Answer, Kitbag, Provider, Revision, User, ask_raw, guests, root, within};

const VALUE: &str = "canary-e1icited";
const COMMAND: &str = "kitbag secret set needy API_KEY --from-stdin";

async fn start() -> Kitbag {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    kitbag
}

/// What a client declares that opens links for its person.
fn opens_links() -> Value {
    json!({ "elicitation": { "url": {} } })
}

async fn client(kitbag: &Kitbag, user: &str, revision: Revision) -> User {
    kitbag.as_user(user).capable_of(opens_links()).speaking(revision).await
}

impl User {
    /// Calls a tool without arguments and returns the whole reply.
    async fn try_to(&self, tool: &str) -> Value {
        self.request("tools/call", Some(tool), json!({ "name": tool, "arguments": {} })).await
    }

    /// Repeats the call that led to a link, with what the person has said to it.
    async fn retry(&self, action: &str) -> Value {
        let params = json!({
            "name": "needy__need", "arguments": {}, "inputResponses": { "API_KEY": { "action": action } },
        });
        self.request("tools/call", Some("needy__need"), params).await
    }

    /// The link to the page for `API_KEY` that a call without it leads to.
    async fn link(&self) -> Url {
        link(&questions(&self.try_to("needy__need").await)["API_KEY"])
    }
}

/// What a reply of either revision asks of the person, by secret.
#[track_caller]
fn questions(reply: &Value) -> Value {
    let result = &reply["result"];
    if result["resultType"] == "input_required" {
        let mut questions = result["inputRequests"].clone();
        for (_, question) in questions.as_object_mut().expect("requests") {
            assert_eq!(question["method"], "elicitation/create");
            *question = question["params"].take();
        }
        return questions;
    }
    assert_eq!(reply["error"]["code"], -32042, "{reply}");
    let listed = reply["error"]["data"]["elicitations"].as_array().expect("elicitations");
    let secret = |question: &Value| link(question).path().split('/').nth(4).expect("a name").to_owned();
    listed.iter().map(|question| (secret(question), question.clone())).collect()
}

#[track_caller]
fn link(question: &Value) -> Url {
    assert_eq!(question["mode"], "url", "{question}");
    question["url"].as_str().expect("a link").parse().expect("a URL")
}

fn form(value: &str) -> String {
    format!("value={}", byte_serialize(value.as_bytes()).collect::<String>())
}

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    lines.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("ASCII"))).collect()
}

async fn open(kitbag: &Kitbag, link: &Url, sent: &[(&'static str, &str)]) -> Answer {
    kitbag.anonymous().send(Method::GET, link.as_str(), headers(sent), "").await
}

async fn submit(kitbag: &Kitbag, link: &Url, value: &str, sent: &[(&'static str, &str)]) -> Answer {
    kitbag.anonymous().send(Method::POST, link.as_str(), headers(sent), form(value)).await
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.to_vec()).expect("UTF-8")
}

#[track_caller]
fn assert_page(answer: &Answer, status: StatusCode, words: &str) {
    let html = text(answer);
    assert_eq!(answer.status, status, "{html}");
    assert!(html.contains(words), "no {words:?} in {html}");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("x-frame-options"), Some("DENY"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
    let policies: Vec<_> = answer.headers.get_all("content-security-policy").iter().collect();
    let policy = policies[0].to_str().expect("ASCII");
    assert!(
        policy.starts_with("default-src 'none'") && policy.ends_with("frame-ancestors 'none'"),
        "{policy}"
    );
    assert_eq!(policies[1], "form-action 'self'");
    assert!(!html.to_lowercase().contains("<script"), "{html}");
}

async fn is_set(user: &User) -> bool {
    user.get("/toolkits/needy/secrets").await.json()[0]["set"] == true
}

#[tokio::test]
async fn a_call_leads_to_a_page_and_works_once_the_secret_is_set_there() {
    for revision in Revision::BOTH {
        let kitbag = start().await;
        let ana = client(&kitbag, "ana", revision).await;

        let reply = ana.try_to("needy__need").await;
        let asked = questions(&reply);
        let link = link(&asked["API_KEY"]);
        let page = open(&kitbag, &link, &[]).await;
        let done = submit(&kitbag, &link, VALUE, &[]).await;
        let again = ana.call("needy__need", json!({})).await;

        assert_eq!(asked.as_object().expect("questions").len(), 1, "{reply}");
        assert!(
            asked["API_KEY"]["message"]
                .as_str()
                .is_some_and(|it| it.contains("needs your credential API_KEY"))
        );
        assert!(
            link.as_str()
                .starts_with(&format!("{}toolkits/needy/secrets/API_KEY/page?link=", kitbag.base_url()))
        );
        assert!(!link.as_str().contains("ana"), "{link}");
        assert_page(&page, StatusCode::OK, "<bdi>Needy &lt;Tools&gt;</bdi></strong> (<code>needy</code>)");
        for shown in ["<code>API_KEY</code>", "<bdi>ana</bdi>", "127.0.0.1:18998", "type=\"password\""] {
            assert!(text(&page).contains(shown), "no {shown:?} in {}", text(&page));
        }
        assert_page(&done, StatusCode::OK, "API_KEY is set for the toolkit needy.");
        assert_eq!(again.text(), format!("{} bytes: [redacted]", VALUE.len()), "{revision:?}");
        let said = [reply.to_string(), text(&page), text(&done), again.raw(), kitbag.log().text()].concat();
        assert!(!said.contains(VALUE));
        let id = link.query_pairs().next().expect("an id").1.into_owned();
        let named = asked["API_KEY"]["elicitationId"].as_str().expect("an id");
        assert!(!named.is_empty() && !link.as_str().contains(named), "it is no way to the page: {asked}");
        assert!(id.len() >= 43 && !kitbag.log().text().contains(&id));
    }
}

#[tokio::test]
async fn a_client_that_cannot_open_links_gets_the_envelope() {
    let kitbag = start().await;

    for revision in Revision::BOTH {
        for capabilities in
            [json!({}), json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} } })]
        {
            let ana = kitbag.as_user("ana").capable_of(capabilities).speaking(revision).await;

            let outcome = ana.call("needy__need", json!({})).await;

            outcome.assert_tool_error(&format!("The credential API_KEY is not set. Set it with: {COMMAND}"));
            assert!(!outcome.raw().contains("/page"), "{}", outcome.raw());
        }
    }
}

#[tokio::test]
async fn a_failure_for_another_reason_is_told_as_it_is() {
    let kitbag = start().await;

    for revision in Revision::BOTH {
        let ana = client(&kitbag, "ana", revision).await;

        ana.call("needy__look", json!({})).await.assert_tool_error("There is no book 7, found: false.");
    }
}

#[tokio::test]
async fn credentials_that_the_host_signs_in_with_are_asked_for_one_by_one() {
    let kitbag = start().await;

    for revision in Revision::BOTH {
        let ana = client(&kitbag, "ana", revision).await;

        let asked = questions(&ana.try_to("needy__sign_in").await);

        let names: Vec<_> = asked.as_object().expect("questions").keys().collect();
        assert_eq!(names, ["CLIENT_ID", "CLIENT_SECRET"], "{asked}");
        assert_page(&open(&kitbag, &link(&asked["CLIENT_ID"]), &[]).await, StatusCode::OK, "CLIENT_ID");
        assert_ne!(link(&asked["CLIENT_ID"]).query(), link(&asked["CLIENT_SECRET"]).query());
    }
}

#[tokio::test]
async fn a_call_whose_person_has_opened_the_page_waits_for_it() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let link = ana.link().await;

    let waiting = tokio::spawn({
        let ana = ana.clone();
        async move { ana.retry("accept").await }
    });
    sleep(Duration::from_millis(500)).await;
    assert!(!waiting.is_finished());
    submit(&kitbag, &link, VALUE, &[]).await.assert_status(200);
    let reply = within("the call", waiting).await.expect("no panic");

    assert_eq!(reply["result"]["isError"], false, "{reply}");
    // Nothing is left to wait for.
    let set = within("the call", ana.retry("accept")).await;
    assert_eq!(set["result"]["isError"], false, "{set}");
}

#[tokio::test]
async fn a_person_who_declines_is_not_asked_again() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    ana.link().await;

    for action in ["decline", "cancel"] {
        let reply = ana.retry(action).await;

        assert_eq!(reply["result"]["isError"], true, "{action}: {reply}");
        assert!(reply.to_string().contains(COMMAND), "{action}: {reply}");
    }
}

#[tokio::test]
async fn opening_the_page_sets_nothing_and_a_link_is_good_once() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let link = ana.link().await;

    for _ in 0..2 {
        let opened = open(&kitbag, &format!("{link}&value={VALUE}").parse().expect("a URL"), &[]).await;
        assert_page(&opened, StatusCode::OK, "Set a credential");
        assert!(!text(&opened).contains(VALUE));
    }
    assert!(!is_set(&ana).await);
    assert_eq!(ana.link().await, link, "while it is good, it is given out again");

    assert_page(&submit(&kitbag, &link, VALUE, &[]).await, StatusCode::OK, "Done");
    ana.set_secret("needy", "API_KEY", "x").await;
    assert_page(&submit(&kitbag, &link, "replayed", &[]).await, StatusCode::NOT_FOUND, "not good any more");
    assert_page(&open(&kitbag, &link, &[]).await, StatusCode::NOT_FOUND, "not good any more");
    assert_eq!(ana.call("needy__need", json!({})).await.text(), "1 bytes: x");
}

#[tokio::test]
async fn a_link_is_for_one_secret_of_one_toolkit() {
    let kitbag = start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let link = ana.link().await;
    let id = link.query().expect("an id");

    for other in [
        format!("/toolkits/needy/secrets/EXTRA_KEY/page?{id}"),
        format!("/toolkits/probe/secrets/API_KEY/page?{id}"),
        "/toolkits/needy/secrets/API_KEY/page?link=guess".to_owned(),
        "/toolkits/needy/secrets/API_KEY/page?link=".to_owned(),
        "/toolkits/needy/secrets/API_KEY/page".to_owned(),
        format!("/toolkits/needy/secrets/API_KEY/page?{id}&{id}"),
    ] {
        let other = kitbag.anonymous().url(&other);

        assert_page(&open(&kitbag, &other, &[]).await, StatusCode::NOT_FOUND, "not good any more");
        assert_page(&submit(&kitbag, &other, VALUE, &[]).await, StatusCode::NOT_FOUND, "not good any more");
    }

    assert_page(&open(&kitbag, &link, &[]).await, StatusCode::OK, "API_KEY");
    for listed in ana.get("/toolkits/needy/secrets").await.json().as_array().expect("a list") {
        assert_eq!(listed["set"], false, "{listed}");
    }
    // It opens nothing else.
    kitbag.anonymous().get(&format!("/toolkits/needy/secrets?{id}")).await.assert_status(401);
}

#[tokio::test]
async fn a_removed_toolkit_takes_its_links_with_it() {
    let kitbag = start().await;
    let link = client(&kitbag, "ana", Revision::Current).await.link().await;

    kitbag.as_operator().delete("/toolkits/needy").await.assert_status(204);

    assert_page(&open(&kitbag, &link, &[]).await, StatusCode::NOT_FOUND, "not good any more");
    assert_page(&submit(&kitbag, &link, VALUE, &[]).await, StatusCode::NOT_FOUND, "not good any more");
}

#[tokio::test]
async fn no_other_page_can_show_the_form_or_send_it() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let link = ana.link().await;
    let own = kitbag.base_url().origin().ascii_serialization();

    for sent in [
        &[("origin", "https://evil.example")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", &own)],
        &[("sec-fetch-site", "none")],
    ] {
        let refused = submit(&kitbag, &link, VALUE, sent).await;
        assert_page(&refused, StatusCode::FORBIDDEN, "Another page has tried");
    }
    for destination in ["iframe", "frame", "embed", "object", "empty", "script"] {
        let refused = open(&kitbag, &link, &[("sec-fetch-dest", destination)]).await;
        assert_page(&refused, StatusCode::FORBIDDEN, "Another page has tried");
    }
    let target = &link[url::Position::BeforePath..];
    let form = form(VALUE);
    for head in [format!("GET {target}"), format!("POST {target}")] {
        let length = form.len();
        let request = format!(
            "{head} HTTP/1.1\r\nhost: evil.example\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{form}"
        );
        let answer = ask_raw(kitbag.base_url(), &request).await;
        assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
    }
    assert!(!is_set(&ana).await);

    // From another site leads a link, and nothing but a link.
    let arrived = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")];
    assert_page(&open(&kitbag, &link, &arrived).await, StatusCode::OK, "API_KEY");
    let sent = [("sec-fetch-site", "same-origin"), ("origin", own.as_str())];
    assert_page(&submit(&kitbag, &link, VALUE, &sent).await, StatusCode::OK, "Done");
}

#[tokio::test]
async fn a_value_that_cannot_be_one_leaves_the_link_good() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let link = ana.link().await;
    let long = "x".repeat(9000);
    let too_long = "x".repeat(30_000);

    for (value, words) in [("", "empty"), (long.as_str(), "longer than 8192 bytes"), (&too_long, "too long")]
    {
        let refused = submit(&kitbag, &link, value, &[]).await;
        assert_page(&refused, StatusCode::UNPROCESSABLE_ENTITY, words);
        assert!(text(&refused).contains("<form"), "it can be sent again");
    }
    let http = kitbag.anonymous();
    let no_text = http.send(Method::POST, link.as_str(), HeaderMap::new(), "value=%FF%FE").await;
    assert_page(&no_text, StatusCode::UNPROCESSABLE_ENTITY, "UTF-8");
    assert!(!is_set(&ana).await);

    assert_page(&submit(&kitbag, &link, " a+b&é ", &[]).await, StatusCode::OK, "Done");
    let short =
        submit(&kitbag, &client(&kitbag, "ben", Revision::Current).await.link().await, "xy", &[]).await;
    assert_page(&short, StatusCode::OK, "too short to be taken out");
    assert_eq!(ana.call("needy__need", json!({})).await.text(), "8 bytes: [redacted]");
}

#[tokio::test]
async fn with_a_provider_the_page_is_for_the_user_whose_call_it_was() {
    let provider = Provider::start().await;
    let kitbag = provider
        .kitbag_with(|settings| {
            settings.operators = "olga".parse().expect("a list");
            settings.allowed_origins = "https://app.example".parse().expect("a list");
        })
        .await;
    let signed_in =
        |user: &str| kitbag.with_token(&provider.sign("at+jwt", &provider.access_claims(&kitbag, user)));
    signed_in("olga").deploy(guests::NEEDS_SECRET.bytes()).await.assert_status(201);
    let ana = signed_in("ana").capable_of(opens_links());
    let link = ana.link().await;
    let cookie = |user: &str, typ: &str| {
        format!("__session={}", provider.sign(typ, &provider.session_claims(&kitbag, user)))
    };
    let (of_ana, of_eve) = (cookie("ana", "JWT"), cookie("eve", "JWT"));
    let mut other_application = provider.session_claims(&kitbag, "ana");
    other_application["azp"] = "https://sibling.example".into();
    let of_sibling = format!("__session={}", provider.sign("JWT", &other_application));
    let own = kitbag.base_url().origin().ascii_serialization();
    let is_set = || is_set(&ana);

    // Eve's browser, which she was sent the link to, or which she sent it to.
    assert_page(&open(&kitbag, &link, &[("cookie", &of_eve)]).await, StatusCode::FORBIDDEN, "another user");
    let sent = submit(&kitbag, &link, VALUE, &[("cookie", &of_eve), ("origin", &own)]).await;
    assert_page(&sent, StatusCode::FORBIDDEN, "another user");
    assert!(!text(&sent).contains("ana") && !is_set().await);

    // Nobody's, or one that cannot be told.
    for lines in [&[][..], &[("cookie", "__session=x")], &[("cookie", of_sibling.as_str())]] {
        let opened = open(&kitbag, &link, lines).await;
        assert_page(&opened, StatusCode::FORBIDDEN, "Sign in at https://app.example");
        assert!(text(&opened).contains(COMMAND) && !text(&opened).contains("<form"));
        let sent = submit(&kitbag, &link, VALUE, &[lines, &[("origin", &own)]].concat()).await;
        assert_page(&sent, StatusCode::FORBIDDEN, "not signed in");
    }
    assert!(!is_set().await);

    // Hers, but another page's doing: the provider's own application may use the cookie, not this page.
    for origin in ["https://app.example", "https://evil.example", "null"] {
        let sent = submit(&kitbag, &link, VALUE, &[("cookie", &of_ana), ("origin", origin)]).await;
        assert_page(&sent, StatusCode::FORBIDDEN, "Another page has tried");
    }
    assert!(!is_set().await);

    let opened = open(&kitbag, &link, &[("cookie", &of_ana), ("sec-fetch-site", "cross-site")]).await;
    assert_page(&opened, StatusCode::OK, "<bdi>ana</bdi>");
    let browser = [("cookie", of_ana.as_str()), ("origin", &own), ("sec-fetch-site", "same-origin")];
    assert_page(&submit(&kitbag, &link, VALUE, &browser).await, StatusCode::OK, "Done");
    assert!(is_set().await);
    assert!(![VALUE, link.query().expect("an id")].iter().any(|secret| kitbag.log().text().contains(secret)));
}

#[tokio::test]
async fn real_clients_of_both_revisions_lead_their_person_to_the_page() {
    let kitbag = start().await;

    for (era, user) in [("current", "ana"), ("older", "ben")] {
        let token =
            kitbag.as_user(user).headers()["authorization"].to_str().expect("ASCII").replace("Bearer ", "");
        let mut command = Command::new("node");
        command
            .current_dir(root().join("clients"))
            .args(["elicit.mjs", era, kitbag.anonymous().url("/mcp").as_str(), "needy__need"])
            .env("KITBAG_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut client = command.spawn().expect("node can be started");
        let mut lines = BufReader::new(client.stdout.take().expect("it is piped")).lines();
        let mut said = async || -> Value {
            let line = within("the client's word", lines.next_line()).await.expect("text");
            serde_json::from_str(&line.expect("the client goes on")).expect("JSON")
        };

        let asked = said().await;
        let link: Url = asked["link"].as_str().expect("a link").parse().expect("a URL");
        assert_page(&submit(&kitbag, &link, VALUE, &[]).await, StatusCode::OK, "Done");
        client.stdin.take().expect("it is piped").write_all(b"done\n").await.ok();
        let last = said().await;
        let reply = &last["reply"];

        let expected = format!("{} bytes: [redacted]", VALUE.len());
        assert_eq!(reply["content"][0]["text"], expected, "{era}: {last}");
    }
}
