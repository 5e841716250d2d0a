//! `kitbag:toolkit/cache`.

use guest_support::cache;
use guest_support::serde_json::{Value, json};
use guest_support::{Invocation, Outcome, arguments, error, structured};

pub(crate) fn get(invocation: &Invocation) -> Outcome {
    match cache::get(&text(&arguments(invocation)["key"])) {
        Ok(value) => structured(&json!({ "value": value })),
        Err(refusal) => error(format!("{refusal:?}")),
    }
}

pub(crate) fn set(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let times = arguments["repeat"].as_u64().and_then(|times| usize::try_from(times).ok()).unwrap_or(1);
    let value = text(&arguments["value"]).repeat(times);
    let seconds = arguments["seconds"].as_u64().and_then(|seconds| seconds.try_into().ok());
    match cache::set(&text(&arguments["key"]), &value, seconds) {
        Ok(()) => structured(&json!({ "set": true })),
        Err(refusal) => error(format!("{refusal:?}")),
    }
}

pub(crate) fn delete(invocation: &Invocation) -> Outcome {
    match cache::delete(&text(&arguments(invocation)["key"])) {
        Ok(()) => structured(&json!({ "deleted": true })),
        Err(refusal) => error(format!("{refusal:?}")),
    }
}

pub(crate) fn fill(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let [count, bytes] = ["count", "bytes"].map(|name| arguments[name].as_u64().unwrap_or_default());
    let value = "v".repeat(usize::try_from(bytes).unwrap_or_default());
    for number in 0..count {
        if let Err(refusal) = cache::set(&format!("fill {number}"), &value, None) {
            return structured(&json!({ "set": number, "refusal": format!("{refusal:?}") }));
        }
    }
    structured(&json!({ "set": count, "refusal": null }))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
