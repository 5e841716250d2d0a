//! `just soak`: a server under sustained mixed load, and its use of resources.
//!
//! A real server process serves 64 connections: fast, slow and hostile calls, ingest and deletion of
//! documents, searches, good and bad deploys, followers of logs, sign-ins, and requests that never end. The
//! run fails if memory, descriptors, threads, child processes or the data directory grow without bound, or if
//! no work of some kind is done.

#![expect(clippy::cast_precision_loss, reason = "every count here is far below 2^52")]

#[allow(dead_code, reason = "another benchmark measures processor time and memory with it")]
mod child;
mod client;
mod directory;
mod kitbag_server;
mod tool_call;
mod soak {
    pub(crate) mod client;
    pub(crate) mod components;
    pub(crate) mod meter;
    pub(crate) mod report;
    pub(crate) mod sign_in;
    pub(crate) mod trend;
    pub(crate) mod work;
}

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Parser;
use futures::future::join_all;
use tokio::runtime::Builder;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout_at};

use child::Server;
use soak::client::Client;
use soak::components::Components;
use soak::meter::Meter;
use soak::report::{Report, Tally};
use soak::sign_in::SignIn;
use soak::work::{Kind, SHARES, WorkResult, Worker};

/// Result of a soak step. Any failure ends the run; the text is for the person who started it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Interval between samples, for any duration of the run.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(2);

/// Samples per line of progress: one line per minute.
const SAMPLES_PER_LINE: usize = 30;

/// Number of users among whom the connections of each kind are divided.
const USERS: usize = 8;

/// A low number of call records, which is reached long before the run ends; and a short deadline for calls that
/// never return.
const SETTINGS: [&str; 2] = ["--log-records-per-toolkit=500", "--call-time=2s"];

/// Loads a server with mixed work, and fails when anything that it takes grows without end.
#[derive(Debug, Parser)]
#[command(
    name = "just soak",
    after_help = "Examples:\n  just soak\n  just soak 30 --json soak.json\n\n\
                  The first third of a run is its warm-up. Some caches keep things for ten minutes: a run of \
                  less than half an hour shows that everything works, and finds only what grows fast."
)]
struct Arguments {
    /// How long the load lasts.
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// Also write the results to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What `cargo bench` passes to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse::<f64>().map_err(|error| error.to_string())?;
    let is_usable = (0.5..=10_000.0).contains(&minutes);
    is_usable.then_some(minutes).ok_or_else(|| "at least 0.5 minutes, at most 10000".to_owned())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // The load runs on one thread: the other cores are for the server.
    let runtime = Builder::new_current_thread().enable_all().build();
    let report = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(&arguments)));
    let faults = match report {
        Ok(report) => {
            print!("{report}");
            report.faults()
        }
        Err(error) => vec![error.to_string()],
    };
    for fault in &faults {
        eprintln!("error: {fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(arguments: &Arguments) -> Outcome<Report> {
    directory::enter_callers()?;
    let components = soak::components::build().await?;
    let data = tempfile::tempdir()?;
    let data = data.path();
    let server = kitbag_server::start(data, &SETTINGS)?;
    for component in &components.lasting {
        kitbag_server::deploy(&server, data, component).await?;
    }

    let length = Duration::from_secs_f64(arguments.minutes * 60.0);
    let end = Instant::now() + length;
    let workers = workers(&server, data, &components)?;
    eprintln!("{} connections for {} minutes", workers.len(), arguments.minutes);
    let mut meter = Meter::default();
    let (tallies, samples) = tokio::join!(
        join_all(workers.into_iter().map(|it| repeat(it, end))),
        watch(&server, data, end, &mut meter)
    );
    let samples =
        samples.map_err(|error| format!("the server cannot be watched; it may have ended: {error}"))?;

    let report =
        Report { minutes: arguments.minutes, samples, courses: meter.courses()?, work: sum(tallies) };
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    still_serves(&server, data).await?;
    Ok(report)
}

/// Creates one worker per connection.
fn workers<'a>(server: &Server, data: &Path, components: &'a Components) -> Outcome<Vec<Worker<'a>>> {
    let operator = kitbag_server::token(data)?;
    let users: Vec<_> =
        (0..USERS).map(|user| token(data, &format!("user-{user}"))).collect::<Result<_, _>>()?;
    let mut workers = Vec::new();
    for (kind, connections) in SHARES {
        for number in 0..connections {
            let may_deploy = matches!(kind, Kind::Deploys | Kind::RefusedDeploys);
            let token = if may_deploy { &operator } else { &users[number % USERS] };
            let client = Client::new(server.address(), data.to_owned(), token.clone());
            workers.push(Worker { kind, number, client, components, sign_in: SignIn::default() });
        }
    }
    Ok(workers)
}

/// Returns an access token of another user of the server that runs on `data`.
fn token(data: &Path, user: &str) -> Outcome<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_kitbag"))
        .args(["token", "--user", user])
        .env("KITBAG_DATA", data)
        .current_dir(data)
        .output()?;
    if !output.status.success() {
        return Err(format!("kitbag token failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Repeats a worker's work until `end`.
async fn repeat(mut worker: Worker<'_>, end: Instant) -> Tally {
    let kind = worker.kind;
    let mut tally = Tally { kind, connections: 1, done: 0, refused: 0, wrong: 0, example: None };
    for turn in 0.. {
        // Work in progress at the end is not counted.
        let Ok(ended) = timeout_at(end.into(), worker.work(turn)).await else { break };
        match ended.unwrap_or_else(|error| WorkResult::Wrong(error.to_string())) {
            WorkResult::Done => tally.done += 1,
            WorkResult::Refused => tally.refused += 1,
            WorkResult::Wrong(how) => {
                tally.wrong += 1;
                tally.example.get_or_insert(how);
            }
        }
        sleep(kind.pause()).await;
    }
    tally
}

/// Takes samples until `end`, and returns their number.
async fn watch(server: &Server, data: &Path, end: Instant, meter: &mut Meter) -> Outcome<usize> {
    let mut ticks = interval(SAMPLE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut samples = 0;
    while timeout_at(end.into(), ticks.tick()).await.is_ok() {
        meter.sample(server.id(), data)?;
        samples += 1;
        if samples % SAMPLES_PER_LINE == 0 {
            eprintln!("{}", meter.latest());
        }
    }
    Ok(samples)
}

/// Sums the results of the connections of each kind.
fn sum(tallies: Vec<Tally>) -> Vec<Tally> {
    let mut sums: Vec<Tally> = Vec::new();
    for tally in tallies {
        match sums.last_mut().filter(|sum| sum.kind == tally.kind) {
            Some(sum) => {
                sum.connections += tally.connections;
                sum.done += tally.done;
                sum.refused += tally.refused;
                sum.wrong += tally.wrong;
                sum.example = sum.example.take().or(tally.example);
            }
            None => sums.push(tally),
        }
    }
    sums
}

/// Calls a tool after the load has ended: the server must still respond.
async fn still_serves(server: &Server, data: &Path) -> Outcome<()> {
    let mut client = Client::new(server.address(), data.to_owned(), kitbag_server::token(data)?);
    let answer = client.call("text__count", &serde_json::json!({ "text": "one two" })).await?;
    if answer.status.is_success() {
        return Ok(());
    }
    Err(format!("after the run the server answers {}", answer.status).into())
}
