//! A server with many toolkits: deploys, restarts, and listings of a user who may call few of them.

use std::time::{Duration, Instant};

use http::{Request, header};
use http_body_util::Full;
use serde_json::json;

use crate::Outcome;
use crate::child::Server;
use crate::client::{Connection, Prepared};
use crate::kitbag_server;
use crate::speed::verdict;
use crate::stats::percentile;
use crate::tools::Client;
use crate::wat::Wat;

/// Numbers of deployed toolkits at which is measured, ascending.
const COUNTS: [usize; 2] = [512, 5000];
/// Toolkits that everybody may call; the others are private to the operator.
const SHARED: usize = 10;
/// Deploys and listings per measurement.
const SAMPLES: usize = 100;

const DEPLOY_GOAL: Duration = Duration::from_millis(150);
const READY_GOAL: Duration = Duration::from_secs(1);
const LISTING_GOAL: Duration = Duration::from_millis(10);

const SETTINGS: [&str; 2] = ["--model", "none"];

/// Prints the duration of deploys, restarts and listings.
pub(crate) async fn measure() -> Outcome<()> {
    let data = tempfile::tempdir()?;
    let mut deployed = 0;
    for count in COUNTS {
        let mut deploys = Vec::new();
        let server = kitbag_server::start(data.path(), &SETTINGS)?;
        let mut operator = Client::open(&server, data.path(), None).await?;
        while deployed < count {
            let manifest = manifest(deployed);
            let component = Wat { manifest: &manifest, ..Wat::default() }.component();
            let started = Instant::now();
            operator.deploy(&component).await?;
            deploys.push(started.elapsed());
            deployed += 1;
        }
        drop(server);
        println!("{count} toolkits, of which a user may call {SHARED}");
        let last = deploys.len().saturating_sub(SAMPLES);
        print("deploy", &mut deploys[last..], DEPLOY_GOAL);

        let started = Instant::now();
        let server = kitbag_server::start(data.path(), &SETTINGS)?;
        Connection::open(server.address()).await?.exchange(&ready(&server)?).await?;
        print("ready after a restart", &mut [started.elapsed()], READY_GOAL);
        for (who, user) in [("a user's", Some("ben")), ("the operator's", None)] {
            let mut client = Client::open(&server, data.path(), user).await?;
            let mut listings = Vec::with_capacity(SAMPLES);
            let bytes = client.listing("/mcp").await?;
            for _ in 0..SAMPLES {
                let started = Instant::now();
                client.page("/mcp", &json!({})).await?;
                listings.push(started.elapsed());
            }
            print(&format!("{who} listing, first page"), &mut listings, LISTING_GOAL);
            println!("  {who} listing, all pages: {} KiB", bytes >> 10);
        }
        println!("  memory {} MiB", server.memory()? >> 10);
    }
    Ok(())
}

/// Prepares a question whether the server is ready.
fn ready(server: &Server) -> Outcome<Prepared> {
    Ok(Request::get("/readyz").header(header::HOST, server.address().to_string()).body(Full::default())?)
}

fn print(what: &str, times: &mut [Duration], goal: Duration) {
    let [median, late] = [0.5, 0.95].map(|share| percentile(times, share).unwrap_or_default());
    println!("  {what:<32} p50 {median:>8.1?}   p95 {late:>8.1?}{}", verdict(median, goal));
}

fn manifest(number: usize) -> String {
    json!({
        "id": format!("many-{number}"), "name": format!("Toolkit {number}"), "description": "One of many.",
        "icon": "🧪", "version": "1.0.0", "visibility": if number < SHARED { "shared" } else { "private" },
        "tools": [{
            "name": "run", "description": "Runs.",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        }],
    })
    .to_string()
}
