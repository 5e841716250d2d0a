//! `wasi:http/outgoing-handler`.

use std::collections::BTreeMap;

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

pub(crate) fn fetch_in_turn(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let request = http::Request::from_arguments(&arguments);
    let mut answers = BTreeMap::<String, u64>::new();
    for _ in 0..arguments["count"].as_u64().unwrap_or(1) {
        let answer = http::send(&request).map_or_else(|refusal| refusal, |it| it.status.to_string());
        *answers.entry(answer).or_default() += 1;
    }
    structured(&json!(answers))
}
