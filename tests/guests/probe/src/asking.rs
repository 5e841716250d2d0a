//! `kitbag:toolkit/ask`.

use guest_support::ask::{self, Answer};
use guest_support::serde_json::{Value, json};
use guest_support::wasip2::random::random::get_random_u64;
use guest_support::{Invocation, Outcome, arguments, error, log, structured};

/// Asks questions in turn. `times` repeats a message; a schema that is a text is passed on as it is.
pub(crate) fn ask(invocation: &Invocation) -> Outcome {
    log::write(&["\"a run begins\"".to_owned()]);
    let arguments = arguments(invocation);
    let mut answers = Vec::new();
    for question in arguments["questions"].as_array().into_iter().flatten() {
        let times = question["times"].as_u64().and_then(|times| usize::try_from(times).ok()).unwrap_or(1);
        let message = question["message"].as_str().unwrap_or_default().repeat(times);
        let schema = match &question["schema"] {
            Value::String(text) => text.clone(),
            schema => schema.to_string(),
        };
        match ask::ask(question["key"].as_str().unwrap_or_default(), &message, &schema) {
            Ok(Answer::Accepted(fields)) => answers.push(json!({ "accepted": fields })),
            Ok(Answer::Declined) => answers.push(json!("declined")),
            Ok(Answer::Cancelled) => answers.push(json!("cancelled")),
            Err(refusal) => return error(format!("{refusal:?}")),
        }
    }
    structured(&json!({ "answers": answers }))
}

/// Asks what it has never asked before.
pub(crate) fn ask_for_ever() -> Outcome {
    let schema = json!({ "type": "object", "properties": { "sure": { "type": "boolean" } } });
    let message = format!("Question {}?", get_random_u64());
    match ask::ask("again", &message, &schema.to_string()) {
        Ok(answer) => error(format!("it was answered: {answer:?}")),
        Err(refusal) => error(format!("{refusal:?}")),
    }
}
