//! One call: a fresh instance, the limits, and how it ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Component, Linker, ResourceTableError};
use wasmtime::{Engine, Store, Trap};

use super::Sandbox;
use super::background::Background;
use super::content::Content;
use super::limits::Limits;
use super::state::State;
use crate::capabilities::fetch::{Access, Fetch, SignInAccess, UsageSnapshot};
use crate::capabilities::ingest::Ingest;
use crate::capabilities::log::Transcript;
use crate::capabilities::progress::{Progress, ProgressListener};
use crate::capabilities::search::Search;
use crate::capabilities::secrets::Secrets;
use crate::capabilities::{Grants, Trail};
use crate::egress::Egress;
use crate::knowledge::Knowledge;
use crate::outbound_auth::{Account, Credentials, OutboundAuth};
use crate::vault::UserSecrets;
use bindings::ToolkitPre;
use bindings::exports::kitbag::toolkit::tools;

pub(super) mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "package kitbag:host-tools; world toolkit { export kitbag:toolkit/tools@0.1.0; }",
        world: "kitbag:host-tools/toolkit",
        exports: { default: async },
    });
}

/// What a call is: the tool's own name, its arguments and whose call it is.
#[derive(Clone)]
pub struct Invocation {
    /// Without the toolkit's prefix.
    pub tool: String,
    /// JSON object.
    pub arguments: String,
    /// The calling user.
    pub user_id: String,
    /// JSON object of the user's settings.
    pub config: String,
    /// What the user has set, for whichever toolkit.
    pub secrets: Arc<UserSecrets>,
    /// Who wants to know how far it has come.
    pub progress: Option<ProgressListener>,
}

/// How a call went.
#[derive(Debug)]
pub struct Report {
    /// What it came to.
    pub ended: Ended,
    /// What the guest wrote.
    pub log: Transcript,
    /// What it sent and received.
    pub usage: UsageSnapshot,
    /// From the first instruction of instantiation to the end.
    pub duration: Duration,
    /// How much of it each part took, where the guest came to an end by itself.
    pub stages: Option<Stages>,
}

/// The parts of a call that ended; the rest of its duration went into its beginning and its end.
#[derive(Clone, Copy, Debug)]
pub struct Stages {
    /// Making the instance.
    pub instantiation: Duration,
    /// The guest's own work, and what it asked the host for.
    pub work: Duration,
}

/// What a call came to.
#[derive(Debug)]
pub enum Ended {
    /// The handler returned.
    Returned(ToolResult),
    /// The handler returned an error.
    Refused(CallError),
    /// The guest was stopped, or stopped itself.
    Faulted(Fault),
}

/// A handler's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// What the model reads.
    pub text: String,
    /// JSON text, unchecked.
    pub structured: Option<String>,
    /// What stands beside the text.
    pub content: Vec<Content>,
}

/// A handler's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// One that the author means the model to read.
    Tool(ToolError),
    /// The arguments do not fit the handler's types.
    InvalidParams(String),
    /// Anything else, for the log alone.
    Failure(String),
}

/// An error that the author means the model to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// For the model.
    pub message: String,
    /// Whether trying again may help.
    pub retryable: bool,
    /// JSON text for the log.
    pub data: Option<String>,
}

/// Why a guest was stopped. Every text is for the log alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ran longer than it may.
    Deadline(Duration),
    /// It ran into the named limit and gave up.
    Limit(&'static str),
    /// Its result, or what it passed in one host call, is larger than it may be.
    ResultTooLarge,
    /// It trapped, or broke the contract.
    Trap(String),
}

/// A component that is linked and can be instantiated again and again.
pub(super) struct Runner {
    pre: ToolkitPre<State>,
    background: Arc<Background>,
    limits: Arc<Limits>,
    egress: Egress,
    outbound_auth: OutboundAuth,
    knowledge: Option<Knowledge>,
    grants: Grants,
}

impl Runner {
    pub(super) fn new(
        sandbox: &Sandbox,
        linker: &Linker<State>,
        component: &Component,
        grants: Grants,
    ) -> wasmtime::Result<Self> {
        let pre = ToolkitPre::new(linker.instantiate_pre(component)?)?;
        let Sandbox { background, limits, egress, outbound_auth, knowledge, .. } = sandbox.clone();
        Ok(Self { pre, background, limits, egress, outbound_auth, knowledge, grants })
    }

    pub(super) fn new_trail(&self) -> Trail {
        Trail::new(self.limits.log)
    }

    pub(super) async fn run(self: Arc<Self>, invocation: Invocation, trail: &Trail) -> Report {
        let started = Instant::now();
        let mut store = self.store(&invocation, trail);

        let deadline = self.limits.call_time;
        let runner = self.clone();
        let guest = async move {
            let outcome = runner.drive(&mut store, invocation).await;
            // The store goes back with the outcome: giving its memory back takes locks that calls
            // share, and is not left to a thread that may have to wait for the processor.
            (outcome, store)
        };
        let (ended, stages) = match self.background.run(deadline, guest).await {
            Ok((Ok((ended, stages)), _store)) => (ended, Some(stages)),
            Ok((Err(error), store)) => (Ended::Faulted(fault(&error, store.data())), None),
            Err(_elapsed) => (Ended::Faulted(Fault::Deadline(deadline)), None),
        };

        // The instance is gone by now: what it wrote without a line end reaches the log only then.
        let Trail { log, usage, .. } = trail;
        Report { ended, log: log.take(), usage: usage.snapshot(), duration: started.elapsed(), stages }
    }

