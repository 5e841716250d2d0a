//! `wasi:http/outgoing-handler`.

use guest_support::http::{self, Request, Response};
use guest_support::serde_json::{Value, json};
use guest_support::{Invocation, Outcome, arguments, error, structured};

pub(crate) fn fetch(invocation: &Invocation) -> Outcome {
    match http::send(&request(&arguments(invocation))) {
        Ok(response) => structured(&shown(&response)),
        Err(refusal) => error(refusal),
    }
}

pub(crate) fn fetch_many(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let request = request(&arguments);
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

fn request(arguments: &Value) -> Request {
    let string = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let headers = arguments["headers"].as_object().into_iter().flatten();
    Request {
        method: string("method"),
        url: string("url"),
        headers: headers
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        body: string("body").into_bytes(),
    }
}

fn shown(response: &Response) -> Value {
    json!({
        "status": response.status,
        "headers": response.headers,
        "body": String::from_utf8_lossy(&response.body),
    })
}
