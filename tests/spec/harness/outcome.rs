//! The outcome of a tool call.

use serde_json::{Value, json};

/// Reply to a `tools/call`.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    tool: String,
    reply: Value,
}

impl Outcome {
    pub(super) fn of(tool: &str, reply: Value) -> Self {
        Self { tool: tool.to_owned(), reply }
    }

    /// Result of a successful call.
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        let result = &self.reply["result"];
        assert!(result.is_object() && result["isError"] != true, "{} failed: {}", self.tool, self.reply);
        result
    }

    /// Text of a successful call.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        text_of(self.result())
    }

    /// Structured result of a successful call.
    #[track_caller]
    pub(crate) fn structured(&self) -> &Value {
        self.result()
            .get("structuredContent")
            .unwrap_or_else(|| panic!("nothing structured in {}", self.reply))
    }

    /// Error envelope of a failed call: the text of a result with `isError`. Asserts that it has exactly the
    /// four members of an envelope.
    #[track_caller]
    pub(crate) fn envelope(&self) -> Value {
        let result = &self.reply["result"];
        assert_eq!(result["isError"], true, "{} did not fail: {}", self.tool, self.reply);
        assert_eq!(result.get("structuredContent"), None, "{}", self.reply);
        let envelope: Value = serde_json::from_str(text_of(result)).expect("the envelope is JSON");
        let members: Vec<_> = envelope.as_object().expect("an object").keys().collect();
        assert_eq!(members, ["code", "error", "ok", "retryable"], "{envelope}");
        assert_eq!(envelope["ok"], false);
        envelope
    }

    /// Asserts a non-retryable `TOOL_ERROR` whose message contains `words`.
    #[track_caller]
    pub(crate) fn assert_tool_error(&self, words: &str) {
        let envelope = self.envelope();
        assert_eq!(
            (&envelope["code"], &envelope["retryable"]),
            (&json!("TOOL_ERROR"), &json!(false)),
            "{envelope}"
        );
        self.assert_message(&envelope, words);
    }

    /// Asserts a retryable `TOOL_ERROR` whose message contains `words`.
    #[track_caller]
    pub(crate) fn assert_retryable(&self, words: &str) {
        let envelope = self.envelope();
        assert_eq!(
            (&envelope["code"], &envelope["retryable"]),
            (&json!("TOOL_ERROR"), &json!(true)),
            "{envelope}"
        );
        self.assert_message(&envelope, words);
    }

    /// Asserts `INVALID_PARAMS` whose message contains `words`.
    #[track_caller]
    pub(crate) fn assert_invalid_params(&self, words: &str) {
        let envelope = self.envelope();
        assert_eq!(
            (&envelope["code"], &envelope["retryable"]),
            (&json!("INVALID_PARAMS"), &json!(false)),
            "{envelope}"
        );
        self.assert_message(&envelope, words);
    }

    /// Asserts the generic error that a model gets for a failure whose details are only logged.
    #[track_caller]
    pub(crate) fn assert_generic_failure(&self) {
        let expected =
            json!({ "ok": false, "code": "TOOL_ERROR", "error": "The tool failed.", "retryable": false });
        assert_eq!(self.envelope(), expected, "{}", self.tool);
    }

    /// Whether the call was rejected because other calls were running.
    pub(crate) fn is_busy(&self) -> bool {
        self.reply["result"]["isError"] == true && self.envelope()["retryable"] == true
    }

    /// Asserts the error for a tool that does not exist for this caller: JSON-RPC's -32602.
    #[track_caller]
    pub(crate) fn assert_unknown_tool(&self) {
        assert_eq!(self.reply["error"]["code"], -32602, "{}", self.reply);
        assert_eq!(self.reply.get("result"), None, "{}", self.reply);
    }

    /// Whole reply as text, for asserting that something is absent.
    pub(crate) fn raw(&self) -> String {
        self.reply.to_string()
    }

    #[track_caller]
    fn assert_message(&self, envelope: &Value, words: &str) {
        let message = envelope["error"].as_str().expect("a message");
        assert!(message.contains(words), "{}: no {words:?} in {message:?}", self.tool);
    }
}

#[track_caller]
fn text_of(result: &Value) -> &str {
    let content = result["content"].as_array().expect("content");
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{result}");
    content[0]["text"].as_str().expect("text")
}