    async fn drive(
        &self,
        store: &mut Store<State>,
        invocation: Invocation,
    ) -> wasmtime::Result<(Ended, Stages)> {
        let started = Instant::now();
        let toolkit = self.pre.instantiate_async(&mut *store).await?;
        let instantiation = started.elapsed();
        let Invocation { tool, arguments, user_id, config, .. } = invocation;
        let wanted = tools::Invocation { tool, arguments, user_id, config };
        let returned = toolkit.kitbag_toolkit_tools().call_call(store, &wanted).await?;
        let stages = Stages { instantiation, work: started.elapsed().saturating_sub(instantiation) };
        let ended = match returned {
            Ok(result) => self.returned(result),
            Err(error) => Ended::Refused(error.into()),
        };
        Ok((ended, stages))
    }

    fn returned(&self, result: tools::ToolResult) -> Ended {
        let content: Vec<Content> = result.content.into_iter().map(Into::into).collect();
        let size = result.text.len()
            + result.structured.as_ref().map_or(0, String::len)
            + content.iter().map(Content::size).sum::<usize>();
        if size > self.limits.result {
            return Ended::Faulted(Fault::ResultTooLarge);
        }
        Ended::Returned(ToolResult { text: result.text, structured: result.structured, content })
    }

    fn store(&self, invocation: &Invocation, trail: &Trail) -> Store<State> {
        let user_id: Arc<str> = invocation.user_id.as_str().into();
        let access = self.access(invocation, user_id.clone());
        let fetch = Fetch::new(&self.egress, &self.outbound_auth, access, &self.limits.fetch, trail.clone());
        let Grants { toolkit_id, secrets, .. } = self.grants.clone();
        let secrets = Secrets::new(secrets, toolkit_id.clone(), invocation.secrets.clone())
            .noting_in(trail.missing.clone());
        let knowledge = self.knowledge.clone();
        let search = Search { knowledge: knowledge.clone(), user_id: user_id.clone() };
        let (of_user, tokens) = (invocation.secrets.clone(), trail.tokens.clone());
        let ingest = Ingest { knowledge, user_id, toolkit_id, secrets: of_user, tokens };
        let mut state = State::new(&self.limits, trail.log.clone(), fetch, secrets, search, ingest);
        state.progress = Progress::new(invocation.progress.clone());
        new_store(self.pre.engine(), &self.limits, state)
    }

    /// Where the call may send requests, and with which of its caller's secrets the host signs in.
    fn access(&self, invocation: &Invocation, user: Arc<str>) -> Access {
        let Invocation { user_id, secrets, .. } = invocation;
        let Grants { toolkit_id, egress, auth, .. } = self.grants.clone();
        let sign_in = auth.map(|declaration| {
            let value = |name| secrets.get(&toolkit_id, name).cloned();
            let credentials = Credentials {
                client_id: value(&declaration.client_id_secret),
                client_secret: value(&declaration.client_secret_secret),
            };
            let account = Account { user_id: user_id.clone(), toolkit_id };
            SignInAccess { account, declaration, credentials }
        });
        Access { user, allowlist: egress, sign_in, secrets: secrets.clone() }
    }
}

/// Makes a store whose guest is interrupted at every tick of the clock and cannot pass the host
/// more than a result may hold.
pub(super) fn new_store(engine: &Engine, limits: &Limits, state: State) -> Store<State> {
    /// Room for what surrounds a result of the largest size: the record, a short error.
    const SLACK: usize = 64 * 1024;

    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(limits.result.saturating_add(SLACK));
    // Yielding at every tick is what lets `timeout` end a guest that never waits, and keeps one
    // busy guest from holding a thread that others need.
    store.epoch_deadline_async_yield_and_update(1);
    store.set_epoch_deadline(1);
    store
}

/// Explains why the guest stopped, for the log.
pub(super) fn fault(error: &wasmtime::Error, state: &State) -> Fault {
    if let Some(limit) = state.meter.refused() {
        return Fault::Limit(limit);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => Fault::Limit("stack limit"),
        _ if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) => {
            Fault::Limit("limit of streams, requests and timers")
        }
        _ if is_too_much_at_once(error) => Fault::ResultTooLarge,
        _ => Fault::Trap(story(error)),
    }
}

/// Tells the error and its causes, the guest's own frames among them. Not as `Debug` does: with
/// `RUST_BACKTRACE` that adds the host's frames and the paths of its sources, and the caller reads it.
fn story(error: &wasmtime::Error) -> String {
    error.chain().map(ToString::to_string).collect::<Vec<_>>().join("\n\nCaused by: ")
}

/// Whether the guest handed the host more than `set_hostcall_fuel` allows. That error has no type,
/// so it is known by its words; the specification test of a large result notices when they change.
fn is_too_much_at_once(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("fuel allocated for hostcalls")
}

impl From<tools::CallError> for CallError {
    fn from(error: tools::CallError) -> Self {
        match error {
            tools::CallError::ToolError(tools::ToolError { message, retryable, data }) => {
                Self::Tool(ToolError { message, retryable, data })
            }
            tools::CallError::InvalidParams(message) => Self::InvalidParams(message),
            tools::CallError::Failure(detail) => Self::Failure(detail),
        }
    }
}
