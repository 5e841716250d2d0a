//! An HTTP response.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// Status, headers and the whole body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Body as JSON, or the data of an event stream's only event: the response format of slow calls.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let is_stream = self.header("content-type") == Some("text/event-stream");
        let data =
            if is_stream { self.text().lines().find_map(|line| line.strip_prefix("data: ")) } else { None };
        let json = data.map_or(&*self.body, str::as_bytes);
        serde_json::from_slice(json).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Body as JSON objects, one per line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), Some("application/x-ndjson"));
        let text = std::str::from_utf8(&self.body).expect("the body is text");
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }

    /// Body as text.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    /// Header value; `None` if it is absent.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("headers are ASCII"))
    }

    #[track_caller]
    pub(crate) fn assert_status(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// Asserts a problem document (RFC 9457) whose detail contains `words`.
    #[track_caller]
    pub(crate) fn assert_problem(self, status: u16, words: &str) -> Self {
        let answer = self.assert_status(status);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        let body = answer.json();
        assert_eq!(body["status"], status);
        assert!(body["detail"].as_str().expect("a detail").contains(words), "no {words:?} in {body}");
        answer
    }

    /// Asserts that the HTML source of a page contains `words`.
    #[track_caller]
    pub(crate) fn assert_says(&self, words: &str) {
        assert!(self.text().contains(words), "no {words:?} in {}", self.text());
    }

    /// Value of a page's first hidden field with this name.
    #[track_caller]
    pub(crate) fn hidden(&self, name: &str) -> String {
        let (_, after) = self.text().split_once(&format!("name=\"{name}\" value=\"")).expect("a field");
        after.split('"').next().expect("a value").to_owned()
    }

    /// Problems of a rejected upload: path and message of each.
    #[track_caller]
    pub(crate) fn problems(&self) -> Vec<(String, String)> {
        let body = self.json();
        let listed = body["problems"].as_array().unwrap_or_else(|| panic!("no problems in {body}"));
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        listed.iter().map(|problem| (text(&problem["path"]), text(&problem["message"]))).collect()
    }
}
