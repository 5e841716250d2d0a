//! Runs one call: a fresh instance, its limits, and its outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_base::memory::{Lease, MemoryBudget, Shortage};
use kitbag_base::shares::Share;
use kitbag_knowledge::Holder;
use kitbag_manifest::asking;
use kitbag_manifest::question::Question;
use kitbag_net::egress::Membership;
use kitbag_vault::UserSecrets;
use tokio::sync::Semaphore;
use wasmtime::component::{Component, Linker};
use wasmtime::{CallHook, Engine, Store};

use super::Sandbox;
use super::background::Background;
use super::call_data::CallData;
use super::fault::fault;
use super::instance::Instance;
use super::limits::{Limits, Meter, TABLE_ELEMENT_BYTES};
use crate::capabilities::ask::Answers;
use crate::capabilities::fetch::inner_calls::InnerCalls;
use crate::capabilities::progress::ProgressListener;
use crate::capabilities::{CallContext, Capabilities, Grants, Services};
use crate::contract::{CallError, GuestCall, LinkedToolkit, Target, ToolResult};
use crate::observations::{Observations, QuestionId, Transcript, Unanswered, UsageSnapshot};

/// The parameters of a call: what is called, its arguments, the user and their data.
#[derive(Clone)]
pub struct Invocation {
    /// The tool, prompt, resource or completion to call.
    pub target: Target,
    /// Arguments, as a JSON object.
    pub arguments: String,
    /// The calling user.
    pub user_id: String,
    /// The user's groups, by which the operator permits hosts to toolkits.
    pub membership: Membership,
    /// Holders whose documents the user may read; the user is one of them.
    pub readable: Arc<[Holder]>,
    /// The toolkit's owner; empty for the component that runs code of models, which has no owner.
    pub owner: String,
    /// The user's settings for the toolkit, as a JSON object.
    pub config: String,
    /// The user's secrets for all toolkits.
    pub secrets: Arc<UserSecrets>,
    /// Receives progress reports, if the client wants them.
    pub progress: Option<ProgressListener>,
    /// The user's answers so far; `None` if the client cannot ask the user.
    pub answers: Option<Arc<Answers>>,
    /// Handler of the guest's HTTP requests in place of the network, if any.
    pub inner_calls: Option<Arc<dyn InnerCalls>>,
}

/// The outcome of a call, with its log and measurements.
#[derive(Debug)]
pub struct Report {
    /// Outcome of the call.
    pub ended: Ended,
    /// The guest's log.
    pub log: Transcript,
    /// Outbound traffic of the call.
    pub usage: UsageSnapshot,
    /// Wall time of the call, including the wait for memory.
    pub duration: Duration,
    /// Durations of the call's stages, if the guest returned.
    pub stages: Option<Stages>,
    /// Counts the result as memory of the user's calls until dropped.
    pub held: Option<Share>,
    /// The guest's instance, if it has not been dropped yet.
    pub instance: Option<Instance>,
}

/// Durations of a call's stages. The rest of the call's duration is set-up and tear-down.
#[derive(Clone, Copy, Debug)]
pub struct Stages {
    /// Time to instantiate the component.
    pub instantiation: Duration,
    /// Time in the guest, including the host functions that it called.
    pub work: Duration,
}

/// Outcome of a call.
#[derive(Debug)]
pub enum Ended {
    /// The handler returned a result.
    Returned(ToolResult),
    /// The handler returned an error.
    Refused(CallError),
    /// The host ended the run because a question to the user has no answer yet.
    Asked(QuestionId, Question),
    /// The guest was stopped, or trapped.
    Faulted(Fault),
}

/// Reason why a guest was stopped. The texts are for the log only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call exceeded its deadline.
    Deadline(Duration),
    /// The guest reached the named limit and stopped.
    Limit(&'static str),
    /// The guest needed more memory than was left in the memory budget for calls.
    OutOfMemory(Shortage),
    /// The memory budget for calls, or the pool of instances, had no room to start the call before the
    /// timeout.
    NoRoom(Shortage),
    /// The result, or the data of one host call, is too large.
    ResultTooLarge,
    /// The guest trapped, or violated the contract.
    Trap(String),
}

