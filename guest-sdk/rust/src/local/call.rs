//! One call in a test: its arguments and the environment in which it runs.

use std::collections::HashMap;

use kitbag_manifest::{ToolkitDefinition, config};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::cache::Cached;
use super::platform::{HostState, Platform};
use super::questions::Questions;
use super::sign_in::is_token;
use crate::{Asked, Document, FetchError, Request};

type Upstream = Box<dyn Fn(&Request) -> Answer>;

/// A call for [`dispatch`](crate::dispatch): the tool, its arguments, and the user, settings, credentials,
/// documents and HTTP responses that the handler sees.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// # async fn find(_: NoArgs, ctx: Ctx) -> Result<String> {
/// #     let key = ctx.require_secret("API_KEY").await?;
/// #     Ok(ctx.fetch(Request::get("https://books.example/").query("key", key)).await?.text().await?)
/// # }
/// # let toolkit = Toolkit::new("books", "Books").description("Finds books.").icon("📚").version("1.0.0")
/// #     .secret("API_KEY").egress("books.example")
/// #     .tool(Tool::new("find", find).description("Finds a book."));
/// let call = Call::new("find")
///     .user("ana")
///     .secret("API_KEY", "k-1")
///     .fetch(|request| {
///         assert_eq!(request.query_value("key").as_deref(), Some("k-1"));
///         Response::new(200, "Moby Dick")
///     });
///
/// assert_eq!(dispatch(&toolkit, call).text(), "Moby Dick");
/// ```
pub struct Call {
    target: CallTarget,
    /// Text typed so far; used by completions only.
    typed: String,
    arguments: Value,
    user_id: String,
    config: Map<String, Value>,
    secrets: HashMap<String, String>,
    account: Option<String>,
    upstream: Upstream,
    documents: Vec<Document>,
    answers: HashMap<String, Asked<Value>>,
    cached: Cached,
}

/// Target of a call.
#[derive(Clone, Debug)]
pub(super) enum CallTarget {
    Tool(String),
    Prompt(String),
    /// URI of a resource, relative to the toolkit's or absolute.
    Resource(String),
    /// Completion of an argument of a prompt.
    PromptCompletion {
        prompt: String,
        argument: String,
    },
    /// Completion of a variable of a resource.
    ResourceCompletion {
        resource: String,
        variable: String,
    },
}

/// Input of a handler, as the host passes it.
pub(super) struct Invocation {
    pub(super) arguments: String,
    pub(super) user_id: String,
    pub(super) config: String,
}

impl Call {
    /// Creates a call of `tool` (its name without the toolkit's prefix) with no arguments.
    pub fn new(tool: impl Into<String>) -> Self {
        Self::of(CallTarget::Tool(tool.into()), json!({}))
    }

