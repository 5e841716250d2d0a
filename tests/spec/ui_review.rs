//! Pages for operators: upload, review and deploy of a version.

use serde_json::json;

use crate::harness::{Kitbag, Visitor, Wat, guests};

/// Starts a server with two operators, `ana` and `ben`.
pub(crate) async fn server() -> Kitbag {
    Kitbag::start_with(|settings| settings.operators = "ana,ben".parse().expect("a list")).await
}

pub(crate) fn wat(version: &str) -> Wat<'_> {
    Wat { version, secrets: &["KEY"], ..Wat::default() }
}

#[tokio::test]
async fn an_upload_is_reviewed_and_then_deployed() {
    let kitbag = server().await;
    kitbag.as_user("ana").deploy(wat("1.0.0").component()).await.assert_status(201);
    kitbag.as_user("una").set_secret("wat", "KEY", "a-secret-of-una").await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let next = Wat { description: "Runs <b>anything</b>.", egress: &["b.example"], ..wat("1.1.0") };

    let path = ana.upload_component(&next.component()).await;

    let page = ana.get(&path).await.assert_status(200);
    page.assert_says("<code>b.example</code> <span class=\"tag warn\">new</span>");
    page.assert_says("1 user has set it; this version could read it");
    page.assert_says("Runs &#60;b&#62;anything&#60;/b&#62;.</ins>");
    assert_eq!(page.hidden("live-version"), "1.0.0");
    ana.get("/ui/operate").await.assert_says(&path);
    let digest = page.hidden("live-digest");
    let manifest = page.hidden("manifest-digest");
    let reviewed =
        [("manifest-digest", manifest.as_str()), ("live-version", "1.0.0"), ("live-digest", digest.as_str())];
    let unread = ana.post(&format!("{path}/deploy"), &reviewed).await.assert_status(422);
    unread.assert_says("confirm that you have read");
    assert_eq!(kitbag.as_user("ana").get("/toolkits/wat").await.json()["liveVersion"], "1.0.0");

    let fields = [&reviewed[..], &[("read", "1")]].concat();
    let deployed = ana.post(&format!("{path}/deploy"), &fields).await;

    let versions = "/ui/toolkits/wat/versions?done=deployed";
    assert_eq!(deployed.assert_status(303).header("location"), Some(versions));
    ana.get(versions).await.assert_status(200).assert_says("The version is live.");
    assert_eq!(kitbag.as_user("ana").get("/toolkits/wat").await.json()["liveVersion"], "1.1.0");
    ana.get(&path).await.assert_status(404);
}

#[tokio::test]
async fn a_review_that_is_out_of_date_is_shown_anew() {
    let kitbag = server().await;
    let operator = kitbag.as_user("ana");
    operator.deploy(wat("1.0.0").component()).await.assert_status(201);
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let path = ana.upload_component(&wat("1.2.0").component()).await;
    let page = ana.get(&path).await;
    let [manifest, digest] = ["manifest-digest", "live-digest"].map(|name| page.hidden(name));
    operator.deploy(wat("1.1.0").component()).await.assert_status(201);

    let fields = [
        ("manifest-digest", manifest.as_str()),
        ("live-version", "1.0.0"),
        ("live-digest", digest.as_str()),
        ("read", "1"),
    ];
    let stale = ana.post(&format!("{path}/deploy"), &fields).await.assert_status(409);

    stale.assert_says("1.1.0 of wat went live");
    assert_eq!(stale.hidden("live-version"), "1.1.0");
    assert_eq!(operator.get("/toolkits/wat").await.json()["liveVersion"], "1.1.0");
    let discarded = ana.post(&format!("{path}/discard"), &[]).await.assert_status(303);
    assert_eq!(discarded.header("location"), Some("/ui/operate?done=discarded"));
    assert_eq!(operator.get("/uploads").await.json(), serde_json::json!([]));
}

#[tokio::test]
async fn a_form_deploys_no_declaration_that_its_page_did_not_show() {
    let kitbag = server().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let path = ana.upload_component(&Wat { egress: &["a.example"], ..wat("1.0.0") }.component()).await;
    let manifest = ana.get(&path).await.hidden("manifest-digest");

    // Simulates another upload of the same bytes: `describe` may return a different manifest each time.
    let stopped = kitbag.stop().await;
    stopped.alter("UPDATE toolkit_uploads SET manifest = replace(manifest, 'a.example', 'b.example')").await;
    let kitbag = stopped.start().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let deploy = format!("{path}/deploy");
    let fields = [("manifest-digest", manifest.as_str()), ("read", "1")];
    let stale = ana.post(&deploy, &fields).await.assert_status(409);

    stale.assert_says("describes itself differently");
    stale.assert_says("<code>b.example</code>");
    ana.post(&deploy, &[("read", "1")]).await.assert_status(409);
    kitbag.as_user("ana").get("/toolkits/wat").await.assert_status(404);

    let manifest = stale.hidden("manifest-digest");
    let fields = [("manifest-digest", manifest.as_str()), ("read", "1")];
    ana.post(&deploy, &fields).await.assert_status(303);
    assert_eq!(kitbag.as_user("ana").get("/toolkits/wat").await.json()["liveVersion"], "1.0.0");
}

