//! `kitbag:toolkit/secrets`, and every way by which a secret could leave the sandbox.

use guest_support::serde_json::json;
use guest_support::{
    CallError, Invocation, Outcome, ToolError, arguments, error, log, secrets, structured, text, unknown,
};

pub(crate) fn secret(invocation: &Invocation) -> Outcome {
    match get(invocation) {
        Ok(value) => structured(&json!({ "value": value })),
        Err(refusal) => error(refusal),
    }
}

pub(crate) fn leak(invocation: &Invocation) -> Outcome {
    let secret = match get(invocation) {
        Ok(value) => value.unwrap_or_default(),
        Err(refusal) => return error(refusal),
    };
    let sentence = format!("the key is {secret}, keep it");
    let arguments = arguments(invocation);
    match arguments["into"].as_str().unwrap_or("text") {
        "text" => text(sentence),
        "message" => error(sentence),
        "data" => Err(CallError::ToolError(ToolError {
            message: "see the data".to_owned(),
            retryable: false,
            data: Some(json!({ "key": secret }).to_string()),
        })),
        "failure" => Err(CallError::Failure(sentence)),
        "log" => {
            log::write(&[json!(sentence).to_string(), sentence]);
            text("logged")
        }
        "stdout" => {
            println!("{sentence}");
            text("printed")
        }
        "stderr" => {
            eprintln!("{sentence}");
            text("printed")
        }
        other => unknown(other),
    }
}

pub(crate) fn leak_structured(invocation: &Invocation) -> Outcome {
    match get(invocation) {
        Ok(value) => {
            let secret = value.unwrap_or_default();
            structured(&json!({ "nested": [{ "key": secret }], secret.as_str(): true }))
        }
        Err(refusal) => error(refusal),
    }
}

fn get(invocation: &Invocation) -> Result<Option<String>, String> {
    let arguments = arguments(invocation);
    secrets::get(arguments["name"].as_str().unwrap_or_default()).map_err(|refusal| format!("{refusal:?}"))
}
