//! The exports for prompts, resources and completions.

use super::bindings::exports::kitbag::toolkit::{completion, prompts, resources, tools};
use super::platform::Platform;
use super::{Author, Component};
use crate::completion::Completion;
use crate::{Ctx, MessageContent, PromptMessage, ResourceContents, Toolkit};

impl<A: Author> prompts::Guest for Component<A> {
    fn get(request: prompts::PromptRequest) -> Result<Vec<prompts::Message>, tools::CallError> {
        let prompts::PromptRequest { prompt, arguments, user_id, config } = request;
        let toolkit = A::toolkit();
        let Some(found) = toolkit.find_prompt(&prompt) else { return Err(missing("prompt", &prompt)) };
        let ctx = ctx(&toolkit, user_id, config);
        let messages = wstd::runtime::block_on(found.get(&arguments, ctx))?;
        Ok(messages.into_iter().map(Into::into).collect())
    }
}

impl<A: Author> resources::Guest for Component<A> {
    fn read(request: resources::ResourceRequest) -> Result<resources::ResourceContents, tools::CallError> {
        let resources::ResourceRequest { name, uri: _, variables, user_id, config } = request;
        let toolkit = A::toolkit();
        let Some(found) = toolkit.find_resource(&name) else { return Err(missing("resource", &name)) };
        let ctx = ctx(&toolkit, user_id, config);
        let ResourceContents { body, media_type } = wstd::runtime::block_on(found.read(&variables, ctx))?;
        Ok(resources::ResourceContents { body: body.into(), media_type })
    }
}

impl<A: Author> completion::Guest for Component<A> {
    fn complete(request: completion::CompletionRequest) -> Result<Vec<String>, tools::CallError> {
        let completion::CompletionRequest { subject, argument, value, others, user_id, config } = request;
        let toolkit = A::toolkit();
        let ctx = ctx(&toolkit, user_id, config);
        let others = serde_json::from_str(&others).unwrap_or_default();
        let completers = match &subject {
            completion::Completed::Prompt(name) => toolkit.find_prompt(name).map(crate::Prompt::completers),
            completion::Completed::Resource(name) => {
                toolkit.find_resource(name).map(crate::Resource::completers)
            }
        };
        let values = completers.and_then(|it| it.call(&argument, Completion { value, others }, ctx));
        let Some(values) = values else { return Err(missing("completion", &argument)) };
        Ok(wstd::runtime::block_on(values)?)
    }
}

fn ctx(toolkit: &Toolkit, user_id: String, config: String) -> Ctx {
    Ctx::new(toolkit, user_id, config, Platform::of(toolkit))
}

fn missing(what: &str, name: &str) -> tools::CallError {
    tools::CallError::Failure(format!("the toolkit has no {what} {name:?}"))
}

impl From<PromptMessage> for prompts::Message {
    fn from(PromptMessage { role, content }: PromptMessage) -> Self {
        let content = match content {
            MessageContent::Text(text) => prompts::MessageContent::Text(text),
            MessageContent::Block(block) => prompts::MessageContent::Block(block.into()),
        };
        Self { role: role.into(), content }
    }
}
