//! Recordings: transcribed by the operator's transcriber, or stored until one is configured.

use kitbag::settings::Settings;
use serde_json::json;

use crate::capture::captures_allowed;
use crate::fetch::probe;
use crate::harness::{Files, Transcriber, transcriber};

const SENTENCE: &str = "The tide rises twice a day, and nobody can hold it back.";

fn with_transcriber(settings: &mut Settings, transcriber: &Transcriber) {
    captures_allowed(settings);
    settings.transcription_url = transcriber.url().parse().expect("a URL");
    "small".clone_into(&mut settings.transcription_model);
    settings.transcription_key = transcriber::KEY.parse().expect("a key");
}

#[tokio::test]
async fn a_recording_becomes_its_words() {
    let (files, transcriber) = (Files::start().await, Transcriber::start().await);
    let (kitbag, ana) = probe(|settings| with_transcriber(settings, &transcriber)).await;
    let url = files.put("/talk", "application/octet-stream", transcriber.speak(SENTENCE));

    let document = json!({ "title": "A talk", "audioUrl": url });
    ana.call("probe__ingest", json!({ "documents": [document] })).await.text();

    let stored = kitbag.settled(&url).await;
    assert_eq!(stored.text(), SENTENCE);
    assert_eq!((stored.title.as_str(), stored.artifact_type.as_deref()), ("A talk", Some("audio/wav")));
    assert_eq!(transcriber.heard(), [("small".to_owned(), "recording.wav".to_owned())]);
}

#[tokio::test]
async fn a_recording_waits_until_there_is_a_transcriber() {
    let (files, transcriber) = (Files::start().await, Transcriber::start().await);
    let (kitbag, ana) = probe(captures_allowed).await;
    let url = files.put("/talk.wav", "audio/wav", transcriber.speak(SENTENCE));
    ana.ingest_file(&url, json!({})).await;
    let stored = kitbag.settled(&url).await;
    stored.assert_failed("no transcriber is configured: the file is kept");
    assert!(kitbag.has_artifact(&stored.artifact.expect("it is kept")));

    let kitbag =
        kitbag.stop().await.changed(|settings| with_transcriber(settings, &transcriber)).start().await;

    assert_eq!(kitbag.settled(&url).await.text(), SENTENCE);
    assert_eq!(files.hits("/talk.wav"), 1, "it was kept, and need not be fetched again");
}

#[tokio::test]
async fn a_transcriber_that_has_no_time_is_asked_again_and_one_that_refuses_is_not() {
    let (files, transcriber) = (Files::start().await, Transcriber::start().await);
    let (kitbag, ana) = probe(|settings| with_transcriber(settings, &transcriber)).await;
    let said = files.put("/said", "audio/wav", transcriber.speak(SENTENCE));
    let unknown = files.put("/unknown", "audio/wav", transcriber::speak("Nobody knows this sentence."));

    transcriber.be_busy(1);
    ana.ingest_file(&said, json!({})).await;
    assert_eq!(kitbag.settled(&said).await.text(), SENTENCE);
    ana.ingest_file(&unknown, json!({})).await;

    let refused = kitbag.settled(&unknown).await;
    refused.assert_failed("the transcriber answered 400");
    assert!(refused.artifact.is_some());
}