/// Maximum time that a call waits for the memory and the slot that it needs to start.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(5);

/// A linked component, which can be instantiated repeatedly.
pub(super) struct Runner {
    toolkit: LinkedToolkit<CallData>,
    background: Background,
    limits: Arc<Limits>,
    services: Services,
    grants: Grants,
    memory: MemoryBudget,
    slots: Arc<Semaphore>,
    /// Upper bound of the initial size of an instance's memories and tables, in bytes.
    initial_memory: usize,
}

impl Runner {
    pub(super) fn new(
        sandbox: &Sandbox,
        linker: &Linker<CallData>,
        component: &Component,
        grants: Grants,
    ) -> wasmtime::Result<Self> {
        let toolkit = LinkedToolkit::new(linker.instantiate_pre(component)?)?;
        let Sandbox { background, limits, services, memory, slots, .. } = sandbox.clone();
        // The store's limiter refuses an instance that starts with more than the limit.
        let initial_memory = initial_memory(component).min(limits.memory);
        Ok(Self { toolkit, background, limits, services, grants, memory, slots, initial_memory })
    }

    pub(super) fn new_observations(&self) -> Observations {
        Observations::new(self.limits.log)
    }

    pub(super) async fn run(self: Arc<Self>, invocation: Invocation, observations: &Observations) -> Report {
        let started = Instant::now();
        let Observations { log, usage, .. } = observations;
        let (lease, mut instance) = match self.admit(&invocation, observations).await {
            Ok(admitted) => admitted,
            Err(shortage) => {
                let ended = Ended::Faulted(Fault::NoRoom(shortage));
                let log = log.take();
                let usage = usage.snapshot();
                let duration = started.elapsed();
                return Report { ended, log, usage, duration, stages: None, held: None, instance: None };
            }
        };

        let deadline = self.limits.call_time;
        let runner = self.clone();
        let guest = async move {
            let outcome = runner.drive(&mut instance.store, invocation).await;
            // The instance is returned with the outcome, so that it is dropped on a server thread: freeing its
            // memory takes locks that calls share, and a background thread may be descheduled while it holds
            // one.
            (outcome, instance)
        };
        let (ended, stages, held, instance) = match self.background.run(deadline, guest).await {
            Ok((Ok((ended, stages)), instance)) => {
                // Counted before the guest's memory is released: the result is a copy of a part of that
                // memory.
                let held = lease.count_existing(2 * size(&ended));
                (ended, Some(stages), Some(held), Some(instance))
            }
            Ok((Err(error), instance)) => {
                (Ended::Faulted(fault(&error, instance.store.data())), None, None, Some(instance))
            }
            Err(_elapsed) => (Ended::Faulted(Fault::Deadline(deadline)), None, None, None),
        };
        let ended = match (ended, lease.shortage()) {
            (Ended::Faulted(Fault::Trap(trap)), None) => match observations.asked.take() {
                None => Ended::Faulted(Fault::Trap(trap)),
                Some(Unanswered::Asked { id, question }) => Ended::Asked(id, question),
                Some(Unanswered::Unfit { key, violations }) => {
                    let problem = asking::unfit(&key, &violations.join("; "));
                    Ended::Refused(CallError::InvalidParams(problem))
                }
            },
            // The handler returned an error because a request failed for lack of memory: reports the actual
            // cause.
            (Ended::Refused(_), Some(shortage)) => Ended::Faulted(Fault::OutOfMemory(shortage)),
            (ended, _) => ended,
        };

        let instance = instance.map(Instance::close);
        // Read after the instance was closed, because closing logs its last incomplete output line.
        let log = log.take();
        let usage = usage.snapshot();
        let duration = started.elapsed();
        Report { ended, log, usage, duration, stages, held, instance }
    }

