//! The messages to the service that inspects calls, as JSON (docs/dlp.md).

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use kitbag_base::bounded_json::compact;
use kitbag_manifest::content::{
    Content, ContentBlock, MessageContent, PromptMessage, ResourceBody, ResourceLink, Role,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::dispatch::call::Call;
use crate::dispatch::reply::{Reply, Success};
use crate::invocations::BegunCall;

/// Version of the messages. A new one is a change that a service could misread.
const VERSION: u32 = 1;

/// What the message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Phase {
    /// The arguments, before the handler runs.
    Arguments,
    /// The result, before it leaves.
    Result,
}

impl Phase {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Result => "result",
        }
    }
}

/// The part of the messages that says which call it is.
#[derive(Debug, Serialize)]
pub(in crate::dispatch) struct CallHead {
    /// Id of the call, the same in both messages.
    pub(in crate::dispatch) call: String,
    /// Id of the calling user.
    pub(in crate::dispatch) user: String,
    /// Groups of the user.
    pub(in crate::dispatch) groups: Vec<String>,
    /// The OAuth client that acts for the user, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dispatch) client: Option<String>,
    /// Name of the key of a program that acts for the user, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dispatch) key: Option<String>,
    /// Id of the run of code that the call is, or that makes it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::dispatch) run: Option<String>,
    /// The toolkit.
    pub(in crate::dispatch) toolkit: ToolkitHead,
    /// MCP method: `tools/call`, `prompts/get`, `resources/read` or `completion/complete`.
    pub(in crate::dispatch) method: &'static str,
    /// Name of what is called, as in the record of the call.
    pub(in crate::dispatch) name: String,
}

impl CallHead {
    /// Creates the head for a call.
    pub(in crate::dispatch) fn of(call: &Call<'_>, begun: &BegunCall) -> Self {
        Self {
            call: begun.id.clone(),
            user: begun.user.clone(),
            groups: call.groups.iter().map(str::to_owned).collect(),
            client: begun.through.client.clone(),
            key: begun.through.key_name.clone(),
            run: begun.run.as_deref().map(str::to_owned),
            toolkit: ToolkitHead { id: begun.toolkit.clone(), version: begun.version.clone() },
            method: call.tool.method(),
            name: begun.tool.clone(),
        }
    }
}

/// The called toolkit.
#[derive(Debug, Serialize)]
pub(in crate::dispatch) struct ToolkitHead {
    pub(in crate::dispatch) id: String,
    pub(in crate::dispatch) version: String,
}

/// A message.
#[derive(Serialize)]
struct Message<'a, T> {
    version: u32,
    phase: Phase,
    #[serde(flatten)]
    head: &'a CallHead,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct ArgumentsContent<'a> {
    arguments: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct ResultContent<'a> {
    result: ResultParts<'a>,
}

/// What the caller gets.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultParts<'a> {
    is_error: bool,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<SaidMessage<'a>>,
    /// A question to the user, whose message is in `text` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<QuestionParts<'a>>,
}

#[derive(Serialize)]
struct QuestionParts<'a> {
    message: &'a str,
    schema: &'a serde_json::Map<String, Value>,
}

#[derive(Serialize)]
struct SaidMessage<'a> {
    role: &'static str,
    content: Block<'a>,
}

/// A content block, in the form of the Model Context Protocol.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Block<'a> {
    Text { text: &'a str },
    Image { data: Base64<'a>, mime_type: &'a str },
    Audio { data: Base64<'a>, mime_type: &'a str },
    Resource { resource: Embedded<'a> },
    ResourceLink(Link<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Embedded<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<Base64<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link<'a> {
    uri: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

/// Bytes, as base64.
struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// Encodes the message about arguments and answers, both JSON; `None` beyond `max_bytes`, or if they are nested too
/// deeply.
pub(super) fn of_arguments(
    head: &CallHead,
    arguments: &str,
    answers: Option<&str>,
    max_bytes: usize,
) -> Option<Vec<u8>> {
    let arguments = serde_json::from_str(arguments).ok()?;
    let answers = answers.map(serde_json::from_str).transpose().ok()?;
    let content = ArgumentsContent { arguments, answers };
    compact(&Message { version: VERSION, phase: Phase::Arguments, head, content }, max_bytes)
}

/// Encodes the message about a reply; `None` beyond `max_bytes`.
pub(super) fn of_reply(head: &CallHead, reply: &Reply, max_bytes: usize) -> Option<Vec<u8>> {
    let result = match reply {
        Reply::Success(Success { text, structured, content, messages, .. }) => ResultParts {
            is_error: false,
            text,
            structured_content: structured.as_ref(),
            content: content.iter().map(Block::from).collect(),
            messages: messages.iter().map(SaidMessage::from).collect(),
            question: None,
        },
        Reply::Failure(failure) => {
            let question = failure.question.as_deref().map(|(_, question)| question);
            ResultParts {
                is_error: true,
                text: &failure.envelope.error,
                question: question.map(|it| QuestionParts { message: &it.message, schema: &it.schema }),
                ..ResultParts::default()
            }
        }
    };
    let content = ResultContent { result };
    compact(&Message { version: VERSION, phase: Phase::Result, head, content }, max_bytes)
}

impl<'a> From<&'a ContentBlock> for Block<'a> {
    fn from(block: &'a ContentBlock) -> Self {
        match &block.content {
            Content::Image(media) => Self::Image { data: Base64(&media.data), mime_type: &media.media_type },
            Content::Audio(media) => Self::Audio { data: Base64(&media.data), mime_type: &media.media_type },
            Content::Resource(it) => {
                let (text, blob) = match &it.body {
                    ResourceBody::Text(text) => (Some(text.as_str()), None),
                    ResourceBody::Blob(bytes) => (None, Some(Base64(bytes))),
                };
                let mime_type = it.media_type.as_deref();
                Self::Resource { resource: Embedded { uri: &it.uri, mime_type, text, blob } }
            }
            Content::Link(ResourceLink { uri, name, title, description, media_type, size }) => {
                Self::ResourceLink(Link {
                    uri,
                    name,
                    title: title.as_deref(),
                    description: description.as_deref(),
                    mime_type: media_type.as_deref(),
                    size: *size,
                })
            }
        }
    }
}

impl<'a> From<&'a PromptMessage> for SaidMessage<'a> {
    fn from(message: &'a PromptMessage) -> Self {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let content = match &message.content {
            MessageContent::Text(text) => Block::Text { text },
            MessageContent::Block(block) => block.into(),
        };
        Self { role, content }
    }
}
