//! `just simulate`: growth of a service's costs with the number of its users.
//!
//! The real server runs in this process, with `SQLite` and with PostgreSQL. At three sizes it serves the
//! requests of some users among many, which are copies, made in the database, of one user created through the
//! API. Each statement that the server executes meanwhile is explained by its engine: the run fails if one
//! reads a whole table that grows. `soak` asks what grows with time; it measures a process, which this cannot,
//! since statements are recorded where they are executed.

#![expect(clippy::cast_precision_loss, reason = "every count here is far below 2^52")]

#[allow(dead_code, reason = "another benchmark needs no answers but good ones")]
mod client;
mod directory;
mod issuer;
mod model;
mod postgres;
mod service;
mod simulate {
    pub(crate) mod api;
    pub(crate) mod database;
    pub(crate) mod exceptions;
    pub(crate) mod fill;
    pub(crate) mod log;
    pub(crate) mod memory;
    pub(crate) mod plans;
    pub(crate) mod report;
    pub(crate) mod server;
    pub(crate) mod statements;
    pub(crate) mod work;
}
#[allow(dead_code, reason = "another benchmark needs medians alone")]
mod stats;
mod tool_call;
mod words;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use kitbag_toolchain::BuildOptions;
use tokio::runtime::Builder;

use service::Engine;
use simulate::database::ByTable;
use simulate::fill;
use simulate::plans;
use simulate::report::{Figures, Report};
use simulate::server::Simulated;
use simulate::statements::Recorder;
use simulate::work;

/// Result of a simulation step. Any failure ends the run; the text is for the person who started it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Simulates a service at growing numbers of users, and fails if a query reads all of a table that grows with them.
#[derive(Debug, Parser)]
#[command(
    name = "just simulate",
    after_help = "Examples:\n  just simulate\n  just simulate --json simulation.json\n  just simulate --engine sqlite --users 100,1000\n  \
                  just simulate --without-index documents_by_artifact\n\n\
                  The last one fails: it shows that a missing index is found. So may one with fewer users than usual: PostgreSQL \
                  reads small tables as a whole, and rightly so. The model is fetched once."
)]
struct Arguments {
    /// Numbers of users, ascending.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 10_000])]
    users: Vec<u64>,
    /// Simulate this engine alone.
    #[arg(long)]
    engine: Option<Engine>,
    /// Drop an index before anything is measured.
    #[arg(long, value_name = "INDEX")]
    without_index: Option<String>,
    /// Also write the results, with the plan of each statement, to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What `cargo bench` passes to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let recorder = Recorder::install();
    let runtime = Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(&arguments, &recorder))) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            for fault in &faults {
                eprintln!("error: {fault}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Simulates each engine; returns the problems found.
async fn run(arguments: &Arguments, recorder: &Recorder) -> Outcome<Vec<String>> {
    directory::enter_callers()?;
    if cfg!(debug_assertions) {
        return Err("this was built without optimisation: `just simulate` builds what can be measured".into());
    }
    if arguments.users.first() < Some(&fill::MIN_USERS)
        || !arguments.users.is_sorted_by(|one, next| one < next)
    {
        return Err(format!("--users takes ascending numbers from {} on", fill::MIN_USERS).into());
    }
    let model = model::fetch()?;
    let components = build().await?;
    let engines = match arguments.engine {
        Some(engine) => vec![engine],
        None => vec![Engine::Sqlite, Engine::Postgres],
    };
    let mut reports = Vec::new();
    for engine in engines {
        let report = simulate(engine, arguments, recorder, &model, &components).await?;
        println!("{report}");
        reports.push(report);
    }
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&reports)? + "\n")?;
    }
    Ok(reports.iter().flat_map(Report::faults).collect())
}

/// Builds the components of the toolkits to call.
async fn build() -> Outcome<Vec<Vec<u8>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let packages = ["guest-probe", "toolkit-weather"];
    let report = |line: &str| eprintln!("{line}");
    let built = kitbag_toolchain::build_workspace(&root, &packages, &BuildOptions::default(), report).await?;
    Ok(built.into_iter().map(|component| component.bytes).collect())
}

async fn simulate(
    engine: Engine,
    arguments: &Arguments,
    recorder: &Recorder,
    model: &Path,
    components: &[Vec<u8>],
) -> Outcome<Report> {
    let service = Simulated::create(engine, model)?;
    let running = service.start().await?;
    work::prepare(&running, components).await?;
    running.stop().await?;
    let mut database = service.database().await?;
    if let Some(index) = &arguments.without_index {
        database.run(&format!("DROP INDEX {index}")).await?;
    }

    let mut report = Report::new(engine, &arguments.users);
    let mut before = 0;
    for (place, &users) in arguments.users.iter().enumerate() {
        eprintln!("{engine:?}: {users} users");
        fill::grow(&mut database, &service, before, users).await?;
        before = users;

        let running = service.start().await?;
        fill::put_jobs_off(&mut database).await?;
        let mut figures = Figures::default();
        let (rows, bytes) = database.sizes().await?;
        figures.sizes(users, &rows, &bytes, database.total_bytes().await?);
        figures.add("start until ready", "ms", running.ready_after.as_secs_f64() * 1e3);
        let statements = service.statements(recorder, &mut database).await?;
        let is_last = place + 1 == arguments.users.len();
        let scans = if is_last { database.sequential_scans().await? } else { ByTable::new() };
        work::run(&service, &running, place, components, &mut figures).await?;
        let seen = statements.take(&mut database).await?;
        if is_last {
            report.set_scans(&scans, &database.sequential_scans().await?);
        }
        let statements = service.statements(recorder, &mut database).await?;
        work::run_large(&running, place, &mut figures).await?;
        let seen_of_large = statements.take(&mut database).await?;
        running.stop().await?;

        let explained = plans::explain(&mut database, seen).await?;
        let explained_of_large = plans::explain(&mut database, seen_of_large).await?;
        report.add(rows, figures, [explained, explained_of_large]);
        fill::remove_jobs(&mut database).await?;
    }
    report.judge();
    Ok(report)
}
