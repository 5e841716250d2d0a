//! Page for trying out a tool.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::harness::{Kitbag, Raw, Visitor, Wat, guests, wat::Visibility};

async fn with_replies() -> (Kitbag, Visitor) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::REPLIES).await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    (kitbag, ana)
}

fn page_of(tool: &str) -> String {
    format!("/ui/toolkits/replies/tools/{tool}")
}

#[tokio::test]
async fn a_form_calls_the_tool_and_the_page_shows_its_reply() {
    let (kitbag, ana) = with_replies().await;

    let toolkit = ana.get("/ui/toolkits/replies").await.assert_status(200);
    assert!(toolkit.text().contains("href=\"/ui/toolkits/replies/tools/echo\""), "{}", toolkit.text());
    let form = ana.get(&page_of("echo")).await.assert_status(200);
    for field in [
        "name=\"/text\"",
        "name=\"/count\"",
        "min=\"1\" max=\"5\"",
        "name=\"/tags\"",
        "<summary>JSON; its schema",
    ] {
        assert!(form.text().contains(field), "no {field}: {}", form.text());
    }
    assert!(form.text().contains("Run: may change things"), "the tool does not say that it only reads");
    let fields = [("/text", "a<b>&"), ("/count", ""), ("/tags", "[\"one\",\r\n\"two\"]")];
    let page = ana.post(&page_of("echo"), &fields).await.assert_status(200);

    assert!(page.text().contains("a&#60;b&#62;&#38; one,two</pre>"), "{}", page.text());
    assert!(page.text().contains("name=\"/text\" value=\"a&#60;b&#62;&#38;\""), "what was typed is kept");
    assert!(page.text().contains("href=\"/ui/toolkits/replies/log?tool=echo\""));
    assert!(page.text().contains("kitbag tool call replies echo"), "{}", page.text());
    let rated = ana.post(&page_of("rate"), &[("/stars", "5")]).await.assert_status(200);
    assert!(rated.text().contains("Structured value") && rated.text().contains("&#34;stars&#34;: 5"));
    assert_eq!(kitbag.as_user("ana").logged("replies__rate").await["outcome"], "succeeded");
}

#[tokio::test]
async fn what_is_wrong_stands_beside_its_field() {
    let (kitbag, ana) = with_replies().await;

    let unsent = ana.post(&page_of("rate"), &[("/stars", "many")]).await.assert_status(422);
    assert!(unsent.text().contains("This must be a whole number"), "{}", unsent.text());
    assert!(unsent.text().contains("value=\"many\"") && unsent.text().contains("aria-invalid=\"true\""));
    let refused = ana.post(&page_of("echo"), &[("/text", "x"), ("/count", "9")]).await.assert_status(200);
    let beside = "<strong class=\"problem\">value is greater than the maximum of 5</strong>";
    assert!(refused.text().contains(beside), "{}", refused.text());
    assert!(refused.text().contains("The arguments do not fit the tool."));

    let outcomes: Vec<_> =
        kitbag.as_user("ana").logs("replies").await.iter().map(|it| it["tool"].clone()).collect();
    assert_eq!(outcomes, [json!("echo")], "what could not be sent was not");
}

