//! The host of calls in tests: requests to `kitbag_manifest::test_host`.

mod block;

use std::collections::BTreeMap;

use kitbag_manifest::content::{self, PromptMessage, ResourceContents};
use kitbag_manifest::documents::NewDocument;
use kitbag_manifest::reply::{self, Failure};
use kitbag_manifest::schema::Schema;
use kitbag_manifest::test_host::cache::{CacheEntry, evicted, expiry, is_valid};
use kitbag_manifest::test_host::exchange::{
    Exchange, Head, Network, Refusal, Responded, TokenRequest, TokenResponse, granted, redactor,
};
use kitbag_manifest::test_host::ingested::{Placed, ingest};
use kitbag_manifest::test_host::knowledge::{Hit, Search, SearchedDocument, search};
use kitbag_manifest::test_host::offers::prepare;
use kitbag_manifest::test_host::questions::{AskedQuestion, Asking, Questions, TestAnswer};
use kitbag_manifest::test_host::{
    Environment, OfferTarget, Offered, PreparedOffer, check_offered, check_result, completed_uris,
};
use kitbag_manifest::{Problems, ToolkitDefinition, cache};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use self::block::{Block, Message};
use crate::{text, with_schema};

/// A request to the host. Each variant documents its answer.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum Request {
    /// Answers with the problems of the environment that a test gives to a call.
    Environment { toolkit: Box<ToolkitDefinition>, environment: Environment },
    /// Answers with whether a value that expires then is found, or with the problems of the key.
    CacheGet { key: String, expires: Option<i64>, now: i64 },
    /// Answers with the time of expiry of a value and the keys to evict, or with the problems. `entries` are the
    /// others, in the order of writing.
    CacheSet { key: String, value: String, seconds: Option<u32>, now: i64, entries: Vec<CacheEntry> },
    /// Answers with the problems of a key.
    CacheKey { key: String },
    /// Answers with the keys to evict.
    CacheEvicted { entries: Vec<CacheEntry>, now: i64 },
    /// Answers with the documents that are found, or with the problems.
    Search { documents: Vec<Searched>, search: Search },
    /// Answers with the places of ingested documents, or with the problems.
    Ingest { source: String, keys: Vec<Option<String>>, documents: Vec<NewDocument>, secrets: Vec<String> },
    /// Answers with the outcome of a question. An answer that a test provides is an object of fields, `decline` or
    /// `cancel`.
    Ask {
        answers: BTreeMap<String, Value>,
        asked: Vec<AskedQuestion>,
        has_ended: bool,
        key: String,
        message: String,
        schema: String,
    },
    /// Answers with the handler to run, or with values or the failure of a call that needs none.
    Offer { toolkit: Box<ToolkitDefinition>, target: OfferTarget, arguments: Value },
    /// Checks the result of a prompt, a resource or a completion. `uncounted` are the bytes of texts and data, which
    /// are left out. Answers with the URIs of blocks and the media type, or with the failure.
    Offered { toolkit: Box<ToolkitDefinition>, name: String, offered: Returned, uncounted: usize },
    /// Checks the result of a tool, as `offered`. Answers with the structured value for the client, a warning for the
    /// author, and the URIs of blocks, or with the failure.
    Result {
        toolkit: Box<ToolkitDefinition>,
        tool: String,
        text: usize,
        uncounted: usize,
        structured: Option<String>,
        output: Option<Value>,
        content: Vec<Block>,
    },
    /// Answers with what to send for a request, and the new state of the exchange.
    Next { network: Box<Network>, exchange: Exchange, head: Head },
    /// Answers with the request for a token.
    Token { network: Box<Network>, sign_in: usize },
    /// Answers with the token in the response of a token endpoint.
    Granted { network: Box<Network>, sign_in: usize, status: u16, media_type: Option<String>, body: String },
    /// Answers with what follows from a response, and the new state of the exchange.
    Responded { network: Box<Network>, exchange: Exchange, head: Head, response: Responded },
    /// Answers with the values without secrets.
    Redact { secrets: Vec<String>, values: Vec<Value> },
}

/// A document that may be found.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Searched {
    title: String,
    text: String,
    source: String,
    author: Option<String>,
}

/// Result of a handler that is not of a tool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Returned {
    Messages(Vec<Message>),
    #[serde(rename_all = "camelCase")]
    Contents {
        mime_type: Option<String>,
    },
    Values(Vec<String>),
}

