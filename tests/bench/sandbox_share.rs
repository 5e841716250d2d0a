//! The sandbox alone, in process and on one thread: a fresh instance, the call, its end.

use std::sync::Arc;
use std::time::Instant;

use kitbag::app;
use kitbag::capabilities::Grants;
use kitbag::egress::{Egress, EgressSettings};
use kitbag::sandbox::{Ended, Functions, Invocation, Loaded, Sandbox};
use kitbag::settings::{Settings, Sources};
use serde::Serialize;
use serde_json::json;

use crate::Outcome;
use crate::candidate;
use crate::components::Components;
use crate::load::micros;
use crate::report::Effort;
use crate::stats::percentile;

/// A call's time in the sandbox.
#[derive(Debug, Serialize)]
pub(crate) struct Share {
    /// A guest that does next to nothing.
    pub(crate) trivial: Times,
    /// `text__count`, its handler's own work included.
    pub(crate) count: Times,
}

/// Percentiles over many calls.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// Measures both guests.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<Share> {
    eprintln!("Measuring the sandbox alone");
    let settings = Settings::load(Sources::default(), None)?;
    let sandbox = Sandbox::new(app::limits(&settings), Egress::new(EgressSettings::default()))?;

    let greeter = load(&sandbox, &components.greeter, |declared| declared).await?;
    let text = load(&sandbox, &components.text, |declared| declared).await?;
    Ok(Share {
        trivial: times(&greeter, &invocation("greet", &json!({ "name": "Ana" })), effort.calls).await?,
        count: times(&text, &invocation("count", &json!({ "text": candidate::text() })), effort.calls)
            .await?,
    })
}

/// Compiles a component, asks it for its declaration, and grants what `grant` makes of that.
pub(crate) async fn load(
    sandbox: &Sandbox,
    component: &[u8],
    grant: impl FnOnce(Grants) -> Grants,
) -> Outcome<Loaded> {
    let code = tempfile::NamedTempFile::new()?;
    std::fs::write(code.path(), sandbox.compile(component, &mut Functions::default())?)?;
    let definition = sandbox.describe(code.path()).await?;
    Ok(sandbox.load(code.path(), &grant(Grants::of(&definition)))?)
}

pub(crate) fn invocation(tool: &str, arguments: &serde_json::Value) -> Invocation {
    Invocation {
        tool: tool.to_owned(),
        arguments: arguments.to_string(),
        user_id: "local".to_owned(),
        config: "{}".to_owned(),
        secrets: Arc::default(),
        progress: None,
    }
}

/// Calls `count` times, one after the other.
pub(crate) async fn times(toolkit: &Loaded, invocation: &Invocation, count: usize) -> Outcome<Times> {
    let mut calls = Vec::with_capacity(count);
    for _ in 0..count {
        let invocation = invocation.clone();
        let started = Instant::now();
        let report = toolkit.call(invocation, &toolkit.new_trail()).await;
        calls.push(micros(started.elapsed()));
        if !matches!(report.ended, Ended::Returned(_)) {
            return Err(format!("the guest failed: {:?}", report.ended).into());
        }
    }
    // The first tenth warms the pool, the caches and the branch predictor.
    let measured = &mut calls[count / 10..];
    Ok(Times {
        p50_us: percentile(measured, 0.5).unwrap_or_default(),
        p99_us: percentile(measured, 0.99).unwrap_or_default(),
    })
}
