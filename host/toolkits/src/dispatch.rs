//! Dispatches calls of tools, prompts, resources and completions: (caller, callee, arguments) → reply.
//! Arguments are validated; results are redacted and validated.
//!
//! Invariant: internal details of a failure never reach the reply. They go to the record of the call, which
//! is written here exactly once, even if the call is cancelled.

mod admission;
mod call;
mod callee;
mod checks;
mod inspection;
mod invocation_log;
mod redact;
mod reply;

use std::borrow::Borrow;
use std::fmt::Display;
use std::io;
use std::mem::take;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kitbag_base::bounded_json::compact;
use kitbag_base::workers::{INLINE_BYTES, Workers};
use kitbag_identity::Caller;
use kitbag_manifest::{ToolkitDefinition, config};
use kitbag_net::egress::Membership;
use kitbag_net::traces::{CallStep, Called, Trace};
use kitbag_sandbox::contract::Target;
use kitbag_sandbox::observations::{Observations, Reason};
use kitbag_sandbox::{Ended, Fault, Invocation, Loaded, Report};
use kitbag_vault::UserSecrets;
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::{Instrument, error};

use crate::code_runner::{self, NoCodeRunner, RUN_CODE};
use crate::invocations::{Conclusion, Outcome};
use crate::knowledge_tools::Reader;
use crate::offers::Offer;
use crate::registry::Tool;
use admission::Admission;
pub use admission::AdmissionLimits;
pub use call::{Call, CallServices};
pub use callee::Callee;
use callee::{NotPrepared, Prepared};
use checks::{Checked, Checks};
use inspection::{CallHead, CallInspection, Refusal};
pub use inspection::{Inspection, InspectionSettings, InvalidKey, WhenUnavailable};
use invocation_log::{Recording, conclude, result_size};
pub use kitbag_sandbox::capabilities::ask::{Answers, Response};
pub use kitbag_sandbox::capabilities::progress::{ProgressListener, ProgressReport};
pub use kitbag_sandbox::observations::QuestionId;
use redact::WorkersOf;
pub use reply::{ErrorCode, Failure, Reply, Success};

/// Maximum time that a call waits for its toolkit, which may have to be compiled again. Compiling continues
/// after that.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// Dispatches calls.
pub struct Dispatch {
    services: CallServices,
    admission: Admission,
    checks: Checks,
}

/// The values of a call, which were checked.
struct Input {
    arguments: Value,
    /// The caller's settings, as JSON.
    config: String,
    secrets: Arc<UserSecrets>,
}

/// A call that runs.
#[derive(Clone, Copy)]
struct Runs<'a> {
    call: &'a Call<'a>,
    prepared: &'a Prepared<'a>,
    /// `None` if calls are not inspected.
    inspection: Option<&'a CallInspection>,
    trace: &'a Trace,
}

/// Receiver of progress reports.
struct Listener {
    reports: ProgressListener,
    /// Whether messages are removed from reports: they would leave before the result is inspected.
    is_mute: bool,
}

/// The tool could not be called because of a server error; the cause is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the toolkit cannot run at the moment")]
pub struct Unavailable;

impl Dispatch {
    /// Creates a dispatcher. Calls get the caller's secrets and settings once the caller has agreed to the
    /// toolkit's reach. Fails if threads cannot be started.
    pub fn new(services: CallServices, limits: AdmissionLimits) -> io::Result<Self> {
        Ok(Self { services, admission: Admission::new(limits), checks: Checks::start()? })
    }

    /// Returns the number of calls in flight.
    pub fn calls_in_flight(&self) -> usize {
        self.admission.in_flight()
    }

    /// Makes a call. `listener` receives progress reports. Dropping the future ends the call.
    pub async fn call(
        &self,
        call: Call<'_>,
        arguments: Map<String, Value>,
        listener: Option<ProgressListener>,
    ) -> Result<Reply, Unavailable> {
        let Call { arrival, tool, .. } = call;
        if !self.services.invocations.can_record() {
            return Err(Unavailable);
        }
        let called = Called { toolkit: tool.toolkit(), method: tool.method(), name: &tool.record_name() };
        let span = self.services.traces.begin(arrival, called);
        let in_log = span.in_log();
        let trace = span.below();
        let mut recording = Recording::start(&self.services, &call, span);
        let recorded = async move {
            match self.run(call, arguments, listener, &trace, &mut recording).await {
                Ok((reply, conclusion)) => {
                    recording.end(conclusion);
                    Ok(reply)
                }
                Err(unavailable) => {
                    recording.end(Outcome::Unavailable.into());
                    Err(unavailable)
                }
            }
        };
        recorded.instrument(in_log).await
    }

