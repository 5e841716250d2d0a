//! The test harness: servers, their clients and other peers, and assertions on responses.

mod activation;
mod answer;
pub(crate) mod archive;
mod browser;
mod collector;
pub(crate) mod database;
mod documents;
mod events;
mod external_provider;
pub(crate) mod extractors;
mod files;
mod graphql;
pub(crate) mod guests;
pub(crate) mod gzip;
mod http;
mod impostor;
pub(crate) mod inspector;
mod log;
mod mcp;
mod name_server;
mod outcome;
pub(crate) mod pdf;
pub(crate) mod presentation;
mod processes;
mod program;
mod provider;
mod raw;
mod recorder;
mod registry;
mod routes;
mod scripted_provider;
mod server;
pub(crate) mod sign_in;
mod sign_in_code;
pub(crate) mod signer;
mod stream;
mod talking_client;
mod terminal;
mod tls;
pub(crate) mod transcriber;
mod upstream;
mod visitor;
mod wait;
pub(crate) mod wat;
pub(crate) mod workbook;

pub(crate) use self::activation::activated;
pub(crate) use self::answer::Answer;
pub(crate) use self::browser::Browser;
pub(crate) use self::collector::{Collecting, Collector, Span};
pub(crate) use self::events::Events;
pub(crate) use self::external_provider::{AccountProvider, ExternalProvider};
pub(crate) use self::files::Files;
pub(crate) use self::guests::Guest;
pub(crate) use self::http::{Http, ask_raw, send_raw};
pub(crate) use self::impostor::Impostor;
pub(crate) use self::inspector::Inspector;
pub(crate) use self::log::Log;
pub(crate) use self::mcp::{Revision, User};
pub(crate) use self::name_server::NameServer;
pub(crate) use self::outcome::Outcome;
pub(crate) use self::processes::Process;
pub(crate) use self::program::{CommandOutput, ServerProcess, interrupt, kitbag, run};
pub(crate) use self::provider::Provider;
pub(crate) use self::raw::Raw;
pub(crate) use self::recorder::{Recorder, Transcript};
pub(crate) use self::registry::{DockerRegistry, REGISTRY_USER};
pub(crate) use self::routes::{changing_routes, routes};
pub(crate) use self::scripted_provider::{Refresh, ScriptedProvider};
pub(crate) use self::server::{Kitbag, Stopped, compiler_program, files_below};
pub(crate) use self::sign_in::SignIn;
pub(crate) use self::sign_in_code::sign_in_code;
pub(crate) use self::signer::Signer;
pub(crate) use self::stream::Stream;
pub(crate) use self::talking_client::TalkingClient;
pub(crate) use self::terminal::Terminal;
pub(crate) use self::tls::TlsClient;
pub(crate) use self::transcriber::Transcriber;
pub(crate) use self::upstream::Upstream;
pub(crate) use self::visitor::Visitor;
pub(crate) use self::wait::{eventually, within};
pub(crate) use self::wat::Wat;
pub(crate) use kitbag_net::certificate::testing as certificates;

use std::path::PathBuf;

/// Folder with real clients: `clients`, or a copy with their newest versions (`just test-newest-clients`).
pub(crate) fn clients() -> PathBuf {
    std::env::var_os("TEST_CLIENTS").map_or_else(|| root().join("clients"), PathBuf::from)
}

/// Path of the workspace root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}
