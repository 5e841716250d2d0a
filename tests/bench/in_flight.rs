//! Memory of calls in flight.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Outcome;
use crate::child::Server;
use crate::client::Connection;
use crate::components::Components;
use crate::kitbag_server;
use crate::report::Effort;
use crate::tool_call::tool_call;

/// Memory of one call in flight, including its connection.
#[derive(Debug, Serialize)]
pub(crate) struct InFlight {
    pub(crate) calls: u32,
    pub(crate) mib_per_call: f64,
    /// Memory of a call of a toolkit in TypeScript, in MiB.
    pub(crate) script_mib_per_call: f64,
}

/// Starts calls that wait, and measures how much the server's memory grows.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<InFlight> {
    eprintln!("Measuring the memory of calls in flight");
    let greet = ("greeter__greet", json!({ "name": "Ana" }));
    let wait = ("script__wait", json!({}));
    Ok(InFlight {
        calls: effort.in_flight,
        mib_per_call: growth(&components.greeter, greet, effort).await?,
        script_mib_per_call: growth(&components.script, wait, effort).await?,
    })
}

/// Measures the growth of a server's memory per waiting call, in MiB.
async fn growth(
    component: &[u8],
    (tool, arguments): (&str, serde_json::Value),
    effort: &Effort,
) -> Outcome<f64> {
    let data = tempfile::tempdir()?;
    let limits = ["--concurrent-calls=2048", "--memory-for-calls=16GiB"];
    let server = kitbag_server::start(data.path(), &limits)?;
    kitbag_server::deploy(&server, data.path(), component).await?;
    let token = kitbag_server::token(data.path())?;
    let call = |wait_ms: u32| {
        let mut arguments = arguments.clone();
        arguments["wait_ms"] = json!(wait_ms);
        tool_call(server.address(), Some(&token), tool, &arguments)
    };
    // Loads the code, which all calls share.
    Connection::open(server.address()).await?.exchange(&call(0)?).await?;
    let before = server.memory()?;

    let waiting = call(25_000)?;
    let mut calls = JoinSet::new();
    for _ in 0..effort.in_flight {
        let mut connection = Connection::open(server.address()).await?;
        let waiting = waiting.clone();
        calls.spawn(async move { connection.exchange(&waiting).await });
    }
    let grown = settled(&server).await?.saturating_sub(before);
    if let Some(ended) = calls.try_join_next() {
        return Err(format!("a call that should wait has ended: {:?}", ended?).into());
    }
    Ok(f64::from(grown) / 1024.0 / f64::from(effort.in_flight))
}

/// Waits until the server's memory stops growing, and returns it in KiB.
async fn settled(server: &Server) -> Outcome<u32> {
    let mut last = 0;
    loop {
        sleep(Duration::from_millis(500)).await;
        let now = server.memory()?;
        if now <= last {
            return Ok(now);
        }
        last = now;
    }
}
