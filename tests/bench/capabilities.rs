//! Cost of capabilities: each compared with the same call without it, in one process and on one thread.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use kitbag::app;
use kitbag::settings::{Settings, Sources};
use kitbag_base::metrics::Metrics;
use kitbag_base::redaction::Redactor;
use kitbag_manifest::ToolkitDefinition;
use kitbag_net::egress::{Egress, EgressSettings};
use kitbag_sandbox::capabilities::Services;
use kitbag_sandbox::{Background, Loaded, Sandbox};
use kitbag_vault::UserSecrets;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Outcome;
use crate::attached;
use crate::candidate;
use crate::child::Server;
use crate::client::Connection;
use crate::components::Components;
use crate::load::micros;
use crate::report::Effort;
use crate::sandbox_share::{self, invocation, times};
use crate::stats::median;

/// Number of secrets that the benchmark's user has set.
const SECRETS: usize = 16;
/// Size of the text to redact, in KiB.
const TEXT_KIB: usize = 64;

/// Median durations, in µs.
#[derive(Debug, Serialize)]
pub(crate) struct Capabilities {
    /// Call of the guest without any capability.
    pub(crate) plain_us: f64,
    /// Call that reads one secret.
    pub(crate) secret_us: f64,
    /// Redaction of a user's secrets, per KiB of a result.
    pub(crate) redaction_us_per_kib: f64,
    /// Metrics of one call.
    pub(crate) metrics_us: f64,
    /// Call with one request to a server on this machine.
    pub(crate) fetch_us: f64,
    /// Call with one request, with a token of the toolkit's own grant.
    pub(crate) fetch_with_grant_us: f64,
    /// Call with one request, with the account of its user.
    pub(crate) fetch_with_account_us: f64,
    /// Same request by a plain hyper client on an open connection.
    pub(crate) hyper_us: f64,
}

/// Measures all capabilities with the guest `probe`.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<Capabilities> {
    eprintln!("Measuring capabilities");
    let upstream = candidate::own("floor", "serve-floor")?.server;
    let toolkit = load(&components.probe, &upstream).await?;
    let calls = async |tool: &str, arguments: Value, count: usize| {
        let mut invocation = invocation(tool, &arguments);
        invocation.secrets = Arc::new(secrets());
        times(&toolkit, &invocation, count).await.map(|times| times.p50_us)
    };
    let url = format!("http://{}/", upstream.address());
    let fetch = json!({ "method": "POST", "url": url, "body": "{}" });
    let [fetch_with_grant_us, fetch_with_account_us] =
        attached::measure(components, &upstream, effort).await?;
    Ok(Capabilities {
        fetch_with_grant_us,
        fetch_with_account_us,
        plain_us: calls("nothing", json!({}), effort.calls).await?,
        secret_us: calls("secret", json!({ "name": "API_KEY" }), effort.calls).await?,
        redaction_us_per_kib: redaction(effort),
        metrics_us: metrics(effort),
        fetch_us: calls("fetch", fetch, effort.calls / 10).await?,
        hyper_us: hyper(&upstream, effort.calls / 10).await?,
    })
}

/// Loads the probe with the grants that it declares, except that it may reach the benchmark's upstream only.
async fn load(component: &[u8], upstream: &Server) -> Outcome<Loaded> {
    let settings = Settings::load(Sources::default(), None)?;
    let toolkit_ranges = std::iter::once("127.0.0.0/8".parse()?).collect();
    let egress = Egress::new(EgressSettings { toolkit_ranges, ..EgressSettings::default() });
    let sandbox = Sandbox::new(app::limits(&settings), Services::new(egress), Background::start()?)?;
    let declare = |declared| ToolkitDefinition { egress: vec![upstream.address().to_string()], ..declared };
    sandbox_share::load(&sandbox, component, declare).await
}

/// Secrets that the user has set for the probe.
fn secrets() -> UserSecrets {
    let names = (1..SECRETS).map(|number| format!("KEY_{number}")).chain(["API_KEY".to_owned()]);
    let secret = |name: String| {
        let value = format!("sk-wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLE-{name}");
        (("probe".to_owned(), name), SecretString::from(value))
    };
    UserSecrets::of(names.map(secret).collect())
}

/// Measures redaction, in µs per KiB of text without any secret in it.
fn redaction(effort: &Effort) -> f64 {
    let secrets = secrets();
    let redactor: &Redactor = secrets.redactor();
    let text = candidate::text().repeat(TEXT_KIB * 1024 / candidate::text().len());
    let rounds = (effort.calls / 100).max(3);
    median((0..rounds).map(|_| {
        let started = Instant::now();
        black_box(redactor.redact(black_box(&text)));
        micros(started.elapsed()) / TEXT_KIB as f64
    }))
}

/// Measures, in µs, all metrics of a call: the call itself, the check of the caller, the response.
fn metrics(effort: &Effort) -> f64 {
    let metrics = Metrics::default();
    let time = Duration::from_micros(100);
    let count = || {
        metrics.sign_in_check(black_box("accepted"));
        metrics.call(black_box("text"), "succeeded", time, Some(time));
        metrics.response(black_box(200));
    };
    let at_once = 1000;
    median((0..(effort.calls / 100).max(3)).map(|_| {
        let started = Instant::now();
        for _ in 0..at_once {
            count();
        }
        micros(started.elapsed()) / f64::from(at_once)
    }))
}

async fn hyper(upstream: &Server, requests: usize) -> Outcome<f64> {
    let mut connection = Connection::open(upstream.address()).await?;
    let request = Request::post("/")
        .header(header::HOST, upstream.address().to_string())
        .body(Full::new(Bytes::from_static(b"{}")))?;
    let mut times = Vec::with_capacity(requests);
    for _ in 0..requests {
        let started = Instant::now();
        connection.exchange(&request).await?;
        times.push(micros(started.elapsed()));
    }
    Ok(median(times))
}
