//! The page of a tool: its arguments as a form or as JSON, and the reply to a call.

mod answer;

use std::sync::Arc;
use std::time::Instant;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_access::values::toolkits::listed_name;
use kitbag_access::{CallError, User, VisibleToolkit};
use kitbag_base::bounded_json;
use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::directory::missing;
use super::form::{Form, MAX_FORM_BYTES};
use super::frame::{self, Frame, Section};
use super::guard::InlineImages;
use super::schema_form::{self, Input, Mistakes, Row, SchemaForm};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;
use crate::share::RequestShare;
use crate::tools::{self, CallLimits};
use answer::{Block, Shown, ShownReply};

/// Maximum bytes of arguments in a command.
const MAX_COMMAND_BYTES: usize = 1000;
/// Maximum bytes of indented arguments that fit in a form, where each takes up to three bytes.
const MAX_INDENTED_BYTES: usize = MAX_FORM_BYTES / 4;

/// Input mode of the arguments, with the typed values.
enum ArgumentInput {
    /// One field for each argument.
    Fields { typed: Form, mistakes: Mistakes },
    /// All arguments as JSON.
    Json { text: String, mistake: Option<String> },
}

/// Outcome of a submitted form.
enum Outcome {
    /// Invalid input, so no call was made: 422.
    Mistaken,
    /// No call was made, for this reason.
    Refused(StatusCode, String),
    Replied(ShownReply),
}

/// A secret or setting that the user has not set.
struct Missing {
    name: String,
    /// Anchor of its field on the toolkit's page.
    anchor: String,
}

/// Query string: `as=json` shows the arguments as JSON.
#[derive(Deserialize)]
pub(super) struct Start {
    #[serde(rename = "as")]
    entry: Option<String>,
}

#[derive(Template)]
#[template(path = "ui/templates/try_tool.html")]
struct ToolPage {
    frame: Option<Frame>,
    toolkit: Arc<ToolkitDefinition>,
    tool: ToolDefinition,
    listed_name: String,
    is_read_only: bool,
    /// Whether the user hides the tool from models.
    is_hidden: bool,
    missing: Vec<Missing>,
    entry: Shape,
    outcome: Option<Outcome>,
    command: String,
}

/// View model of the form.
enum Shape {
    Fields { rows: Vec<Row>, has_more: bool },
    Json { text: String, mistake: Option<String>, schema: Shown },
}

/// Page of a tool that the user can see.
struct Page<'a> {
    user: &'a User,
    share: RequestShare,
    frame: Frame,
    toolkit: &'a VisibleToolkit,
    tool: &'a ToolDefinition,
    form: SchemaForm,
}

/// `GET /ui/toolkits/{id}/tools/{tool}?as=json`
pub(super) async fn show(
    By(user): By<User>,
    share: RequestShare,
    frame: Frame,
    Path((id, name)): Path<(String, String)>,
    Query(Start { entry }): Query<Start>,
) -> Result<Response, WebError> {
    let toolkit = user.toolkit(&id)?;
    let page = Page::of(&user, share, frame, &toolkit, &name)?;
    let typed = page.form.defaults();
    let entry = if entry.as_deref() == Some("json") {
        let arguments = page.form.arguments(&typed).unwrap_or_default();
        ArgumentInput::Json { text: pretty(&arguments), mistake: None }
    } else {
        ArgumentInput::Fields { typed, mistakes: Mistakes::new() }
    };
    page.show(entry, None, None).await
}

