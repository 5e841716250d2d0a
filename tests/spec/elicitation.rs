//! URL-mode elicitation: a call with a missing secret links to a page where only its user can set it.

mod page;

use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;
use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::harness::{Answer, Kitbag, Revision, TalkingClient, User, guests, within};

const VALUE: &str = "canary-e1icited";
const COMMAND: &str = "kitbag secret set needy API_KEY --from-stdin";

async fn start() -> Kitbag {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    kitbag
}

/// Capabilities of a client that supports elicitation in URL mode.
fn url_elicitation() -> Value {
    json!({ "elicitation": { "url": {} } })
}

pub(crate) async fn client(kitbag: &Kitbag, user: &str, revision: Revision) -> User {
    kitbag.as_user(user).capable_of(url_elicitation()).speaking(revision).await
}

impl User {
    /// Calls a tool without arguments and returns the whole JSON-RPC reply.
    async fn try_to(&self, tool: &str) -> Value {
        self.request("tools/call", Some(tool), json!({ "name": tool, "arguments": {} })).await
    }

    /// Repeats the call that led to a link, with the user's response to the elicitation.
    async fn retry(&self, action: &str) -> Value {
        let params = json!({
            "name": "needy__need", "arguments": {}, "inputResponses": { "API_KEY": { "action": action } },
        });
        self.request("tools/call", Some("needy__need"), params).await
    }

    /// Makes a call with `API_KEY` missing and returns the link to the page where it can be set.
    pub(crate) async fn link(&self) -> Url {
        link(&questions(&self.try_to("needy__need").await)["API_KEY"])
    }
}

/// Returns the elicitations in a reply, keyed by secret name. Accepts both protocol revisions.
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

pub(crate) async fn open(kitbag: &Kitbag, link: &Url, sent: &[(&'static str, &str)]) -> Answer {
    kitbag.anonymous().send(Method::GET, link.as_str(), headers(sent), "").await
}

/// Submits the form of the page with its hidden field `reach`: the toolkit's reach as the page showed it.
async fn submit(kitbag: &Kitbag, link: &Url, value: &str, sent: &[(&'static str, &str)]) -> Answer {
    let cookies: Vec<_> = sent.iter().filter(|(name, _)| *name == "cookie").copied().collect();
    let page = text(&open(kitbag, link, &cookies).await);
    let reach = page.split("name=\"reach\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let form = format!("reach={}&{}", reach.unwrap_or_default(), form(value));
    kitbag.anonymous().send(Method::POST, link.as_str(), headers(sent), form).await
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
        assert_page(&page, StatusCode::OK, "<bdi>Needy &#60;Tools&#62;</bdi></strong> (<code>needy</code>)");
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
    // Once the secret is set, a call does not wait.
    let set = within("the call", ana.retry("accept")).await;
    assert_eq!(set["result"]["isError"], false, "{set}");
}

#[tokio::test]
async fn few_calls_of_one_user_wait_for_a_page_and_the_others_ask_again_at_once() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let waiting: Vec<_> = (0..16)
        .map(|_| {
            let ana = ana.clone();
            tokio::spawn(async move { ana.retry("accept").await })
        })
        .collect();
    sleep(Duration::from_secs(2)).await;

    let begun = std::time::Instant::now();
    let one_more = ana.retry("accept").await;

    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(one_more["result"]["resultType"], "input_required", "{one_more}");
    assert!(waiting.iter().all(|call| !call.is_finished()), "the others wait");
    let ben = client(&kitbag, "ben", Revision::Current).await;
    let of_another_user = tokio::spawn(async move { ben.retry("accept").await });
    sleep(Duration::from_secs(2)).await;
    assert!(!of_another_user.is_finished(), "so does a call of another user");
    ana.set_secret("needy", "API_KEY", VALUE).await;
    for call in waiting {
        within("the call", call).await.expect("no panic");
    }
    of_another_user.abort();
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
        let page = format!("{}ui/toolkits/needy#secrets", kitbag.base_url());
        assert!(reply.to_string().contains(&page), "{action}: {reply}");
    }
}

#[tokio::test]
async fn real_clients_of_both_revisions_lead_their_person_to_the_page() {
    let kitbag = start().await;

    for (era, user) in [("current", "ana"), ("older", "ben")] {
        let mut client = TalkingClient::start(&kitbag, user, "elicit.mjs", era, "needy__need");

        let asked = client.said().await;
        let link: Url = asked["link"].as_str().expect("a link").parse().expect("a URL");
        assert_page(&submit(&kitbag, &link, VALUE, &[]).await, StatusCode::OK, "Done");
        client.tell("done").await;
        // On a busy machine, the call may return the link once more before the value is visible.
        let last = loop {
            let said = client.said().await;
            if said["link"].is_null() {
                break said;
            }
        };
        let reply = &last["reply"];

        let expected = format!("{} bytes: [redacted]", VALUE.len());
        assert_eq!(reply["content"][0]["text"], expected, "{era}: {last}");
    }
}
