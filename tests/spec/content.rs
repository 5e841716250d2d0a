//! Content of results other than text: images, audio, resources and links.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::harness::{Kitbag, Revision, guests};

#[tokio::test]
async fn pictures_sounds_and_documents_reach_clients_of_both_revisions() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let content = async |tool: &str| {
            let outcome = ana.call(&format!("conformance__{tool}"), json!({})).await;
            outcome.result()["content"].as_array().expect("a list").clone()
        };

        let image = content("test_image_content").await;
        assert_eq!(image[0], json!({ "type": "text", "text": "A picture." }), "{revision:?}");
        assert_eq!((&image[1]["type"], &image[1]["mimeType"]), (&json!("image"), &json!("image/png")));
        assert!(bytes(&image[1]).starts_with(b"\x89PNG"));

        let audio = content("test_audio_content").await;
        assert_eq!((&audio[1]["type"], &audio[1]["mimeType"]), (&json!("audio"), &json!("audio/wav")));
        assert!(bytes(&audio[1]).starts_with(b"RIFF"));

        let resource = content("test_embedded_resource").await;
        let expected = json!({
            "uri": "test://embedded-resource",
            "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        });
        assert_eq!(resource[1], json!({ "type": "resource", "resource": expected }), "{revision:?}");

        let kinds: Vec<_> =
            content("test_multiple_content_types").await.iter().map(|it| it["type"].clone()).collect();
        assert_eq!(kinds, ["text", "image", "resource"], "{revision:?}");
    }
}

#[tokio::test]
async fn a_secret_does_not_leave_beside_the_text() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_user("ana");
    ana.set_secret("probe", "API_KEY", "canary-a1b2c3").await;
    let clean = "the key is [redacted], keep it";

    let outcome = ana.call("probe__leak", json!({ "name": "API_KEY", "into": "content" })).await;

    let content = outcome.result()["content"].as_array().expect("a list");
    assert_eq!(bytes(&content[1]), clean.as_bytes());
    assert_eq!(content[1]["mimeType"], clean);
    assert_eq!(bytes(&content[2]), clean.as_bytes());
    let text = json!({ "uri": clean, "mimeType": clean, "text": clean });
    assert_eq!(content[3]["resource"], text);
    let blob = json!({ "uri": clean, "mimeType": clean, "blob": BASE64_STANDARD.encode(clean) });
    assert_eq!(content[4]["resource"], blob);
    let link = json!({
        "type": "resource_link",
        "uri": clean, "name": clean, "title": clean, "description": clean, "mimeType": clean, "size": 1,
        // `lastModified` contained the secret too. Redacted it would not be a valid time, so it is omitted.
        "annotations": { "priority": 0.5 },
    });
    assert_eq!(content[5], link);
}

fn bytes(block: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(block["data"].as_str().expect("data")).expect("base64")
}

#[tokio::test]
async fn an_empty_text_is_left_out_beside_other_content() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let outcome = ana.call("conformance__bare_image", json!({})).await;
        let content = outcome.result()["content"].as_array().expect("a list").clone();

        assert_eq!(content.len(), 1, "{revision:?}: {content:?}");
        assert_eq!(content[0]["type"], "image");
    }
}
