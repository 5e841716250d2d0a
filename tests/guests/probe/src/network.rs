//! `wasi:http/outgoing-handler`.

use guest_support::http;
use guest_support::serde_json::{Value, json};
use guest_support::{Invocation, Outcome, arguments, structured};

pub(crate) fn fetch_many(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let request = http::Request::from_arguments(&arguments);
    let started: Vec<_> =
        (0..arguments["count"].as_u64().unwrap_or(1)).map(|_| http::start(&request)).collect();

    let answers: Vec<Value> = started
        .into_iter()
        .map(|started| match started.and_then(|response| http::finish(&response)) {
            Ok(response) => response.status.into(),
            Err(refusal) => refusal.into(),
        })
        .collect();
    structured(&json!({ "answers": answers }))
}