    /// Redacts a user's secrets from texts that are sent to models.
    pub async fn redacted(&self, user_id: &str, mut texts: Vec<String>) -> Result<Vec<String>, Unavailable> {
        let secrets = self.services.vault.of_user(user_id).await.map_err(|cause| {
            error!(%cause, "texts cannot be redacted");
            Unavailable
        })?;
        let workers = self.workers_of(user_id);
        for text in &mut texts {
            *text = redact::text(workers, take(text), &secrets).await;
        }
        Ok(texts)
    }

    /// The threads that process a user's large data.
    pub fn workers(&self) -> &Workers {
        &self.services.workers
    }

    fn workers_of<'a>(&'a self, user: &'a str) -> WorkersOf<'a> {
        WorkersOf { workers: &self.services.workers, user }
    }

    /// Encodes the arguments of a call.
    async fn json(&self, user: &str, arguments: impl Borrow<Value> + Send + 'static) -> String {
        let json = match compact(arguments.borrow(), INLINE_BYTES) {
            Some(json) => json,
            None => {
                self.services
                    .workers
                    .run_in_turn(user, move || arguments.borrow().to_string().into_bytes())
                    .await
            }
        };
        String::from_utf8(json).expect("JSON is UTF-8")
    }

    async fn run(
        &self,
        call: Call<'_>,
        arguments: Map<String, Value>,
        listener: Option<ProgressListener>,
        trace: &Trace,
        recording: &mut Recording<'_>,
    ) -> Result<(Reply, Conclusion), Unavailable> {
        let Call { caller, tool, ref limits, ref run, .. } = call;
        let step = trace.begin(CallStep::Admit);
        let user = &caller.user_id;
        let id = &tool.toolkit().id;
        let admitted = match (tool, run) {
            (Callee::Code(_), _) => self.admission.enter_run(user),
            (_, Some(_)) => Some(self.admission.wait_to_enter(user, id).await),
            (_, None) => self.admission.enter(user, id),
        };
        let Some(_admitted) = admitted else {
            return Ok((Reply::Failure(Failure::busy()), Outcome::Busy.into()));
        };
        // Before any data of the user is read for the call.
        if let Some(refusal) = self.awaiting_consent(tool, caller).await? {
            return Ok((Reply::Failure(refusal), Outcome::NeedsConsent.into()));
        }
        let prepared = timeout(READY_TIMEOUT, tool.prepare());
        let (prepared, secrets) = tokio::join!(prepared, self.services.vault.for_call(user, id));
        let Ok(prepared) = prepared else {
            return Ok((Reply::Failure(Failure::not_ready()), Outcome::Busy.into()));
        };
        let prepared = match prepared {
            Err(NotPrepared::Code(NoCodeRunner::NotInstalled)) => {
                return Ok((Reply::Failure(Failure::no_code()), Outcome::ToolError.into()));
            }
            prepared => prepared.map_err(|cause| unavailable(tool.toolkit(), &cause))?,
        };
        // Secrets that cannot be read cannot be redacted, so the call must not start.
        let secrets = secrets.map_err(|cause| unavailable(tool.toolkit(), &cause))?;
        drop(step);

        let step = trace.begin(CallStep::CheckArguments);
        let arguments = Value::Object(arguments);
        let arguments = match self.checks.check(user, prepared.input(), arguments).await {
            Checked::Valid(arguments) => arguments,
            Checked::Violations(violations) => {
                let clean = redact::texts(self.workers_of(user), violations, &secrets).await;
                return Ok((Reply::Failure(Failure::invalid_params(clean)), Outcome::InvalidParams.into()));
            }
            Checked::TimedOut => {
                return Ok((Reply::Failure(Failure::unchecked_arguments()), Outcome::Busy.into()));
            }
        };
        drop(step);
        let counted = self.services.toolkits.limited_calls.count(id, limits).await;
        if let Err(over) = counted.map_err(|cause| unavailable(tool.toolkit(), &cause))? {
            return Ok((Reply::Failure(Failure::over_limit(id, &over)), Outcome::OverLimit.into()));
        }
        let config = self.config(tool.toolkit(), caller).await?;
        recording.begin(secrets.account_name(id).map(str::to_owned));
        let inspection = self.inspection_of(&call, recording);
        let (arguments, inspected) = match &inspection {
            None => (arguments, Ok(())),
            Some(inspection) => {
                let _step = trace.begin(CallStep::Inspect);
                self.inspected(inspection, arguments, &call, &secrets).await
            }
        };
        if let Err(refusal) = inspected {
            return Ok(refusal.of_arguments());
        }
        let input = Input { arguments, config, secrets };
        let runs = Runs { call: &call, prepared: &prepared, inspection: inspection.as_ref(), trace };
        let (report, observations) = self.execute(runs, &input, listener, recording).await;
        Ok(self.conclude(runs, report, &observations, &input.secrets).await)
    }

