//! Covert channel: a toolkit encodes its caller's secret in the numbers of a call record.

use serde_json::{Value, json};

use crate::fetch::probe;
use crate::harness::{Kitbag, Upstream, User};

const SECRETS: [&str; 3] = ["ab-secret", "qr-secret", "zy-secret"];

/// Makes the probe encode each secret in a call; returns the records as an operator sees them.
async fn encode_secrets(kitbag: &Kitbag, ana: &User, upstream: &Upstream) -> Vec<Value> {
    for secret in SECRETS {
        ana.set_secret("probe", "API_KEY", secret).await;
        let way = json!({ "name": "API_KEY", "into": "numbers", "url": upstream.url("/hello") });
        ana.call("probe__leak", way).await.text();
    }
    kitbag.as_operator().logs("probe").await
}

#[tokio::test]
async fn no_number_that_an_operator_sees_tells_one_secret_from_another() {
    let upstream = Upstream::start().await;
    let (kitbag, ana) = probe(crate::fetch::loopback_allowed).await;

    let mut views = encode_secrets(&kitbag, &ana, &upstream).await;

    assert_eq!(views.len(), SECRETS.len());
    for view in &mut views {
        super::assert_without_content(view);
        assert_eq!(view["isLogCut"], true, "{view}");
        let view = view.as_object_mut().expect("an object");
        // Excludes values set by the host, and the duration: it is a range, which a busy machine may exceed.
        view.retain(|key, _| !["id", "startedAt", "durationMs"].contains(&key.as_str()));
    }
    assert!(views.iter().all(|view| *view == views[0]), "{views:#?}");
    let own = ana.logs("probe").await;
    for key in ["resultSize", "requests", "bytesOut", "dropped"] {
        assert!(own[0][key].is_u64() && own[0][key] != own[1][key], "{key}: {own:#?}");
    }
}

#[tokio::test]
async fn when_the_call_of_another_ended_cannot_be_asked() {
    let upstream = Upstream::start().await;
    let (kitbag, ana) = probe(crate::fetch::loopback_allowed).await;
    encode_secrets(&kitbag, &ana, &upstream).await;
    let operator = kitbag.as_operator();
    let view = operator.logs("probe").await.remove(0);
    let own = ana.logs("probe").await.remove(0);
    let since = async |user: &User, time: jiff::Timestamp| {
        let answer = user.get(&format!("/toolkits/probe/logs?since={time}")).await.assert_status(200);
        answer.json_lines().iter().any(|record| record["id"] == own["id"])
    };
    let parse = |record: &Value| -> jiff::Timestamp {
        record["startedAt"].as_str().expect("a time").parse().expect("RFC 3339")
    };
    let millisecond = jiff::SignedDuration::from_millis(1);

    // For calls of others, `since` compares the start time in whole seconds.
    assert!(since(&operator, parse(&view)).await);
    assert!(!since(&operator, parse(&view) + millisecond).await);
    // For one's own calls, `since` compares the end time.
    assert!(since(&ana, parse(&own) + millisecond).await);
}
