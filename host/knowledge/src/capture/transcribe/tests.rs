use http::{Response, StatusCode};
use kitbag_net::egress::EgressSettings;
use kitbag_net::egress::test_server::TestServer;

use super::*;
use crate::capture::FailureKind;

async fn ask(server: &TestServer, key: Option<&str>) -> Result<Extracted, CaptureFailure> {
    let settings = TranscriptionSettings {
        url: format!("{}/v1/audio/transcriptions", server.origin()).parse().expect("a URL"),
        model: "whisper-1".to_owned(),
        key: key.map(Into::into),
    };
    let egress = Egress::new(EgressSettings::default());
    Transcriber::new(egress, settings).transcribe("audio/wav", Bytes::from_static(b"RIFF\r\n--\0\xFF")).await
}

async fn answering(status: u16, body: &'static str) -> TestServer {
    TestServer::start(move |_| {
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = StatusCode::from_u16(status).expect("a status");
        response
    })
    .await
}

#[tokio::test]
async fn a_recording_is_sent_as_a_form_and_its_words_come_back() {
    let server = answering(200, r#"{"text": " The quick brown fox.", "usage": {}}"#).await;

    let extracted = ask(&server, Some("s3cret")).await.expect("an answer");

    assert_eq!((extracted.text.as_str(), extracted.truncated), (" The quick brown fox.", false));
    let (head, body) = server.received().pop().expect("one request");
    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/v1/audio/transcriptions"));
    assert_eq!(head.headers["authorization"], "Bearer s3cret");
    let form = head.headers["content-type"].to_str().expect("ASCII").to_owned();
    let boundary = form.strip_prefix("multipart/form-data; boundary=").expect("a boundary");
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"response_format\"\r\n\r\njson\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"recording.wav\"\r\n\
         Content-Type: audio/wav\r\n\r\n"
    );
    let expected =
        [expected.as_bytes(), b"RIFF\r\n--\0\xFF", format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
    assert_eq!(body, expected);
}

#[tokio::test]
async fn without_a_key_nobody_is_named() {
    let server = answering(200, r#"{"text": "words"}"#).await;

    ask(&server, None).await.expect("an answer");

    assert_eq!(server.last_header("authorization"), None);
}

#[tokio::test]
async fn a_service_that_is_busy_or_broken_is_asked_again_and_one_that_refuses_is_not() {
    for (status, kind) in [
        (429, FailureKind::Transient),
        (500, FailureKind::Transient),
        (503, FailureKind::Transient),
        (400, FailureKind::Permanent),
        (401, FailureKind::Permanent),
        (413, FailureKind::Permanent),
        (302, FailureKind::Permanent),
    ] {
        let failure =
            ask(&answering(status, "key s3cret is wrong").await, None).await.expect_err("no answer");

        assert_eq!(failure.kind, kind, "{status}");
        assert!(
            failure.reason.starts_with(&format!("the transcriber answered {status}")),
            "{}",
            failure.reason
        );
    }
    for nonsense in ["", "<html>", "{}", r#"{"text": 7}"#, "[]"] {
        let failure = ask(&answering(200, nonsense).await, None).await.expect_err("nonsense");
        assert_eq!(failure.kind, FailureKind::Permanent, "{nonsense}");
    }
    let gone = answering(200, "").await;
    let settings =
        TranscriptionSettings { url: gone.origin().parse().expect("a URL"), model: String::new(), key: None };
    drop(gone);
    let transcriber = Transcriber::new(Egress::new(EgressSettings::default()), settings);
    let failure = transcriber.transcribe("audio/wav", Bytes::new()).await.expect_err("nobody is there");
    assert_eq!(failure.kind, FailureKind::Transient);
    assert!(!failure.reason.contains("127.0.0.1"), "{}", failure.reason);
}