/// State of an exchange, and what it says.
#[derive(Serialize)]
struct Stepped<Step> {
    exchange: Exchange,
    #[serde(flatten)]
    step: Step,
}

/// An answer, or what is in its place.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Refused {
    Problems(Problems),
    Failure(Failure),
    Refusal(Refusal),
    /// The test itself is wrong.
    Mistake(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    uris: Vec<Option<String>>,
}

#[derive(Serialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Serialize)]
struct AllPlaced {
    placed: Vec<Placed>,
}

/// Answers a request in JSON.
pub(crate) fn answer(request: Request) -> String {
    match request {
        Request::Environment { toolkit, environment } => {
            text(&json!({ "problems": environment.problems(&toolkit) }))
        }
        Request::CacheGet { key, expires, now } => answered(
            cache::check_key(&key)
                .map(|()| json!({ "isFound": expires.is_some_and(|expires| is_valid(expires, now)) })),
        ),
        Request::CacheSet { key, value, seconds, now, mut entries } => {
            answered(expiry(&key, &value, seconds, now).map(|expires| {
                let bytes = key.len() + value.len();
                entries.push(CacheEntry { key, bytes, expires });
                json!({ "expires": expires, "evicted": evicted(&entries, now) })
            }))
        }
        Request::CacheKey { key } => answered(cache::check_key(&key).map(|()| json!({}))),
        Request::CacheEvicted { entries, now } => text(&json!({ "evicted": evicted(&entries, now) })),
        Request::Search { documents, search: request } => {
            let searched = documents.iter().map(|it| SearchedDocument {
                title: &it.title,
                text: &it.text,
                source: &it.source,
                author: it.author.as_deref(),
            });
            answered(search(searched, &request).map(|hits| Hits { hits }))
        }
        Request::Ingest { source, keys, documents, secrets } => {
            let secrets = redactor(secrets.iter().map(String::as_str));
            answered(ingest(&source, &keys, documents, &secrets).map(|placed| AllPlaced { placed }))
        }
        Request::Ask { answers, asked, has_ended, key, message, schema } => {
            let answers = answers.into_iter().map(|(key, value)| (key, test_answer(value))).collect();
            text(&asking(Questions { answers, asked, has_ended }.ask(&key, &message, &schema)))
        }
        Request::Offer { toolkit, target, arguments } => match prepare(&toolkit, &target, &arguments) {
            Err(mistake) => text(&Refused::Mistake(mistake)),
            Ok(PreparedOffer::Failed(failure)) => text(&Refused::Failure(failure)),
            Ok(PreparedOffer::Values(values)) => text(&json!({ "values": values })),
            Ok(PreparedOffer::Run { name, arguments, uri }) => {
                text(&json!({ "name": name, "arguments": arguments, "uri": uri }))
            }
        },
        Request::Offered { toolkit, name, offered, uncounted } => {
            let mut offered = Offered::from(offered);
            match check_offered(&toolkit, &name, uncounted, &mut offered) {
                Err(failure) => text(&Refused::Failure(failure)),
                Ok(()) => text(&completed(&offered)),
            }
        }
        Request::Result { toolkit, tool, text: size, uncounted, structured, output, content } => {
            let mut content: Vec<_> = content.into_iter().filter_map(Block::into_content).collect();
            let mut check = |output: Option<&Schema>| {
                check_result(
                    &toolkit,
                    size.saturating_add(uncounted),
                    structured.as_deref(),
                    &mut content,
                    output,
                )
            };
            let checked = match &output {
                None => Ok(check(None)),
                Some(output) => with_schema(output, |output| check(Some(output))),
            };
            match checked {
                Err(error) => text(&json!({ "error": error })),
                Ok(Err(failure)) => text(&Refused::Failure(failure)),
                Ok(Ok(structured)) => text(&ToolAnswer {
                    warning: reply::text_warning(&tool, size, structured.as_ref()),
                    structured,
                    uris: completed_uris(content.iter().map(Some)),
                }),
            }
        }
        Request::Next { network, mut exchange, head } => {
            let step = exchange.next(&network, &head);
            text(&Stepped { exchange, step })
        }
        Request::Token { network, sign_in } => refusable(TokenRequest::of(&network, sign_in)),
        Request::Granted { network, sign_in, status, media_type, body } => {
            let response = TokenResponse { status, media_type: media_type.as_deref(), body: &body };
            refusable(granted(&network, sign_in, &response).map(|token| json!({ "token": token })))
        }
        Request::Responded { network, mut exchange, head, response } => {
            let step = exchange.responded(&network, &head, &response);
            text(&Stepped { exchange, step })
        }
        Request::Redact { secrets, mut values } => {
            let secrets = redactor(secrets.iter().map(String::as_str));
            for value in &mut values {
                secrets.redact_json(value);
            }
            text(&values)
        }
    }
}

