//! `just bench-search`: quality and speed of searching documents and tools, through the public API of a real
//! server.

#![expect(clippy::cast_precision_loss, reason = "every count here is far below 2^52")]

#[path = "search/api.rs"]
mod api;
#[path = "search/bootstrap.rs"]
mod bootstrap;
#[allow(dead_code, reason = "the other benchmark measures the server's processor time")]
mod child;
mod client;
#[path = "search/collection.rs"]
mod collection;
#[path = "search/database.rs"]
mod database;
mod directory;
mod issuer;
#[allow(dead_code, reason = "the other benchmark deploys toolkits, too")]
mod kitbag_server;
#[path = "search/mixed.rs"]
mod mixed;
mod model;
#[allow(dead_code, reason = "another benchmark measures the server's processor time")]
mod postgres;
mod processes;
#[path = "search/profile.rs"]
mod profile;
#[path = "search/quality.rs"]
mod quality;
#[allow(dead_code, reason = "another benchmark deploys toolkits, too")]
mod service;
#[path = "search/speed.rs"]
mod speed;
#[allow(dead_code, reason = "the other benchmark needs more of it")]
mod stats;
#[path = "search/toolkits.rs"]
mod toolkits;
#[path = "search/tools.rs"]
mod tools;
#[path = "search/union.rs"]
mod union;
#[allow(dead_code, reason = "the tests need more of it")]
#[path = "../spec/harness/wat.rs"]
mod wat;
mod words;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use service::Engine;
use tokio::runtime::Builder;

/// Result of a benchmark step. Any failure ends the run; the text is for the person who started it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures search: on a collection with judgements, on many documents, and of tools.
#[derive(Debug, Parser)]
#[command(
    name = "just bench-search",
    after_help = "Examples:\n  just bench-search ~/beir/scifact\n  just bench-search --postgres ~/beir/scifact\n  just bench-search --load\n  just bench-search --load --chunks 10000 --users 20\n  just bench-search --load --chunks 1000000 --collections 45\n  just bench-search --tools\n  just bench-search --toolkits\n\n\
                  A collection is a folder in BEIR layout: corpus.jsonl, queries.jsonl, qrels/test.tsv. The model is \
                  fetched once. The machine should have nothing else to do."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct Arguments {
    /// Folder of a collection.
    #[arg(required_unless_present_any = ["load", "tools", "toolkits"])]
    collection: Option<PathBuf>,
    /// Keep the documents in a PostgreSQL database, which `scripts/with-postgres` has made.
    #[arg(long, conflicts_with_all = ["tools", "toolkits"])]
    postgres: bool,
    /// Measure searches among many documents of one user, and of a small user among many.
    #[arg(long)]
    load: bool,
    /// Chunks of the large user, with --load. Beyond 100,000, its documents have several chunks each.
    #[arg(long, default_value_t = 100_000)]
    chunks: usize,
    /// Users with 500 chunks each, with --load.
    #[arg(long, default_value_t = 200)]
    users: usize,
    /// Collections, with --load: searches over the documents of a user and of these, beside the same documents of one user, in
    /// place of the other searches.
    #[arg(long, requires = "load", conflicts_with = "users")]
    collections: Option<usize>,
    /// Measure listings of tools, and finding them among many.
    #[arg(long)]
    tools: bool,
    /// Measure deploys, restarts and listings of a server with many toolkits.
    #[arg(long)]
    toolkits: bool,
    /// Folder of a model; by default all-MiniLM-L6-v2, which is fetched.
    #[arg(long)]
    model: Option<PathBuf>,
    /// What `cargo bench` passes to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
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
    if cfg!(debug_assertions) {
        return Err(
            "this was built without optimisation: `just bench-search` builds what can be measured".into()
        );
    }
    let model = || match &arguments.model {
        Some(folder) => Ok(folder.canonicalize()?),
        None => model::fetch(),
    };
    // The load runs on one thread: the other cores are for the server.
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let engine = if arguments.postgres { Engine::Postgres } else { Engine::Sqlite };
        if let Some(collection) = &arguments.collection {
            quality::measure(collection, &model()?, engine).await?;
        }
        if arguments.load {
            match arguments.collections {
                Some(collections) => {
                    union::measure(arguments.chunks, collections, &model()?, engine).await?;
                }
                None => speed::measure(arguments.chunks, arguments.users, &model()?, engine).await?,
            }
        }
        if arguments.tools {
            tools::measure(&model()?).await?;
        }
        if arguments.toolkits {
            toolkits::measure().await?;
        }
        Ok(())
    })
}

/// Root of this repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