#[tokio::test]
async fn a_refused_upload_says_all_that_is_wrong_with_it() {
    let kitbag = server().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let path = "/ui/operate/uploads";

    let refused = ana.post_file(path, "component", &guests::TEN_MISTAKES.bytes()).await.assert_status(422);

    for at in ["tools[0].name", "egress[0]", "auth.apiHost"] {
        refused.assert_says(&format!("<code>{at}"));
    }
    ana.post_file(path, "component", b"").await.assert_status(422).assert_says("not a valid WebAssembly");
    ana.post(path, &[("component", "x")]).await.assert_status(400);
    assert_eq!(kitbag.as_user("ana").get("/uploads").await.json(), serde_json::json!([]));
    assert_eq!(kitbag.files("components"), [""; 0]);
}

#[tokio::test]
async fn an_upload_may_be_no_larger_as_a_form_either() {
    let kitbag =
        Kitbag::start_with(|settings| settings.component_size = "64KiB".parse().expect("a size")).await;
    let operator = Visitor::sign_in(&kitbag, "local").await;

    let answer = operator.post_file("/ui/operate/uploads", "component", &vec![0; 1 << 20]).await;

    answer.assert_status(413).assert_says("larger than 65536 bytes");
}

#[tokio::test]
async fn nobody_but_operators_reaches_the_pages_of_operators() {
    let kitbag = server().await;
    kitbag.as_user("ana").deploy(wat("1.0.0").component()).await.assert_status(201);
    let (ana, una) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "una").await);
    let review = ana.upload_component(&wat("1.1.0").component()).await;

    for path in ["/ui/operate", &review, "/ui/toolkits/wat/versions", "/ui/toolkits/wat/versions?from=1&to=2"]
    {
        una.get(path).await.assert_status(403).assert_says("operators");
    }
    una.post_file("/ui/operate/uploads", "component", &wat("1.2.0").component()).await.assert_status(403);
    for path in ["deploy", "discard"] {
        una.post(&format!("{review}/{path}"), &[("read", "1")]).await.assert_status(403);
    }
    for path in ["rollback", "remove", "release", "take-over"] {
        let path = format!("/ui/toolkits/wat/versions/{path}");
        una.post(&path, &[("confirm", "wat"), ("read", "1")]).await.assert_status(403);
    }
    let other = ana.sending(&[("sec-fetch-site", "cross-site")]);
    other.post(&format!("{review}/deploy"), &[("read", "1")]).await.assert_status(403);
    let nobody = Visitor::new(&kitbag);
    let late = nobody.post_file("/ui/operate/uploads", "component", &wat("1.2.0").component()).await;
    late.assert_status(401).assert_says("Your session has ended");
    assert!(!una.get("/ui/").await.text().contains("/ui/operate"));
    assert!(ana.get("/ui/").await.text().contains("/ui/operate"));
    assert_eq!(kitbag.as_user("ana").get("/toolkits/wat").await.json()["liveVersion"], "1.0.0");
}

#[tokio::test]
async fn operators_see_which_toolkits_fail_and_nothing_of_the_calls() {
    let kitbag = server().await;
    for guest in [guests::HOSTILE, guests::HINTS] {
        kitbag.as_user("ana").deploy(guest.bytes()).await.assert_status(201);
    }
    let (ana, una) = (Visitor::sign_in(&kitbag, "ana").await, kitbag.as_user("una"));
    ana.get("/ui/operate").await.assert_says("No call has failed.");
    una.call("hints__plain", json!({})).await.text();
    una.call("hostile__log_ok", json!({})).await.text();
    for _ in 0..2 {
        una.call("hostile__trap", json!({})).await;
    }

    let page = ana.get("/ui/operate").await.assert_status(200);

    let row = "<a href=\"/ui/toolkits/hostile/log?outcome=any-failure\" aria-label=\"2 failed calls of hostile\">\
               2 failed</a> of 3";
    page.assert_says(row);
    assert!(!page.text().contains("hints") && !page.text().contains("una"), "{}", page.text());
    let failing = json!([{ "toolkit": "hostile", "calls": 3, "failures": 2 }]);
    assert_eq!(kitbag.as_user("ben").get("/failures").await.assert_status(200).json(), failing);
    una.get("/failures").await.assert_problem(403, "operators");
}