impl From<Returned> for Offered {
    fn from(returned: Returned) -> Self {
        match returned {
            Returned::Messages(messages) => Self::Messages(messages.into_iter().map(Into::into).collect()),
            Returned::Contents { mime_type } => {
                Self::Contents(ResourceContents { media_type: mime_type, ..ResourceContents::text("") })
            }
            Returned::Values(values) => Self::Values(values),
        }
    }
}

fn test_answer(value: Value) -> TestAnswer {
    match value.as_str() {
        Some("decline") => TestAnswer::Declined,
        Some("cancel") => TestAnswer::Cancelled,
        _ => TestAnswer::Accepted(value),
    }
}

/// Returns the outcome as the variant `answer` of the contract, or what is in its place.
fn asking(asking: Asking) -> Value {
    match asking {
        Asking::Accepted(fields) => {
            json!({ "reply": { "tag": "accepted", "val": Value::Object(fields).to_string() } })
        }
        Asking::Declined => json!({ "reply": { "tag": "declined" } }),
        Asking::Cancelled => json!({ "reply": { "tag": "cancelled" } }),
        Asking::EndsRun(question) => json!({ "isNew": question.is_some() }),
        Asking::Unsupported => json!({ "refused": { "tag": "unsupported" } }),
        Asking::Invalid(why) => json!({ "refused": { "tag": "invalid", "val": why } }),
        Asking::Mistake(why) => json!({ "mistake": why }),
    }
}

fn completed(offered: &Offered) -> Value {
    let uris = |messages: &[PromptMessage]| {
        completed_uris(messages.iter().map(|message| match &message.content {
            content::MessageContent::Block(block) => Some(block),
            content::MessageContent::Text(_) => None,
        }))
    };
    match offered {
        Offered::Messages(messages) => json!({ "uris": uris(messages) }),
        Offered::Contents(contents) => json!({ "mimeType": contents.media_type }),
        Offered::Values(_) => Value::Object(Map::new()),
    }
}

fn answered<T: Serialize>(answer: Result<T, Problems>) -> String {
    answer.map_or_else(|problems| text(&Refused::Problems(problems)), |answer| text(&answer))
}