#[tokio::test]
async fn all_arguments_can_be_edited_as_json() {
    let (_kitbag, ana) = with_replies().await;
    let echo = page_of("echo");

    let fields = [("/text", "x"), ("/tags", "[\"a\", \"b\"]"), ("then", "json")];
    let json = ana.post(&echo, &fields).await.assert_status(200);
    assert!(json.text().contains("<textarea id=\"json\"") && json.text().contains("&#34;tags&#34;: ["));
    assert!(!json.text().contains("id=\"answer-title\""), "nothing was called");
    let answer = ana.post(&echo, &[("json", r#"{"text": "y", "surplus": [1]}"#)]).await.assert_status(200);
    assert!(answer.text().contains("<pre tabindex=\"0\">y</pre>"), "{}", answer.text());
    for (wrong, why) in [("[]", "must be a JSON object"), ("{", "not JSON at line 1")] {
        let page = ana.post(&echo, &[("json", wrong)]).await.assert_status(422);
        assert!(page.text().contains(why) && page.text().contains(&format!("\n{wrong}</textarea>")));
    }
    assert!(ana.get(&format!("{echo}?as=json")).await.text().contains("<textarea id=\"json\""));
}

#[tokio::test]
async fn nested_json_does_not_make_a_page_large() {
    let kitbag = Kitbag::start().await;
    let nested = |values: usize| format!("{}0{}{}", "[".repeat(100), ",0".repeat(values), "]".repeat(100));
    let structured = format!(r#"{{"a":{}}}"#, nested(10_000));
    let wat = Wat {
        input: Some(r#"{"type":"object","properties":{"any":{}}}"#),
        output: Some(r#"{"type":"object"}"#),
        structured: Some(&structured),
        ..Wat::default()
    };
    kitbag.as_operator().deploy(wat.component()).await.assert_status(201);
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let run = "/ui/toolkits/wat/tools/run";

    let form = ana.get(run).await.assert_status(200);
    assert!(
        form.text().contains("<code>kitbag tool call wat run @FILE</code> takes more"),
        "{}",
        form.text()
    );
    let edited = ana.post(run, &[("/any", &nested(20_000)), ("then", "json")]).await.assert_status(200);
    assert!(edited.text().contains("<textarea id=\"json\"") && edited.text().contains("[[[["));
    assert!(edited.text().len() < 100_000, "{} bytes", edited.text().len());
    let many = ana.post(run, &[("/any", &nested(60_000)), ("then", "json")]).await.assert_status(422);
    assert!(many.text().contains("more than 50000 values"));
    let answer = ana.post(run, &[]).await.assert_status(200);
    assert!(answer.text().contains("The rest is not shown; the command with <code>--json</code>"));
    assert!(answer.text().len() < 300_000, "{} bytes", answer.text().len());
}

#[tokio::test]
async fn errors_are_in_words_and_missing_secrets_lead_to_their_fields() {
    let (_kitbag, ana) = with_replies().await;

    let before = ana.get(&page_of("secret")).await.assert_status(200);
    assert!(
        before.text().contains("Not set yet: <a href=\"/ui/toolkits/replies#secrets\"><code>API_KEY</code>")
    );
    let missing = ana.post(&page_of("secret"), &[]).await.assert_status(200);
    assert!(missing.text().contains("Set <code>API_KEY</code>"), "{}", missing.text());
    let closed = ana.post(&page_of("fail"), &[("/how", "\"retryable\"")]).await.assert_status(200);
    assert!(closed.text().contains("The library is closed") && closed.text().contains("may succeed later"));
    let unknown = ana.post(&page_of("fail"), &[("/how", "\"other\"")]).await.assert_status(422);
    assert!(unknown.text().contains("This is not one of the choices."), "{}", unknown.text());
}

#[tokio::test]
async fn raster_images_are_shown_here_and_nothing_else_is() {
    let (kitbag, ana) = with_replies().await;
    kitbag.deploy(guests::CONFORMANCE).await;
    let policy =
        |page: &crate::harness::Answer| page.header("content-security-policy").expect("one").to_owned();

    let image = ana.post("/ui/toolkits/conformance/tools/test_image_content", &[]).await.assert_status(200);
    assert!(image.text().contains("src=\"data:image/png;base64,iVBOR"), "{}", image.text());
    assert!(policy(&image).ends_with("img-src 'self' data:"), "{}", policy(&image));
    let no_image = ana.post(&page_of("content"), &[]).await.assert_status(200);
    assert!(!no_image.text().contains("src=\"data:"), "its bytes are no PNG");
    assert!(no_image.text().contains("image/png, 4 B") && no_image.text().contains("data:week"));
    let sound = ana.post("/ui/toolkits/conformance/tools/test_audio_content", &[]).await.assert_status(200);
    assert!(sound.text().contains("audio/wav, ") && !sound.text().contains("src=\"data:"));
    let directory = ana.get("/ui/").await;
    assert!(policy(&directory).ends_with("img-src 'self'"), "{}", policy(&directory));
}

#[tokio::test]
async fn what_a_hostile_toolkit_declares_and_returns_stays_text() {
    let kitbag = Kitbag::start().await;
    let schema = r#"{"type":"object","properties":{"\"><script>alert(1)</script>":{"title":"</label><script>",
        "description":"\u202e</p><script>","enum":["</option><script>"],"type":"string"}}}"#;
    let wat = Wat {
        description: "</p><script>alert(1)</script>\u{202e}",
        input: Some(schema),
        output: Some(r#"{"type":"object"}"#),
        structured: Some(r#"{"a":"</pre><script>\u202e"}"#),
        ..Wat::default()
    };
    kitbag.as_operator().deploy(wat.component()).await.assert_status(201);
    let ana = Visitor::sign_in(&kitbag, "ana").await;

    let choice = [("/\"><script>alert(1)<~1script>", "\"</option><script>\"")];
    let page = ana.post("/ui/toolkits/wat/tools/run", &choice).await.assert_status(200);

    assert!(page.text().contains("The tool has answered."), "{}", page.text());
    let scripts: Vec<_> =
        page.text().match_indices("<script").map(|(at, _)| page.text()[at..].to_owned()).collect();
    assert!(scripts.iter().all(|script| script.starts_with("<script type=\"module\" src=\"/ui/assets/")));
    assert_eq!(scripts.len(), 1);
    assert!(!page.text().contains('\u{202e}') && page.text().contains("u202e"));
}

#[tokio::test]
async fn others_private_tools_are_not_there_and_other_pages_call_nothing() {
    let kitbag = Kitbag::start_with(|settings| settings.operators = "ana,ben".parse().expect("a list")).await;
    let wat = Wat { visibility: Visibility::Private, ..Wat::default() };
    kitbag.as_user("ana").deploy(wat.component()).await.assert_status(201);
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);
    let run = "/ui/toolkits/wat/tools/run";

    ben.get(run).await.assert_status(404);
    ben.post(run, &[]).await.assert_status(404);
    ana.get("/ui/toolkits/wat/tools/other").await.assert_status(404);
    ana.post("/ui/toolkits/wat/tools/other", &[]).await.assert_status(404);
    for headers in
        [[("sec-fetch-site", "cross-site")], [("sec-fetch-site", "same-site")], [("origin", "null")]]
    {
        ana.sending(&headers).post(run, &[]).await.assert_status(403);
    }
    Visitor::new(&kitbag).post(run, &[("/a", "x")]).await.assert_status(401);
    assert!(kitbag.as_user("ana").logs("wat").await.is_empty(), "nobody has called it");

    let page = ana.post(run, &[]).await.assert_status(200);
    assert!(page.text().contains("done</pre>"), "{}", page.text());
}

#[tokio::test]
async fn a_user_who_calls_too_often_keeps_what_was_typed() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.mcp_requests_per_minute = 1.try_into().expect("not zero");
    })
    .await;
    kitbag.deploy(guests::REPLIES).await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    kitbag.as_user("ana").tools().await;

    let refused = ana.post(&page_of("echo"), &[("/text", "long thought")]).await.assert_status(429);

    assert!(
        refused.text().contains("Too many requests") && refused.text().contains("value=\"long thought\"")
    );
    assert!(kitbag.as_operator().logs("replies").await.is_empty(), "nothing was called");
}

#[tokio::test]
async fn closing_the_request_ends_the_call() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let head = format!(
        "POST /ui/toolkits/hostile/tools/sleep_poll HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\
         Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n\r\n",
        kitbag.base_url().authority(),
        ana.cookie().expect("a session"),
    );
    let user = kitbag.as_user("ana");

    // On a busy machine, the request may need longer to arrive.
    for wait_ms in [100, 1000, 10_000] {
        let mut connection = Raw::connect(&kitbag).await;
        connection.write(&head).await;
        sleep(Duration::from_millis(wait_ms)).await;
        assert!(!connection.is_closed().await, "the call runs");
        drop(connection);
        sleep(Duration::from_millis(wait_ms)).await;

        if let Some(record) = user.logs("hostile").await.first() {
            assert_eq!(record["outcome"], "cancelled", "{record}");
            return;
        }
    }
    panic!("the call goes on");
}
