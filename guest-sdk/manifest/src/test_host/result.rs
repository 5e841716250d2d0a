//! Checks of what a handler returned.

use serde_json::Value;

use super::Offered;
use crate::ToolkitDefinition;
use crate::content::{self, Content, ContentBlock, PromptMessage, ResourceBody, ResourceContents};
use crate::limits::DEFAULT_RESULT_MIB;
use crate::offers::{complete_links, complete_message_links};
use crate::reply::{Failure, check_structured};
use crate::schema::Schema;

/// Checks the result of a tool, and makes the links in its content absolute. `bytes` is the size of its text, and of data
/// that `content` does not contain. Returns the structured value for the client.
pub fn check_result(
    definition: &ToolkitDefinition,
    bytes: usize,
    structured: Option<&str>,
    content: &mut [ContentBlock],
    output: Option<&Schema>,
) -> Result<Option<Value>, Failure> {
    let blocks = content.iter().map(ContentBlock::size).sum::<usize>();
    check_size(bytes.saturating_add(structured.map_or(0, str::len)).saturating_add(blocks))?;
    let structured = check_structured(output, structured)?;
    check_content(content::problem(content))?;
    complete_links(definition, content);
    Ok(structured)
}

/// Checks the result of a prompt, a resource or a completion, and completes it as a server does: links of
/// messages, and the media type of the resource `name`.
pub fn check_offered(
    definition: &ToolkitDefinition,
    name: &str,
    uncounted: usize,
    offered: &mut Offered,
) -> Result<(), Failure> {
    check_size(size(offered).saturating_add(uncounted))?;
    match offered {
        Offered::Messages(messages) => {
            check_content(content::messages_problem(messages))?;
            complete_message_links(definition, messages);
        }
        Offered::Contents(contents) => {
            let declared = definition.resources.iter().find(|it| it.name == name);
            let declared = declared.and_then(|it| it.media_type.clone());
            contents.media_type = contents.media_type.take().or(declared);
        }
        Offered::Values(_) => {}
    }
    Ok(())
}

/// Returns the URIs of blocks, `None` for blocks without one.
pub fn completed_uris<'a>(blocks: impl Iterator<Item = Option<&'a ContentBlock>>) -> Vec<Option<String>> {
    let uri = |block: &ContentBlock| match &block.content {
        Content::Link(link) => Some(link.uri.clone()),
        Content::Resource(resource) => Some(resource.uri.clone()),
        Content::Image(_) | Content::Audio(_) => None,
    };
    blocks.map(|block| block.and_then(uri)).collect()
}

fn size(offered: &Offered) -> usize {
    match offered {
        Offered::Messages(messages) => messages.iter().map(PromptMessage::size).sum(),
        Offered::Contents(ResourceContents { body: ResourceBody::Text(text), .. }) => text.len(),
        Offered::Contents(ResourceContents { body: ResourceBody::Blob(bytes), .. }) => bytes.len(),
        Offered::Values(values) => values.iter().map(String::len).sum(),
    }
}

fn check_size(bytes: usize) -> Result<(), Failure> {
    if bytes > DEFAULT_RESULT_MIB << 20 { Err(Failure::result_too_large()) } else { Ok(()) }
}

fn check_content(problem: Option<String>) -> Result<(), Failure> {
    problem.map_or(Ok(()), |problem| Err(Failure::invalid_content(&problem)))
}
