//! The contract's exports `prompts`, `resources` and `completion`.

use rquickjs::{Object, Result};

use super::bindings::exports::kitbag::toolkit::{completion, prompts, resources};
use super::call::{Component, Outcome, answer, block, body, role};
use super::record::{list, required, text};
use crate::values::Text;

impl prompts::Guest for Component {
    fn get(request: prompts::PromptRequest) -> Outcome<Vec<prompts::Message>> {
        let prompts::PromptRequest { prompt, arguments, user_id, config } = request;
        answer(["prompt".to_owned(), prompt, arguments, user_id, config], |value| {
            list::<Object>(value, "messages")?.iter().map(message).collect()
        })
    }
}

impl resources::Guest for Component {
    fn read(request: resources::ResourceRequest) -> Outcome<resources::ResourceContents> {
        let resources::ResourceRequest { name, uri: _, variables, user_id, config } = request;
        answer(["resource".to_owned(), name, variables, user_id, config], |value| {
            let body = body(&value.get("body")?)?;
            let media_type = text(value, "mediaType")?;
            Ok(resources::ResourceContents { body, media_type })
        })
    }
}

impl completion::Guest for Component {
    fn complete(request: completion::CompletionRequest) -> Outcome<Vec<String>> {
        let completion::CompletionRequest { subject, argument, value, others, user_id, config } = request;
        let (kind, name) = match subject {
            completion::Completed::Prompt(name) => ("prompt-completion", name),
            completion::Completed::Resource(name) => ("resource-completion", name),
        };
        answer([kind.to_owned(), name, others, user_id, config, argument, value], |value| {
            Ok(list::<Text>(value, "values")?.into_iter().map(|Text(value)| value).collect())
        })
    }
}

/// Reads `{ role, text }` or `{ role, block }`.
fn message(it: &Object<'_>) -> Result<prompts::Message> {
    let content = match text(it, "text")? {
        Some(text) => prompts::MessageContent::Text(text),
        None => prompts::MessageContent::Block(block(&it.get("block")?)?),
    };
    Ok(prompts::Message { role: role(&required(it, "role")?), content })
}
