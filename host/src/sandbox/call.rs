//! One call: a fresh instance, the limits, and how it ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Component, Linker, ResourceTableError};
use wasmtime::{Engine, Store, Trap};

use super::Sandbox;
use super::background::Background;
use super::content::Content;
use super::limits::{Limits, Meter, TABLE_ELEMENT_BYTES};
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
use crate::memory::{Claim, Lease, MemoryBudget, Shortage};
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
    /// Counts the result as memory of its user's calls for as long as it is here.
    pub held: Option<Claim>,
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
    /// It needed more memory than there was left for calls.
    OutOfMemory(Shortage),
    /// There was no memory for it to begin with, nor did any come free in time.
    NoRoom(Shortage),
    /// Its result, or what it passed in one host call, is larger than it may be.
    ResultTooLarge,
    /// It trapped, or broke the contract.
    Trap(String),
}

/// How long a call waits for memory to begin with.
const MEMORY_WAIT: Duration = Duration::from_secs(5);

/// A component that is linked and can be instantiated again and again.
pub(super) struct Runner {
    pre: ToolkitPre<State>,
    background: Arc<Background>,
    limits: Arc<Limits>,
    egress: Egress,
    outbound_auth: OutboundAuth,
    knowledge: Option<Knowledge>,
    grants: Grants,
    memory: MemoryBudget,
    /// Bytes of the memories and tables that an instance begins with, at most.
    initial_memory: usize,
}

impl Runner {
    pub(super) fn new(
        sandbox: &Sandbox,
        linker: &Linker<State>,
        component: &Component,
        grants: Grants,
    ) -> wasmtime::Result<Self> {
        let pre = ToolkitPre::new(linker.instantiate_pre(component)?)?;
        let Sandbox { background, limits, egress, outbound_auth, knowledge, memory, .. } = sandbox.clone();
        // One that begins with more than a call may have is refused by the store's limiter.
        let initial_memory = initial_memory(component).min(limits.memory);
        Ok(Self { pre, background, limits, egress, outbound_auth, knowledge, grants, memory, initial_memory })
    }

    pub(super) fn new_trail(&self) -> Trail {
        Trail::new(self.limits.log)
    }

    pub(super) async fn run(self: Arc<Self>, invocation: Invocation, trail: &Trail) -> Report {
        let started = Instant::now();
        let arguments = invocation.arguments.len();
        let room = self.initial_memory.saturating_add(self.limits.host_memory()).saturating_add(arguments);
        let patience = MEMORY_WAIT.min(self.limits.call_time);
        let lease = match self.memory.admit(&invocation.user_id, room, patience).await {
            Ok(lease) => Arc::new(lease),
            Err(shortage) => {
                let Trail { log, usage, .. } = trail;
                let ended = Ended::Faulted(Fault::NoRoom(shortage));
                let (log, usage, duration) = (log.take(), usage.snapshot(), started.elapsed());
                return Report { ended, log, usage, duration, stages: None, held: None };
            }
        };
        let mut store = self.store(&invocation, trail, &lease);

        let deadline = self.limits.call_time;
        let runner = self.clone();
        let guest = async move {
            let outcome = runner.drive(&mut store, invocation).await;
            // The store goes back with the outcome: giving its memory back takes locks that calls
            // share, and is not left to a thread that may have to wait for the processor.
            (outcome, store)
        };
        let (ended, stages, held) = match self.background.run(deadline, guest).await {
            Ok((Ok((ended, stages)), _store)) => {
                // Before the guest's memory is given back, of which this is a copy.
                let held = lease.hold(2 * size(&ended));
                (ended, Some(stages), Some(held))
            }
            Ok((Err(error), store)) => (Ended::Faulted(fault(&error, store.data())), None, None),
            Err(_elapsed) => (Ended::Faulted(Fault::Deadline(deadline)), None, None),
        };
        let ended = match (ended, lease.shortage()) {
            // It says what it makes of a request that found no memory; this is what happened.
            (Ended::Refused(_), Some(shortage)) => Ended::Faulted(Fault::OutOfMemory(shortage)),
            (ended, _) => ended,
        };

        // The instance is gone by now: what it wrote without a line end reaches the log only then.
        let Trail { log, usage, .. } = trail;
        Report { ended, log: log.take(), usage: usage.snapshot(), duration: started.elapsed(), stages, held }
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
        let result = ToolResult { text: result.text, structured: result.structured, content };
        if result.size() > self.limits.result {
            return Ended::Faulted(Fault::ResultTooLarge);
        }
        Ended::Returned(result)
    }

    fn store(&self, invocation: &Invocation, trail: &Trail, lease: &Arc<Lease>) -> Store<State> {
        let user_id: Arc<str> = invocation.user_id.as_str().into();
        let access = self.access(invocation, user_id.clone());
        let fetch = Fetch::new(&self.egress, &self.outbound_auth, access, &self.limits.fetch, trail.clone())
            .leasing(lease.clone());
        let Grants { toolkit_id, secrets, .. } = self.grants.clone();
        let secrets = Secrets::new(secrets, toolkit_id.clone(), invocation.secrets.clone())
            .noting_in(trail.missing.clone());
        let knowledge = self.knowledge.clone();
        let search = Search { knowledge: knowledge.clone(), user_id: user_id.clone() };
        let (of_user, tokens) = (invocation.secrets.clone(), trail.tokens.clone());
        let ingest = Ingest { knowledge, user_id, toolkit_id, secrets: of_user, tokens };
        let mut state = State::new(&self.limits, trail.log.clone(), fetch, secrets, search, ingest);
        state.meter = Meter::new(&self.limits).leasing(lease.clone(), self.initial_memory);
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

/// What the memories and tables of an instance take when it begins: as much as the largest of them, each.
fn initial_memory(component: &Component) -> usize {
    let Some(needed) = component.resources_required() else { return 0 };
    let bytes = |count: u32, largest: Option<u64>, size: usize| {
        let largest = usize::try_from(largest.unwrap_or_default()).unwrap_or(usize::MAX);
        (count as usize).saturating_mul(largest).saturating_mul(size)
    };
    bytes(needed.num_memories, needed.max_initial_memory_size, 1).saturating_add(bytes(
        needed.num_tables,
        needed.max_initial_table_size,
        TABLE_ELEMENT_BYTES,
    ))
}

/// Bytes that the host has copied out of a guest that came to an end.
fn size(ended: &Ended) -> usize {
    match ended {
        Ended::Returned(result) => result.size(),
        Ended::Refused(CallError::Tool(error)) => {
            error.message.len() + error.data.as_ref().map_or(0, String::len)
        }
        Ended::Refused(CallError::InvalidParams(text) | CallError::Failure(text)) => text.len(),
        Ended::Faulted(_) => 0,
    }
}

impl ToolResult {
    fn size(&self) -> usize {
        self.text.len()
            + self.structured.as_ref().map_or(0, String::len)
            + self.content.iter().map(Content::size).sum::<usize>()
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
    if let Some(shortage) = state.meter.shortage() {
        return Fault::OutOfMemory(shortage);
    }
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
