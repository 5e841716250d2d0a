//! `just bench`: cost of a tool call through Kitbag, compared with the same call without it.
//!
//! Absolute times differ from machine to machine and from minute to minute. The ratios matter: all candidates
//! are measured in one run, in turns, and the goals are printed beside the results. A missed goal is not an
//! error.

#![expect(clippy::cast_precision_loss, reason = "every count here is far below 2^52")]

#[path = "search/api.rs"]
#[allow(dead_code, reason = "another benchmark signs in locally")]
mod api;
mod attached;
mod candidate;
mod capabilities;
mod child;
mod client;
mod cluster;
mod components;
mod counts;
mod deploy;
mod directory;
mod first_call;
mod floor;
mod in_flight;
mod issuer;
mod kitbag_server;
mod load;
mod machine;
mod native;
mod optional;
mod postgres;
#[allow(dead_code, reason = "another benchmark has a single process")]
mod processes;
mod report;
mod sandbox_share;
mod service;
mod stats;
mod throughput;
mod tool_call;
mod traces;
mod words;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use machine::{Machine, Measured};
use report::{Effort, Report};

/// Result of a benchmark step. Any failure ends the run; the text is for the person who started it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures a tool call through Kitbag, beside a bare HTTP server, a native MCP server and those of other projects.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(
    name = "just bench",
    after_help = "Examples:\n  just bench\n  just bench --quick\n  just bench --json bench.json\n  just bench --traces\n  just bench --cluster\n\n\
                  The machine should have nothing else to do: about eight minutes, one minute with --quick. A table is not \
                  shown if other processes used more than a tenth of a processor while it was measured; except with --cluster, \
                  whose database is one of them."
)]
struct Arguments {
    /// Only show that everything works: short points, whose numbers mean little.
    #[arg(long)]
    quick: bool,
    /// Measure what traces of calls cost, and nothing else.
    #[arg(long, conflicts_with = "json")]
    traces: bool,
    /// Measure what a PostgreSQL database and a second process cost, and nothing else.
    #[arg(long, conflicts_with_all = ["json", "traces"])]
    cluster: bool,
    /// Also write the results to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What `cargo bench` passes to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

/// The candidates that this program serves itself, each in its own process.
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
enum Role {
    #[command(hide = true)]
    ServeFloor,
    #[command(hide = true)]
    ServeNative,
    #[command(hide = true)]
    CollectTraces,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Outcome<()> {
    directory::enter_callers()?;
    match arguments.role {
        Some(Role::ServeFloor) => Runtime::new()?.block_on(floor::serve()),
        Some(Role::ServeNative) => Runtime::new()?.block_on(native::serve()),
        Some(Role::CollectTraces) => Runtime::new()?.block_on(traces::serve_collector()),
        // The load runs on one thread: the other cores are for the server.
        None => Builder::new_current_thread().enable_all().build()?.block_on(measure(arguments)),
    }
}

async fn measure(arguments: &Arguments) -> Outcome<()> {
    if cfg!(debug_assertions) {
        return Err("this was built without optimisation: `just bench` builds what can be measured".into());
    }
    let machine = Machine::now()?;
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    if arguments.cluster {
        let [text] = components::rust(["toolkit-text"]).await?;
        print!("{machine}{}", cluster::measure(&text, &effort).await?);
        return Ok(());
    }
    let components = components::build().await?;
    if arguments.traces {
        let cost = Measured::of("Traces", traces::measure(&components, &effort)).await?;
        print!("{machine}{cost}");
        return if cost.at_rest().is_some() { Ok(()) } else { Err(OTHERS_WERE_BUSY.into()) };
    }

    let report = Report {
        machine,
        sandbox: Measured::of("The sandbox alone", sandbox_share::measure(&components, &effort)).await?,
        capabilities: Measured::of("What capabilities cost", capabilities::measure(&components, &effort))
            .await?,
        first_call: Measured::of("Calls after a restart", first_call::measure(&components, &effort)).await?,
        in_flight: Measured::of("Memory of calls in flight", in_flight::measure(&components, &effort))
            .await?,
        deploy: Measured::of("Deploys", deploy::measure(&components)).await?,
        throughput: Measured::of("A tool call over HTTP", throughput::measure(&components, &effort)).await?,
    };
    print!("{report}");
    if let Some(path) = &arguments.json {
        std::fs::write(path, report.to_json()?)?;
    }
    if report.is_complete() { Ok(()) } else { Err(OTHERS_WERE_BUSY.into()) }
}

const OTHERS_WERE_BUSY: &str = "other processes were busy, so that not all could be measured";
