//! One call in a test: its arguments and the environment in which it runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use kitbag_manifest::test_host::cache::Cached;
use kitbag_manifest::test_host::exchange::Network;
use kitbag_manifest::test_host::questions::TestAnswer;
use kitbag_manifest::test_host::{Environment, OfferTarget};
use kitbag_manifest::{ToolkitDefinition, config};
use serde_json::{Value, json};

use super::answer::Answer;
use super::clock::Clock;
use super::knowledge::Library;
use super::outcome::Outcome;
use super::platform::{Effects, HostState, Platform};
use super::questions::Questions;
use crate::{Document, FetchError, Request};

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
    arguments: Value,
    user_id: String,
    environment: Environment,
    upstream: Upstream,
    documents: Vec<Document>,
    answers: BTreeMap<String, TestAnswer>,
    cached: Cached,
    clock: Clock,
}

/// Target of a call.
#[derive(Clone, Debug)]
pub(super) enum CallTarget {
    Tool(String),
    Offer(OfferTarget),
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
        Self::of(CallTarget::Tool(tool.into()))
    }

    /// Creates a request for a prompt, by its name, with no arguments.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::of_offer(OfferTarget::Prompt { name: name.into() })
    }

    /// Creates a request for a resource by its URI: absolute, or relative to the toolkit's as in a link.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::of_offer(OfferTarget::Resource { name: uri.into() })
    }

    /// Creates a completion request for a prompt's argument. `value` is the text typed so far; set the other
    /// arguments with [`args`](Self::args).
    pub fn complete_prompt(
        prompt: impl Into<String>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let name = prompt.into();
        let argument = argument.into();
        let value = value.into();
        Self::of_offer(OfferTarget::PromptCompletion { name, argument, value })
    }

    /// Creates a completion request for a resource's variable. `value` is the text typed so far; set the
    /// other variables with [`args`](Self::args).
    pub fn complete_resource(
        resource: impl Into<String>,
        variable: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let name = resource.into();
        let argument = variable.into();
        let value = value.into();
        Self::of_offer(OfferTarget::ResourceCompletion { name, argument, value })
    }

    fn of_offer(target: OfferTarget) -> Self {
        Self::of(CallTarget::Offer(target))
    }

    fn of(target: CallTarget) -> Self {
        Self {
            target,
            arguments: json!({}),
            user_id: "test-user".to_owned(),
            environment: Environment::default(),
            upstream: Box::new(|_| {
                FetchError::Network("the test has no upstream; see Call::fetch".into()).into()
            }),
            documents: Vec::new(),
            answers: BTreeMap::new(),
            cached: Cached::default(),
            clock: Clock::default(),
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
        self.environment.config.insert(key.into(), value.into());
        self
    }

    /// Sets a credential as the user would: a declared one, or one that only `auth` names.
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.secrets.insert(name.into(), value.into());
        self
    }

    /// Sets the access token of the user's connected account, for [`AuthorizationCode`](crate::AuthorizationCode).
    #[must_use]
    pub fn account(mut self, access_token: impl Into<String>) -> Self {
        self.environment.account = Some(access_token.into());
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
        self.answers.insert(key.into(), TestAnswer::Accepted(fields));
        self
    }

    /// Declines the question with this key.
    #[must_use]
    pub fn decline(mut self, key: impl Into<String>) -> Self {
        self.answers.insert(key.into(), TestAnswer::Declined);
        self
    }

    /// Cancels the question with this key: the user dismisses the form.
    #[must_use]
    pub fn cancel(mut self, key: impl Into<String>) -> Self {
        self.answers.insert(key.into(), TestAnswer::Cancelled);
        self
    }

    /// Adds a value to the user's cache, as if an earlier call had stored it.
    #[must_use]
    pub fn cached(mut self, key: &str, value: &str) -> Self {
        self.cached.seed(key, value, self.clock.now());
        self
    }

    /// Continues with the user's cache as an earlier call has left it, `later` than that call: values whose
    /// lifetime has ended by then are gone. For values of [`cached`](Self::cached) too, call this first.
    #[must_use]
    pub fn after(mut self, earlier: &Outcome, later: Duration) -> Self {
        self.cached = earlier.cached.clone();
        self.clock = earlier.clock.later(later);
        self
    }

    pub(super) fn target(&self) -> &CallTarget {
        &self.target
    }

    pub(super) fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Returns a message for each credential, account and setting that a server would not store for this
    /// toolkit.
    pub(super) fn problems(&self, definition: &ToolkitDefinition) -> Vec<String> {
        self.environment.problems(definition)
    }

    pub(super) fn prepare(self, definition: ToolkitDefinition, arguments: &Value) -> (Invocation, Platform) {
        let Environment { secrets, account, config } = self.environment;
        let config = config::effective(&definition.config, &config);
        let invocation = Invocation {
            arguments: arguments.to_string(),
            user_id: self.user_id,
            config: Value::Object(config).to_string(),
        };
        // Prompts, resources and completions cannot ask questions.
        let is_tool = matches!(self.target, CallTarget::Tool(_));
        let answers = if is_tool { self.answers } else { BTreeMap::new() };
        let network = Network {
            toolkit: definition.id.clone(),
            egress: definition.egress.clone(),
            auth: definition.auth.clone(),
            secrets,
            account,
            ..Network::default()
        };
        let state = HostState {
            definition,
            clock: self.clock,
            network: RefCell::new(network),
            upstream: self.upstream,
            library: RefCell::new(Library::of(self.documents)),
            questions: Questions::new(answers),
            cached: RefCell::new(self.cached),
            effects: Effects::default(),
        };
        (invocation, Platform(Rc::new(state)))
    }
}