    /// Waits for the memory and the slot needed to start.
    async fn admit(
        &self,
        invocation: &Invocation,
        observations: &Observations,
    ) -> Result<(Arc<Lease>, Instance), Shortage> {
        let timeout = ADMISSION_TIMEOUT.min(self.limits.call_time);
        let needed = self
            .initial_memory
            .saturating_add(self.limits.host_memory())
            .saturating_add(invocation.arguments.len())
            .saturating_add(invocation.config.len());
        let lease = Arc::new(self.memory.admit(&invocation.user_id, needed, timeout).await?);
        // Instances of finished calls may occupy the last slots for a moment.
        let slot = tokio::time::timeout(timeout, self.slots.clone().acquire_owned()).await;
        let slot = slot.ok().and_then(Result::ok).ok_or(Shortage::Server)?;
        let store = self.store(invocation, observations, &lease);
        Ok((lease, Instance::new(store, slot)))
    }

    async fn drive(
        &self,
        store: &mut Store<CallData>,
        invocation: Invocation,
    ) -> wasmtime::Result<(Ended, Stages)> {
        let started = Instant::now();
        let toolkit = self.toolkit.instantiate(store).await?;
        let instantiation = started.elapsed();
        let Invocation { target, arguments, user_id, config, .. } = invocation;
        let returned = toolkit.call(store, GuestCall { target, arguments, user_id, config }).await?;
        let stages = Stages { instantiation, work: started.elapsed().saturating_sub(instantiation) };
        let ended = match returned {
            Ok(result) if result.size() > self.limits.result => Ended::Faulted(Fault::ResultTooLarge),
            Ok(result) => Ended::Returned(result),
            Err(error) => Ended::Refused(error),
        };
        Ok((ended, stages))
    }

    fn store(
        &self,
        invocation: &Invocation,
        observations: &Observations,
        lease: &Arc<Lease>,
    ) -> Store<CallData> {
        let capabilities = Capabilities::of(&CallContext {
            services: &self.services,
            grants: &self.grants,
            owner: &invocation.owner,
            user_id: &invocation.user_id.as_str().into(),
            membership: &invocation.membership,
            readable: &invocation.readable,
            secrets: &invocation.secrets,
            progress: invocation.progress.as_ref(),
            answers: invocation.answers.as_ref(),
            observations,
            lease,
            fetch: &self.limits.fetch,
            inner_calls: invocation.inner_calls.as_ref(),
        });
        let mut state = CallData::new(&self.limits, capabilities);
        state.meter = Meter::new(&self.limits).leasing(lease.clone(), self.initial_memory);
        new_store(self.toolkit.engine(), &self.limits, state)
    }
}

/// Upper bound of the initial size of an instance's memories and tables, in bytes: every memory counts with
/// the size of the largest one, and so does every table.
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

/// Size of the result that the host has copied from a guest, in bytes.
fn size(ended: &Ended) -> usize {
    match ended {
        Ended::Returned(result) => result.size(),
        Ended::Refused(error) => error.size(),
        Ended::Asked(..) | Ended::Faulted(_) => 0,
    }
}

/// Creates a store whose guest is interrupted at every epoch tick, and can pass at most about one maximum
/// result to the host in one host call.
pub(super) fn new_store(engine: &Engine, limits: &Limits, state: CallData) -> Store<CallData> {
    /// Allowance for data around a result of the maximum size: the record, a short error.
    const RESULT_OVERHEAD_BYTES: usize = 64 * 1024;

    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(limits.result.saturating_add(RESULT_OVERHEAD_BYTES));
    // Each handle takes memory besides its resource, even if the component itself defines the resource.
    store.set_max_component_handles(limits.resources.saturating_mul(2));
    store.call_hook(|mut store, hook| match hook {
        CallHook::ReturningFromHost => store.data_mut().after_host_call(),
        CallHook::CallingHost | CallHook::CallingWasm | CallHook::ReturningFromWasm => Ok(()),
    });
    // Yielding at every tick lets `timeout` end a guest that never waits, and keeps a busy guest from
    // blocking a server thread.
    store.epoch_deadline_async_yield_and_update(1);
    store.set_epoch_deadline(1);
    store
}
