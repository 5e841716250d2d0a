//! DNS of toolkits and captures: configured name servers, and no effect on other users if these do not
//! answer.

use std::time::{Duration, Instant};

use http::Method;
use kitbag::settings::Settings;
use serde_json::json;

use crate::capture::captures_allowed;
use crate::fetch::probe;
use crate::harness::{Files, Kitbag, NameServer, User, eventually, within};

fn with_name_server(settings: &mut Settings, server: &NameServer) {
    captures_allowed(settings);
    settings.name_servers = server.address().parse().expect("an address");
}

/// Makes a call, an upload, and a capture from a host name; returns their total duration.
async fn work(kitbag: &Kitbag, user: &User, files: &Files, name: &str) -> Duration {
    let url = files.put(&format!("/{name}"), "text/plain", "Ebb and flow.");
    let url = url.replace("127.0.0.1", &format!("{name}.known.test"));
    let begun = Instant::now();

    assert_eq!(user.call("probe__nothing", json!({})).await.text(), "nothing");
    let upload = format!("/documents/file?title={name}&url=https://a.example/{name}");
    let uploaded = user.send(Method::POST, &upload, "application/octet-stream", "name,kind\nOrca,whale\n");
    within("the upload", uploaded).await.assert_status(201);
    user.ingest_file(&url, json!({})).await;
    assert_eq!(kitbag.settled(&url).await.text(), "Ebb and flow.");
    begun.elapsed()
}

#[tokio::test]
async fn a_user_whose_names_nobody_answers_for_holds_up_nobody_else() {
    let (files, server) = (Files::start().await, NameServer::start("known.test").await);
    let (kitbag, ana) = probe(|settings| with_name_server(settings, &server)).await;
    let ben = kitbag.as_user("ben");
    let idle = work(&kitbag, &ben, &files, "before").await;

    // Twenty concurrent loops of calls with sixteen requests each.
    let attack = futures::future::join_all((0..20).map(|_| async {
        loop {
            let many = json!({ "url": "http://upstream.test/", "count": 16 });
            ana.call("probe__fetch_many", many).await.text();
        }
    }));
    let meanwhile = async {
        eventually("the name server is asked", async || server.asked("upstream.test") > 0).await;
        let first = work(&kitbag, &ben, &files, "meanwhile").await;
        (first, work(&kitbag, &ben, &files, "once-more").await)
    };
    let (first, second) = tokio::select! {
        _ = attack => panic!("it goes on for ever"),
        took = meanwhile => took,
    };

    // Each of Ana's lookups takes seconds to fail, and hundreds are queued. A slow machine slows both
    // measurements.
    let limit = 10 * idle + Duration::from_secs(3);
    assert!(first < limit && second < limit, "{idle:?} when idle, {first:?} and {second:?} meanwhile");
}

#[tokio::test]
async fn a_name_that_nobody_answers_for_fails_with_a_reason() {
    let server = NameServer::start("known.test").await;
    let (kitbag, ana) = probe(|settings| with_name_server(settings, &server)).await;

    ana.fetch("http://upstream.test/").await.assert_tool_error("DnsError");
    let logged = ana.logged("probe__fetch").await["entries"].to_string();
    assert!(
        logged.contains("upstream.test could not be resolved: no name server answered in time"),
        "{logged}"
    );
    assert!(!kitbag.log().text().contains("upstream.test"), "names that guests ask for are in the log");
}