/// `POST /ui/toolkits/{id}/tools/{tool}`: a field for each argument, or `json` with all of them. Calls the
/// tool, or, with `then=json`, shows the arguments as JSON. Closing the connection cancels the call.
pub(super) async fn call(
    By(user): By<User>,
    share: RequestShare,
    frame: Frame,
    Extension(limits): Extension<Arc<CallLimits>>,
    Path((id, name)): Path<(String, String)>,
    body: Body,
) -> Result<Response, WebError> {
    let toolkit = user.toolkit(&id)?;
    let page = Page::of(&user, share, frame, &toolkit, &name)?;
    let typed = Form::read(body).await?;
    let (mut entry, arguments) = page.read(typed);
    let Some(arguments) = arguments else { return page.show(entry, Some(Outcome::Mistaken), None).await };
    if let ArgumentInput::Fields { typed, .. } = &entry
        && typed.get("then") == "json"
    {
        return page.show(ArgumentInput::Json { text: pretty(&arguments), mistake: None }, None, None).await;
    }
    let outcome = page.call(&limits, arguments.clone()).await?;
    if let (ArgumentInput::Fields { mistakes, .. }, Outcome::Replied(answer)) = (&mut entry, &outcome) {
        *mistakes = answer.mistakes();
    }
    page.show(entry, Some(outcome), Some(&arguments)).await
}

impl<'a> Page<'a> {
    fn of(
        user: &'a User,
        share: RequestShare,
        frame: Frame,
        toolkit: &'a VisibleToolkit,
        name: &str,
    ) -> Result<Self, WebError> {
        let tool = toolkit.tool(name)?;
        Ok(Self { user, share, frame, toolkit, tool, form: SchemaForm::of(&tool.input_schema) })
    }

    /// Parses the arguments; `None` if there are mistakes, which are in the entry.
    fn read(&self, typed: Form) -> (ArgumentInput, Option<Map<String, Value>>) {
        if let Some(json) = typed.find("json") {
            let text = json.to_owned();
            return match tools::arguments(text.as_bytes()) {
                Ok(arguments) => (ArgumentInput::Json { text, mistake: None }, Some(arguments)),
                Err(error) => (ArgumentInput::Json { text, mistake: Some(error.into_parts().1) }, None),
            };
        }
        match self.form.arguments(&typed) {
            Ok(arguments) => (ArgumentInput::Fields { typed, mistakes: Mistakes::new() }, Some(arguments)),
            Err(mistakes) => (ArgumentInput::Fields { typed, mistakes }, None),
        }
    }

    async fn call(&self, limits: &CallLimits, arguments: Map<String, Value>) -> Result<Outcome, WebError> {
        if let Err(refusal) = limits.rate.admit(self.user.id()) {
            return Ok(Outcome::Refused(StatusCode::TOO_MANY_REQUESTS, refusal.to_string()));
        }
        let started = Instant::now();
        match Box::pin(self.user.call(&self.listed_name(), arguments, None)).await {
            Ok(reply) => {
                let bytes = reply.size();
                let time = started.elapsed();
                self.share.expect_answer(bytes);
                Ok(Outcome::Replied(self.share.work(bytes, move || ShownReply::of(reply, time)).await))
            }
            Err(error @ CallError::Unavailable(_)) => {
                let (status, detail, _) = WebError::from(error).into_parts();
                Ok(Outcome::Refused(status, detail))
            }
            Err(unknown) => Err(unknown.into()),
        }
    }

    async fn show(
        self,
        entry: ArgumentInput,
        outcome: Option<Outcome>,
        sent: Option<&Map<String, Value>>,
    ) -> Result<Response, WebError> {
        let toolkit = self.toolkit.definition();
        let missing = missing(self.user, self.toolkit).await?;
        let listed_name = self.listed_name();
        let status = outcome.as_ref().map_or(StatusCode::OK, Outcome::status);
        let entry = match entry {
            ArgumentInput::Fields { typed, mistakes } => {
                Shape::Fields { has_more: self.form.has_more, rows: self.form.rows(&typed, &mistakes) }
            }
            ArgumentInput::Json { text, mistake } => {
                Shape::Json { text, mistake, schema: Shown::json(&self.tool.input_schema) }
            }
        };
        let hidden = self.user.hidden().await?;
        let page = ToolPage {
            toolkit: self.toolkit.shared_definition().clone(),
            tool: self.tool.clone(),
            listed_name,
            is_read_only: self.tool.annotations.read_only_hint == Some(true),
            is_hidden: hidden.has(&toolkit.id, &self.tool.name),
            missing: missing.into_iter().map(|name| Missing::of(toolkit, name)).collect(),
            entry,
            outcome,
            command: command(&toolkit.id, &self.tool.name, sent),
            frame: Some(self.frame.at(Section::Directory)),
        };
        let bytes = self.share.expected_answer();
        let mut response = self.share.work(bytes, move || frame::page(status, &page)).await;
        response.extensions_mut().insert(InlineImages);
        Ok(response)
    }

