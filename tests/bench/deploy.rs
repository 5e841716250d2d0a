//! Deploys of toolkits in TypeScript, one after the other.

use std::time::Instant;

use serde::Serialize;

use crate::Outcome;
use crate::components::Components;
use crate::kitbag_server;

/// Seconds from the first byte of the upload until the response that the toolkit is live.
#[derive(Debug, Serialize)]
pub(crate) struct Deploy {
    pub(crate) first_s: f64,
    pub(crate) second_s: f64,
}

/// Deploys two toolkits on a server without toolkits.
pub(crate) async fn measure(components: &Components) -> Outcome<Deploy> {
    eprintln!("Measuring deploys");
    let data = tempfile::tempdir()?;
    let server = kitbag_server::start(data.path(), &[])?;
    let mut seconds = Vec::new();
    for component in &components.scripts {
        let started = Instant::now();
        kitbag_server::deploy(&server, data.path(), component).await?;
        seconds.push(started.elapsed().as_secs_f64());
    }
    Ok(Deploy { first_s: seconds[0], second_s: seconds[1] })
}
