//! A response of JSON lines that may never end.

use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use kitbag_net::egress::ResponseBody;
use serde_json::Value;

use super::within;

/// Open response. Dropping it disconnects the client.
pub(crate) struct Stream {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: ResponseBody,
    received: Vec<u8>,
}

impl Stream {
    pub(super) fn of(response: Response<ResponseBody>) -> Self {
        let (head, body) = response.into_parts();
        Self { status: head.status, headers: head.headers, body, received: Vec::new() }
    }

    /// Whether the response is cut off before its end; waits for its next frame.
    pub(crate) async fn breaks_off(&mut self) -> bool {
        within("the end", self.body.frame()).await.is_some_and(|frame| frame.is_err())
    }

    /// Waits for the next record; `None` at the end of the response.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                if line.len() == 1 {
                    continue;
                }
                return Some(serde_json::from_slice(&line).expect("each line is JSON"));
            }
            let frame = within("the next line", self.body.frame()).await?;
            let frame = frame.expect("the answer does not break off");
            self.received.extend_from_slice(frame.data_ref().expect("nothing but data"));
        }
    }
}