    /// Begins the inspection of a call, if the operator has set up a service for it.
    fn inspection_of(&self, call: &Call<'_>, recording: &Recording<'_>) -> Option<CallInspection> {
        let inspection = self.services.inspection.as_ref()?;
        Some(inspection.of_call(CallHead::of(call, recording.call())))
    }

    /// Has the arguments of a call inspected, and returns them.
    async fn inspected(
        &self,
        inspection: &CallInspection,
        arguments: Value,
        call: &Call<'_>,
        secrets: &Arc<UserSecrets>,
    ) -> (Value, Result<(), Refusal>) {
        let user = &call.caller.user_id;
        let arguments = Arc::new(arguments);
        let json = self.json(user, arguments.clone()).await;
        let inspected =
            inspection.arguments(self.workers_of(user), json, call.answers.as_ref(), secrets).await;
        (Arc::unwrap_or_clone(arguments), inspected)
    }

    /// Runs a call whose arguments were checked.
    async fn execute(
        &self,
        Runs { call, prepared, inspection, trace }: Runs<'_>,
        Input { arguments, config, secrets }: &Input,
        listener: Option<ProgressListener>,
        recording: &mut Recording<'_>,
    ) -> (Report, Observations) {
        let Call { caller, groups, readable, tool, answers, .. } = call;
        let user = &caller.user_id;
        let arguments = arguments.clone();
        let listener = listener.map(|reports| Listener { reports, is_mute: inspection.is_some() });
        let invocation = |target, arguments| Invocation {
            target,
            arguments,
            user_id: user.clone(),
            membership: Membership::Of(groups.names()),
            readable: readable.clone(),
            owner: tool.owner().to_owned(),
            config: config.clone(),
            secrets: secrets.clone(),
            progress: None,
            answers: answers.clone(),
            inner_calls: None,
        };
        match prepared {
            Prepared::Toolkit(tool, ready) => {
                let target = Target::Tool(tool.definition().name.clone());
                let invocation = invocation(target, self.json(user, arguments).await);
                call_toolkit(&ready.code, invocation, listener, trace, recording).await
            }
            Prepared::Offer(offer, ready) => {
                let (target, arguments) = callee::target(offer, arguments);
                let invocation = invocation(target, self.json(user, arguments).await);
                call_toolkit(&ready.code, invocation, listener, trace, recording).await
            }
            Prepared::Code(run, code) => {
                let arguments = self.json(user, code_runner::arguments(arguments)).await;
                let invocation = invocation(Target::Tool(RUN_CODE.to_owned()), arguments);
                let invocation = Invocation { inner_calls: Some(run.calls.clone()), ..invocation };
                call_toolkit(code, invocation, listener, trace, recording).await
            }
            Prepared::Own(tool) => {
                let observations = Observations::default();
                recording.watch(&observations, secrets);
                let reader = Reader { user_id: user, readable };
                (callee::call_own(tool, &reader, secrets, arguments).await, observations)
            }
        }
    }

    /// Redacts, checks and inspects the result of a call.
    async fn conclude(
        &self,
        Runs { call, prepared, inspection, trace }: Runs<'_>,
        mut report: Report,
        observations: &Observations,
        secrets: &Arc<UserSecrets>,
    ) -> (Reply, Conclusion) {
        let step = trace.begin(CallStep::CheckResult);
        let Call { caller, tool, .. } = call;
        let user = &caller.user_id;
        // Before redaction: afterwards the size would reveal whether it contained a secret.
        let result_size = result_size(&report.ended);
        let missing = reply::missing_secrets(&report.ended, &observations.missing);
        let sign_in_failure = reply::sign_in_failure(&report.ended, &observations.sign_in);
        let refused_hosts = reply::refused_hosts(&report.ended, &observations.refused_hosts);
        let has_content = reply::has_content(&report.ended);
        // The result counts as memory of the call until it has been inspected.
        let held = report.held.take();
        let mut report = redact::report(self.workers_of(user), report, secrets, &observations.tokens).await;
        let structured = self.checks.structured(user, &mut report.ended, prepared.output()).await;
        let (mut reply, conclusion) = conclude(report, result_size, structured);
        reply.complete_links(tool.toolkit());
        if let Callee::Code(_) = tool {
            // The component limits its result, but the code inside it could change that.
            reply.cut_to(code_runner::MAX_ANSWER);
        }
        if let Reply::Failure(failure) = &mut reply {
            failure.missing_secrets = missing;
            explain(self.workers_of(user), failure, sign_in_failure, secrets).await;
            if let Some(refused) = refused_hosts {
                failure.explain_refused_hosts(refused);
            }
        }
        drop(step);
        let Some(inspection) = inspection.filter(|_| has_content) else { return (reply, conclusion) };
        let _step = trace.begin(CallStep::Inspect);
        let (reply, inspected) = inspection.reply(self.workers_of(user), reply).await;
        drop(held);
        match inspected {
            Ok(()) => (reply, conclusion),
            Err(refusal) => refusal.of_result(conclusion),
        }
    }