    fn listed_name(&self) -> String {
        listed_name(&self.toolkit.definition().id, &self.tool.name)
    }
}

impl Shape {
    fn has_fields(&self) -> bool {
        matches!(self, Self::Fields { .. })
    }

    /// Size limit of JSON input, as text; `None` if the form takes no JSON.
    fn json_limit(&self) -> Option<String> {
        let takes_json = match self {
            Self::Fields { rows, .. } => rows.iter().any(Row::is_json),
            Self::Json { .. } => true,
        };
        takes_json.then(|| text::size(MAX_FORM_BYTES as u64))
    }
}

impl Outcome {
    fn status(&self) -> StatusCode {
        match self {
            Self::Mistaken => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Refused(status, _) => *status,
            Self::Replied(_) => StatusCode::OK,
        }
    }
}

impl Missing {
    fn of(toolkit: &ToolkitDefinition, name: String) -> Self {
        let is_setting = toolkit.config.contains_key(&name);
        let anchor = if is_setting { format!("setting-{name}") } else { "secrets".to_owned() };
        Self { name, anchor }
    }
}

/// Formats arguments for editing.
fn pretty(arguments: &Map<String, Value>) -> String {
    bounded_json::indented(arguments, MAX_INDENTED_BYTES)
}

/// CLI command that calls the tool with the same arguments, unless they are too long.
fn command(toolkit: &str, tool: &str, sent: Option<&Map<String, Value>>) -> String {
    let arguments = sent.and_then(|sent| {
        let json = serde_json::to_string(sent).ok().filter(|json| json.len() <= MAX_COMMAND_BYTES)?;
        let quoted = shlex::try_quote(&text::shown_json(&json)).map(std::borrow::Cow::into_owned);
        quoted.ok()
    });
    let arguments = arguments.as_deref().unwrap_or(if sent.is_some() { "@FILE" } else { "JSON" });
    format!("kitbag tool call {toolkit} {tool} {arguments}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_to_edit_do_not_grow_by_their_indentation() {
        let nested = (0..100).fold(json!(vec![1; 40_000]), |inner, _| json!([inner]));
        let arguments = |value: &Value| Map::from_iter([("a".to_owned(), value.clone())]);

        let edited = pretty(&arguments(&nested));
        assert!(edited.len() < 2 * 40_000 + 300, "{}", edited.len());
        assert_eq!(serde_json::from_str::<Value>(&edited).expect("it is JSON")["a"], nested);
        assert_eq!(pretty(&arguments(&json!(1))), "{\n  \"a\": 1\n}");
    }

    #[test]
    fn the_command_has_the_arguments_quoted() {
        let of = |arguments: Value| command("weather", "current", arguments.as_object());

        assert_eq!(of(Value::Null), "kitbag tool call weather current JSON");
        let words = shlex::split(&of(json!({ "place": "$(id) \u{202e}" }))).expect("a command");
        assert_eq!(words[3..], ["weather", "current", r#"{"place":"$(id) \u202e"}"#]);
        assert_eq!(
            of(json!({ "a": "x".repeat(MAX_COMMAND_BYTES) })),
            "kitbag tool call weather current @FILE"
        );
    }
}
