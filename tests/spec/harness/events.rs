//! A response that is a stream of server-sent events.

use std::pin::Pin;

use bytes::Bytes;
use http::response::Parts;
use http_body_util::BodyExt;
use kitbag_net::egress::ResponseBody;
use serde_json::Value;

use super::within;

/// The events of an open stream (`text/event-stream`). Dropping it disconnects the client.
pub(crate) struct Events {
    pub(crate) head: Parts,
    body: Pin<Box<ResponseBody>>,
    unread: String,
}

impl Events {
    pub(super) fn new(head: Parts, body: ResponseBody) -> Self {
        Self { head, body: Box::pin(body), unread: String::new() }
    }

    #[track_caller]
    pub(crate) fn assert_open(self) -> Self {
        let kind = self.head.headers.get("content-type");
        assert_eq!(
            (self.head.status.as_u16(), kind),
            (200, Some(&"text/event-stream".parse().expect("a header")))
        );
        self
    }

    /// Waits for the next message; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        within("the next event", self.message()).await
    }

    /// Returns all messages until the end of the stream.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(message) = self.next().await {
            messages.push(message);
        }
        messages
    }

    /// Waits for the next message, without a timeout; `None` at the end of the stream. JSON is one message.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        if self.head.headers.get("content-type").is_some_and(|kind| kind == "application/json") {
            let body = self.body.as_mut().collect().await.ok()?.to_bytes();
            return (!body.is_empty()).then(|| serde_json::from_slice(&body).expect("a message is JSON"));
        }
        loop {
            while let Some(end) = self.unread.find("\n\n") {
                let event: String = self.unread.drain(..end + 2).collect();
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
                if !data.trim().is_empty() {
                    return Some(serde_json::from_str(&data).expect("a message is JSON"));
                }
            }
            let data: Bytes = self.body.frame().await?.ok()?.into_data().ok()?;
            self.unread.push_str(str::from_utf8(&data).expect("events are text"));
        }
    }
}