    /// Returns the refusal of a call whose toolkit reaches further than its caller has agreed to.
    async fn awaiting_consent(&self, tool: &Callee, caller: &Caller) -> Result<Option<Failure>, Unavailable> {
        let (Callee::Toolkit(Tool { toolkit, .. }) | Callee::Offer(Offer { toolkit, .. })) = tool else {
            return Ok(None);
        };
        let beyond = self.services.toolkits.consents.awaited(&caller.user_id, toolkit).await;
        let beyond = beyond.map_err(|cause| unavailable(&toolkit.definition, &cause))?;
        Ok((!beyond.is_empty()).then(|| Failure::needs_consent(&toolkit.definition, &beyond)))
    }

    /// Returns the caller's settings as JSON text. Not read for a toolkit that declares none.
    async fn config(&self, toolkit: &ToolkitDefinition, caller: &Caller) -> Result<String, Unavailable> {
        let ToolkitDefinition { id, config: fields, .. } = toolkit;
        if fields.is_empty() {
            return Ok("{}".to_owned());
        }
        let values = self.services.user_config.values(&caller.user_id, id).await;
        let values = values.map_err(|cause| unavailable(toolkit, &cause))?;
        Ok(Value::Object(config::effective(fields, &values)).to_string())
    }
}

/// Replaces the handler's error if the host could not sign in.
async fn explain(
    workers: WorkersOf<'_>,
    failure: &mut Failure,
    sign_in: Option<Reason>,
    secrets: &Arc<UserSecrets>,
) {
    let Some(reason) = sign_in else { return };
    failure.envelope = reason.failure;
    failure.needs_account = reason.is_about_account;
    failure.envelope.error = redact::text(workers, take(&mut failure.envelope.error), secrets).await;
}

/// Runs a call in the sandbox.
async fn call_toolkit(
    code: &Loaded,
    invocation: Invocation,
    listener: Option<Listener>,
    trace: &Trace,
    recording: &mut Recording<'_>,
) -> (Report, Observations) {
    let step = trace.begin(CallStep::Sandbox);
    let observations = Observations { trace: step.below(), ..code.new_observations() };
    recording.watch(&observations, &invocation.secrets);
    recording.got_arguments(invocation.arguments.len());
    let mut report = match listener {
        None => code.call(invocation, &observations).await,
        Some(listener) => call_with_progress(code, invocation, &observations, listener).await,
    };
    drop(step);
    if !matches!(report.ended, Ended::Faulted(Fault::NoRoom(_))) {
        recording.ran_for(report.duration);
    }
    if let Some(instance) = report.instance.take() {
        instance.drop_later();
    }
    (report, observations)
}

/// Runs a call, and forwards its progress reports.
async fn call_with_progress(
    code: &Loaded,
    mut invocation: Invocation,
    observations: &Observations,
    Listener { reports: listener, is_mute }: Listener,
) -> Report {
    let (sender, mut reports) = mpsc::channel(listener.max_capacity());
    let secrets = invocation.secrets.clone();
    invocation.progress = Some(sender);
    // Reports are dropped if the client reads slowly, so that the guest never waits.
    let forward = |mut report: ProgressReport| {
        if is_mute {
            report.message = None;
        }
        redact::progress(report, &secrets, &observations.tokens).map(|report| listener.try_send(report))
    };
    let mut call = pin!(code.call(invocation, observations));
    loop {
        tokio::select! {
            biased;
            Some(report) = reports.recv() => drop(forward(report)),
            report = &mut call => {
                while let Ok(last) = reports.try_recv() {
                    drop(forward(last));
                }
                return report;
            }
        }
    }
}

fn unavailable(toolkit: &ToolkitDefinition, cause: &dyn Display) -> Unavailable {
    error!(toolkit.id = %toolkit.id, %cause, "toolkit cannot run");
    Unavailable
}