    /// Creates a request for a prompt, by its name, with no arguments.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::of(CallTarget::Prompt(name.into()), json!({}))
    }

    /// Creates a request for a resource by its URI: absolute, or relative to the toolkit's as in a link.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::of(CallTarget::Resource(uri.into()), json!({}))
    }

    /// Creates a completion request for a prompt's argument. `value` is the text typed so far; set the other
    /// arguments with [`args`](Self::args).
    pub fn complete_prompt(
        prompt: impl Into<String>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let target = CallTarget::PromptCompletion { prompt: prompt.into(), argument: argument.into() };
        Self { typed: value.into(), ..Self::of(target, json!({})) }
    }

    /// Creates a completion request for a resource's variable. `value` is the text typed so far; set the
    /// other variables with [`args`](Self::args).
    pub fn complete_resource(
        resource: impl Into<String>,
        variable: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let target = CallTarget::ResourceCompletion { resource: resource.into(), variable: variable.into() };
        Self { typed: value.into(), ..Self::of(target, json!({})) }
    }

    fn of(target: CallTarget, arguments: Value) -> Self {
        Self {
            target,
            typed: String::new(),
            arguments,
            user_id: "test-user".to_owned(),
            config: Map::new(),
            secrets: HashMap::new(),
            account: None,
            upstream: Box::new(|_| {
                FetchError::Network("the test has no upstream; see Call::fetch".into()).into()
            }),
            documents: Vec::new(),
            answers: HashMap::new(),
            cached: Cached::default(),
        }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn args(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    /// Sets the calling user's id.
    #[must_use]
    pub fn user(mut self, id: impl Into<String>) -> Self {
        self.user_id = id.into();
        self
    }

    /// Sets a setting as the user would.
    #[must_use]
    pub fn config(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.config.insert(key.into(), value.into());
        self
    }

    /// Sets a credential as the user would: a declared one, or one that only `auth` names.
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.secrets.insert(name.into(), value.into());
        self
    }

    /// Sets the access token of the user's connected account, for [`AuthorizationCode`](crate::AuthorizationCode).
    #[must_use]
    pub fn account(mut self, access_token: impl Into<String>) -> Self {
        self.account = Some(access_token.into());
        self
    }

    /// Sets the upstream: a function that answers each granted request with a [`Response`](crate::Response), a JSON
    /// [`Value`], or a [`FetchError`]. Requests include what `auth` attaches; token requests are passed too.
    #[must_use]
    pub fn fetch<A: Into<Answer>>(mut self, upstream: impl Fn(&Request) -> A + 'static) -> Self {
        self.upstream = Box::new(move |request| upstream(request).into());
        self
    }

    /// Adds a document to the user's knowledge base. A search there finds the documents that contain
    /// any word of the query.
    #[must_use]
    pub fn document(mut self, document: Document) -> Self {
        self.documents.push(document);
        self
    }

    /// Answers the question with this key with an object of fields. If the test sets no answer for any
    /// question, the handler gets [`AskError::Unsupported`](crate::AskError::Unsupported).
    #[must_use]
    pub fn answer(mut self, key: impl Into<String>, fields: Value) -> Self {
        self.answers.insert(key.into(), Asked::Accepted(fields));
        self
    }

    /// Declines the question with this key.
    #[must_use]
    pub fn decline(mut self, key: impl Into<String>) -> Self {
        self.answers.insert(key.into(), Asked::Declined);
        self
    }

    /// Cancels the question with this key: the user dismisses the form.
    #[must_use]
    pub fn cancel(mut self, key: impl Into<String>) -> Self {
        self.answers.insert(key.into(), Asked::Cancelled);
        self
    }

    /// Adds a value to the user's cache, as if an earlier call had stored it.
    #[must_use]
    pub fn cached(mut self, key: &str, value: &str) -> Self {
        self.cached.set(key, value);
        self
    }

    pub(super) fn target(&self) -> &CallTarget {
        &self.target
    }

    pub(super) fn typed(&self) -> &str {
        &self.typed
    }

    pub(super) fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Returns a message for each credential, account and setting that a server would not store for this
    /// toolkit.
    pub(super) fn problems(&self, definition: &ToolkitDefinition) -> Vec<String> {
        let credentials = definition.credentials();
        let undeclared = self
            .secrets
            .keys()
            .filter(|name| !credentials.contains(&name.as_str()))
            .map(|name| format!("secret {name}: not declared"));
        let account = self.account.iter().filter_map(|token| {
            if definition.auth.account().is_none() {
                Some("account: auth has no oauth2_authorization_code".to_owned())
            } else {
                (!is_token(token)).then(|| "account: has characters that a header cannot have".to_owned())
            }
        });
        let unfit = config::problems(&definition.config, &self.config);
        let unfit = unfit.into_iter().map(|(key, why)| format!("config {key}: {why}"));
        undeclared.chain(account).chain(unfit).collect()
    }

    pub(super) fn prepare(self, definition: ToolkitDefinition) -> (Invocation, Platform) {
        let config = config::effective(&definition.config, &self.config);
        let invocation = Invocation {
            arguments: self.arguments.to_string(),
            user_id: self.user_id,
            config: Value::Object(config).to_string(),
        };
        // Prompts, resources and completions cannot ask questions.
        let is_tool = matches!(self.target, CallTarget::Tool(_));
        let questions = Questions::new(if is_tool { self.answers } else { HashMap::new() });
        let state = HostState::new(
            definition,
            self.secrets,
            self.account,
            self.upstream,
            self.documents,
            questions,
            self.cached,
        );
        (invocation, Platform::new(state))
    }
}
