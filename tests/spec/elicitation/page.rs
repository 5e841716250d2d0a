//! Page on which a user sets a secret: its content, accepted values, and refused requests.

use http::{HeaderMap, Method, StatusCode};
use serde_json::json;

use super::{COMMAND, VALUE, assert_page, client, form, is_set, open, start, submit, text, url_elicitation};
use crate::harness::{Provider, Revision, ScriptedProvider, Visitor, ask_raw, guests};

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
    // The five-minute period in which the link stays the same may end between the calls.
    let (again, and_again) = (ana.link().await, ana.link().await);
    assert!(again == link || and_again == again, "while it is good, it is given out again");

    assert_page(&submit(&kitbag, &link, VALUE, &[]).await, StatusCode::OK, "Done");
    ana.set_secret("needy", "API_KEY", "x").await;
    assert_page(&submit(&kitbag, &link, "replayed", &[]).await, StatusCode::NOT_FOUND, "not good any more");
    assert_page(&open(&kitbag, &link, &[]).await, StatusCode::NOT_FOUND, "not good any more");
    assert_eq!(ana.call("needy__need", json!({})).await.text(), "1 bytes: x");
}

#[tokio::test]
async fn a_link_outlives_a_restart_and_is_good_once_all_the_same() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let (unused, used) = (ana.link().await, client(&kitbag, "ben", Revision::Current).await.link().await);
    assert_page(&submit(&kitbag, &used, VALUE, &[]).await, StatusCode::OK, "Done");

    let kitbag = kitbag.stop().await.start().await;

    let moved = |link: &url::Url| kitbag.anonymous().url(&link[url::Position::BeforePath..]);
    assert_page(&open(&kitbag, &moved(&used), &[]).await, StatusCode::NOT_FOUND, "not good any more");
    let replayed = submit(&kitbag, &moved(&used), "replayed", &[]).await;
    assert_page(&replayed, StatusCode::NOT_FOUND, "not good any more");
    assert_page(&submit(&kitbag, &moved(&unused), VALUE, &[]).await, StatusCode::OK, "Done");
    assert!(is_set(&client(&kitbag, "ana", Revision::Current).await).await);
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
    // The link gives no access to other routes.
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
async fn a_toolkit_that_is_taken_over_takes_its_links_with_it() {
    let kitbag = start().await;
    let kitbag = kitbag.stop().await.changed(|settings| settings.operators = "ben".parse().expect("a list"));
    let kitbag = kitbag.start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let link = ana.link().await;
    let opened = open(&kitbag, &link, &[]).await;
    assert_page(&opened, StatusCode::OK, "<bdi>local</bdi>");

    kitbag.as_user("ben").post("/toolkits/needy/take-over", &json!({})).await.assert_status(200);

    assert_page(&submit(&kitbag, &link, VALUE, &[]).await, StatusCode::NOT_FOUND, "not good any more");
    assert_page(&open(&kitbag, &link, &[]).await, StatusCode::NOT_FOUND, "not good any more");
    assert!(!is_set(&ana).await);
    // The next call links to a page that names the new owner.
    let again = ana.link().await;
    assert_ne!(again, link);
    assert_page(&open(&kitbag, &again, &[]).await, StatusCode::OK, "<bdi>ben</bdi>");
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

    // A cross-site request may open the page, but not submit its form.
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
    let ana = signed_in("ana").capable_of(url_elicitation());
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

    // Another user, Eve, opens Ana's link.
    assert_page(&open(&kitbag, &link, &[("cookie", &of_eve)]).await, StatusCode::FORBIDDEN, "another user");
    let sent = submit(&kitbag, &link, VALUE, &[("cookie", &of_eve), ("origin", &own)]).await;
    assert_page(&sent, StatusCode::FORBIDDEN, "another user");
    assert!(!text(&sent).contains("ana") && !is_set().await);

    // A browser without a session, or with one that is invalid for this application.
    for lines in [&[][..], &[("cookie", "__session=x")], &[("cookie", of_sibling.as_str())]] {
        let opened = open(&kitbag, &link, lines).await;
        assert_page(&opened, StatusCode::FORBIDDEN, "Sign in at https://app.example");
        assert!(text(&opened).contains(COMMAND) && !text(&opened).contains("<form"));
        let sent = submit(&kitbag, &link, VALUE, &[lines, &[("origin", &own)]].concat()).await;
        assert_page(&sent, StatusCode::FORBIDDEN, "not signed in");
    }
    assert!(!is_set().await);

    // Ana's browser submits the form from another origin: refused, even for the provider's own application,
    // which may use the cookie elsewhere.
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
async fn with_sign_in_on_the_pages_the_page_takes_their_session_and_nobody_elses() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider.kitbag_with(|settings| settings.operators = "olga".parse().expect("a list")).await;
    let olga = provider.as_user(&kitbag, "olga");
    olga.deploy(guests::NEEDS_SECRET.bytes()).await.assert_status(201);
    let ana = provider.as_user(&kitbag, "ana").capable_of(url_elicitation());
    let link = ana.link().await;
    let path = &link[url::Position::BeforePath..];

    // After sign-in, the browser returns to the page; a form that is submitted without a session is refused,
    // and does not redirect.
    let sent = open(&kitbag, &link, &[]).await.assert_status(303);
    let to =
        sent.header("location").expect("a page").strip_prefix("/ui/signin?to=").expect("sign-in").to_owned();
    let (visitor, state) = Visitor::begin_sign_in(&kitbag, &to).await;
    let arrived = visitor.get(&format!("/ui/signin/callback?{}", provider.response("ana", &state))).await;
    assert_eq!(arrived.assert_status(303).header("location"), Some(path));
    let refused = submit(&kitbag, &link, VALUE, &[]).await;
    assert_page(&refused, StatusCode::FORBIDDEN, "Sign in, and enter the value again");
    assert!(text(&refused).contains("href=\"/ui/signin?to=") && !text(&refused).contains(VALUE));

    let cookie = async |user| provider.sign_in(&kitbag, user).await.cookie().expect("a session").to_owned();
    let (of_ana, of_eve) = (cookie("ana").await, cookie("eve").await);
    assert_page(&open(&kitbag, &link, &[("cookie", &of_eve)]).await, StatusCode::FORBIDDEN, "another user");
    let sent = submit(&kitbag, &link, VALUE, &[("cookie", &of_eve)]).await;
    assert_page(&sent, StatusCode::FORBIDDEN, "another user");
    assert!(!is_set(&ana).await);

    assert_page(&open(&kitbag, &link, &[("cookie", &of_ana)]).await, StatusCode::OK, "API_KEY");
    let done = submit(&kitbag, &link, VALUE, &[("cookie", &of_ana)]).await;
    assert_page(&done, StatusCode::OK, "href=\"/ui/toolkits/needy#secrets\"");
    assert!(is_set(&ana).await);
}
