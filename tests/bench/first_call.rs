//! First call of a deployed toolkit after a restart of the server.

use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use serde::Serialize;

use crate::Outcome;
use crate::candidate;
use crate::client::Connection;
use crate::components::Components;
use crate::kitbag_server;
use crate::report::Effort;
use crate::stats::median;

/// Medians over several restarts.
#[derive(Debug, Serialize)]
pub(crate) struct FirstCall {
    pub(crate) first_ms: f64,
    pub(crate) second_ms: f64,
}

/// Deploys a toolkit, then repeatedly restarts the server and calls the toolkit.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<FirstCall> {
    eprintln!("Measuring the first call after a restart");
    let data = tempfile::tempdir()?;
    let server = kitbag_server::start(data.path(), &[])?;
    kitbag_server::deploy(&server, data.path(), &components.text).await?;
    drop(server);

    let mut restarts = Vec::new();
    for _ in 0..effort.restarts {
        restarts.push(restart(data.path()).await?);
    }
    Ok(FirstCall {
        first_ms: median(restarts.iter().map(|(first, _)| *first)),
        second_ms: median(restarts.iter().map(|(_, second)| *second)),
    })
}

/// Starts the server; returns the durations of the first and the second call in milliseconds.
async fn restart(data: &Path) -> Outcome<(f64, f64)> {
    let server = kitbag_server::start(data, &[])?;
    let call = candidate::count(server.address(), Some(&kitbag_server::token(data)?))?;
    let mut connection = Connection::open(server.address()).await?;
    // Connection setup is not measured.
    let health = Request::get("/healthz").header(header::HOST, "localhost").body(Full::new(Bytes::new()))?;
    connection.exchange(&health).await?;

    let started = Instant::now();
    connection.exchange(&call).await?;
    let first = started.elapsed();
    let started = Instant::now();
    connection.exchange(&call).await?;
    let second = started.elapsed();
    Ok((first.as_secs_f64() * 1e3, second.as_secs_f64() * 1e3))
}
