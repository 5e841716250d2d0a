//! Cost of the sandbox alone, in process and on one thread: creating an instance, the call, and its end.

use std::sync::Arc;
use std::time::Instant;

use kitbag::app;
use kitbag::settings::{Settings, Sources};
use kitbag_manifest::ToolkitDefinition;
use kitbag_net::egress::{Egress, EgressSettings, Membership};
use kitbag_sandbox::capabilities::{Grants, Services};
use kitbag_sandbox::{Background, CompilerEngine, Ended, Invocation, Loaded, Sandbox, Target};
use serde::Serialize;
use serde_json::json;

use crate::Outcome;
use crate::candidate;
use crate::components::Components;
use crate::load::micros;
use crate::report::Effort;
use crate::stats::{median, percentile};

/// Time of a call in the sandbox, by guest.
#[derive(Debug, Serialize)]
pub(crate) struct Share {
    /// Trivial guest.
    pub(crate) trivial: Times,
    /// `text__count`, including the handler's own work.
    pub(crate) count: Times,
    /// Same tool in TypeScript.
    pub(crate) script: Times,
}

/// Results over many calls: percentiles, and medians of the parts.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Creation of the instance.
    pub(crate) instance_us: f64,
    /// Work of the guest.
    pub(crate) work_us: f64,
    /// Start and end of the call: mostly releasing memory.
    pub(crate) end_us: f64,
    /// Minor page faults per call.
    pub(crate) page_faults: f64,
}

/// Measures the three guests.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<Share> {
    eprintln!("Measuring the sandbox alone");
    let settings = Settings::load(Sources::default(), None)?;
    let services = Services::new(Egress::new(EgressSettings::default()));
    let sandbox = Sandbox::new(app::limits(&settings), services, Background::start()?)?;

    let greeter = load(&sandbox, &components.greeter, |declared| declared).await?;
    let text = load(&sandbox, &components.text, |declared| declared).await?;
    let script = load(&sandbox, &components.script, |declared| declared).await?;
    let count = invocation("count", &json!({ "text": candidate::text() }));
    Ok(Share {
        trivial: times(&greeter, &invocation("greet", &json!({ "name": "Ana" })), effort.calls).await?,
        count: times(&text, &count, effort.calls).await?,
        script: times(&script, &count, effort.calls / 4).await?,
    })
}

/// Compiles a component, gets its declaration, and loads it with the grants returned by
/// `declare(declaration)`.
pub(crate) async fn load(
    sandbox: &Sandbox,
    component: &[u8],
    declare: impl FnOnce(ToolkitDefinition) -> ToolkitDefinition,
) -> Outcome<Loaded> {
    let code = tempfile::NamedTempFile::new()?;
    let engine = CompilerEngine::for_toolkits()?;
    let compiled = engine.compile(component)?;
    std::fs::write(code.path(), compiled.machine_code()?)?;
    let definition = engine.describe(&compiled, sandbox.describe_limits()).await?;
    Ok(sandbox.load(code.path(), &Grants::of(&declare(definition)))?)
}

pub(crate) fn invocation(tool: &str, arguments: &serde_json::Value) -> Invocation {
    Invocation {
        membership: Membership::none(),
        readable: Arc::default(),
        target: Target::Tool(tool.to_owned()),
        arguments: arguments.to_string(),
        user_id: "local".to_owned(),
        owner: "local".to_owned(),
        config: "{}".to_owned(),
        secrets: Arc::default(),
        progress: None,
        answers: None,
        inner_calls: None,
    }
}

/// Measures `count` sequential calls.
pub(crate) async fn times(toolkit: &Loaded, invocation: &Invocation, count: usize) -> Outcome<Times> {
    // The first tenth warms the pool, the caches and the branch predictor.
    for _ in 0..count / 10 {
        call(toolkit, invocation).await?;
    }
    let faults_before = page_faults()?;
    let mut calls = Vec::with_capacity(count);
    for _ in 0..count {
        calls.push(call(toolkit, invocation).await?);
    }
    let faults = page_faults()?.saturating_sub(faults_before);
    let mut whole: Vec<_> = calls.iter().map(|[whole, ..]| *whole).collect();
    Ok(Times {
        p50_us: percentile(&mut whole, 0.5).unwrap_or_default(),
        p99_us: percentile(&mut whole, 0.99).unwrap_or_default(),
        instance_us: median(calls.iter().map(|[_, instance, _]| *instance)),
        work_us: median(calls.iter().map(|[.., work]| *work)),
        end_us: median(calls.iter().map(|[whole, instance, work]| whole - instance - work)),
        page_faults: f64::from(faults) / count as f64,
    })
}

/// Measures one call, in µs: total, creation of the instance, work of the guest.
async fn call(toolkit: &Loaded, invocation: &Invocation) -> Outcome<[f64; 3]> {
    let invocation = invocation.clone();
    let started = Instant::now();
    let report = toolkit.call(invocation, &toolkit.new_observations()).await;
    let whole = micros(started.elapsed());
    match (report.ended, report.stages) {
        (Ended::Returned(_), Some(stages)) => Ok([whole, micros(stages.instantiation), micros(stages.work)]),
        (ended, _) => Err(format!("the guest failed: {ended:?}").into()),
    }
}

/// Minor page faults of this process so far.
fn page_faults() -> Outcome<u32> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, after_name) = stat.rsplit_once(')').ok_or("/proc/self/stat has a name in parentheses")?;
    // Field 10 of proc_pid_stat(5); the name in parentheses was split off.
    Ok(after_name.split_whitespace().nth(7).ok_or("/proc/self/stat has 52 fields")?.parse()?)
}