fn refusable<T: Serialize>(answer: Result<T, Refusal>) -> String {
    answer.map_or_else(|refusal| text(&Refused::Refusal(refusal)), |answer| text(&answer))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn ask(request: &Value) -> Value {
        let request = json!({ "ask": "test-host", "request": request });
        serde_json::from_str(&crate::answer(&request.to_string())).expect("answers are JSON")
    }

    fn toolkit() -> Value {
        json!({
            "id": "books", "name": "Books", "description": "d", "icon": "i", "version": "1.0.0", "tools": [],
            "prompts": [{ "name": "p", "description": "d", "arguments": [{ "name": "a", "required": true }] }],
            "resources": [{ "name": "r", "description": "d", "uri": "books/{isbn}", "mediaType": "text/markdown" }],
        })
    }

    #[test]
    fn results_that_are_too_large_or_do_not_fit_are_failures() {
        let output = json!({ "type": "object", "required": ["a"] });
        let link = json!({ "type": "resource_link", "uri": "books/7", "name": "b" });
        let check_result = |size: usize, structured: &str| {
            ask(&json!({
                "do": "result", "toolkit": toolkit(), "tool": "t", "text": size, "uncounted": 0,
                "structured": structured, "output": output, "content": [{ "type": "image", "mimeType": "i/i" }, link],
            }))
        };

        let uris = json!([null, "kitbag://books/books/7"]);
        assert_eq!(check_result(10, r#"{"a":1}"#), json!({ "structured": { "a": 1 }, "uris": uris }));
        assert_eq!(check_result((4 << 20) + 1, "{}")["failure"]["error"], "The tool's result is too large.");
        let mismatch = check_result(10, "{}")["failure"]["error"].clone();
        assert!(
            mismatch.as_str().is_some_and(|text| text.ends_with("\"a\" is a required property")),
            "{mismatch}"
        );
    }

    #[test]
    fn prompts_and_resources_are_checked_as_on_a_server() {
        let offer = |target: Value, arguments: Value| {
            ask(&json!({ "do": "offer", "toolkit": toolkit(), "target": target, "arguments": arguments }))
        };
        let prompt = |arguments| offer(json!({ "kind": "prompt", "name": "books__p" }), arguments);
        let resource = |uri: &str| offer(json!({ "kind": "resource", "name": uri }), json!({}));

        assert_eq!(
            prompt(json!({ "a": "x" })),
            json!({ "name": "p", "arguments": { "a": "x" }, "uri": null })
        );
        assert_eq!(prompt(json!({}))["failure"]["code"], "INVALID_PARAMS");
        assert_eq!(resource("books/7%207")["arguments"], json!({ "isbn": "7 7" }));
        assert_eq!(resource("kitbag://books/books/7")["uri"], "kitbag://books/books/7");
        assert_eq!(resource("books/..")["failure"]["code"], "INVALID_PARAMS");
        let missing = offer(json!({ "kind": "prompt", "name": "q" }), json!({}));
        assert_eq!(missing, json!({ "mistake": r#""books" has no prompt "q""# }));
    }

    #[test]
    fn a_request_that_breaks_a_rule_is_answered_with_the_problems() {
        for (request, path) in [
            (json!({ "do": "cache-get", "key": "", "now": 0 }), "key"),
            (
                json!({ "do": "cache-set", "key": "k", "value": "v", "seconds": 0, "now": 0, "entries": [] }),
                "seconds",
            ),
            (json!({ "do": "search", "documents": [], "search": { "query": "a", "limit": 0 } }), "limit"),
            (
                json!({ "do": "ingest", "source": "s", "keys": [], "documents": [{ "title": "" }], "secrets": [] }),
                "documents[0].title",
            ),
        ] {
            assert_eq!(ask(&request)["problems"][0]["path"], path, "{request}");
        }
    }

    #[test]
    fn a_question_is_answered_in_the_next_run() {
        let question =
            json!({ "key": "a", "message": "a?", "schema": r#"{"type":"object","properties":{}}"# });
        let asking = |answers: Value, asked: Value, has_ended: bool| {
            let mut request =
                json!({ "do": "ask", "answers": answers, "asked": asked, "hasEnded": has_ended });
            let members = question.as_object().expect("an object").clone();
            request.as_object_mut().expect("an object").extend(members);
            ask(&request)
        };

        assert_eq!(asking(json!({}), json!([]), false)["refused"]["tag"], "unsupported");
        assert_eq!(asking(json!({ "a": {} }), json!([]), false), json!({ "isNew": true }));
        assert_eq!(asking(json!({ "a": {} }), json!([]), true), json!({ "isNew": false }));
        let again = asking(json!({ "a": {} }), json!([question]), false);
        assert_eq!(again, json!({ "reply": { "tag": "accepted", "val": "{}" } }));
        assert!(asking(json!({ "b": {} }), json!([question]), false)["mistake"].is_string());
    }

    #[test]
    fn an_exchange_is_told_step_by_step() {
        let network = json!({
            "toolkit": "books", "egress": ["a.example"], "secrets": { "KEY": "s3cr3t" },
            "auth": { "type": "api_key", "secret": "KEY", "apiHost": "a.example" },
        });
        let head = json!({ "method": "GET", "url": "https://a.example/", "headers": [] });

        let next = ask(&json!({ "do": "next", "network": network, "exchange": {}, "head": head }));
        assert_eq!(
            (&next["do"], &next["attach"]["header"]),
            (&json!("send"), &json!(["authorization", "s3cr3t"]))
        );
        let response = json!({ "status": 302, "locations": ["/b"], "isRepeatable": true });
        let followed = ask(&json!({
            "do": "responded", "network": network, "exchange": next["exchange"], "head": head, "response": response,
        }));
        assert_eq!(
            (&followed["do"], &followed["head"]["url"]),
            (&json!("follow"), &json!("https://a.example/b"))
        );
        let clean = ask(&json!({ "do": "redact", "secrets": ["s3cr3t"], "values": ["a s3cr3t", 1] }));
        assert_eq!(clean, json!(["a [redacted]", 1]));
    }
}
