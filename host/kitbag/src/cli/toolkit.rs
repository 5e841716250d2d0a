//! `kitbag toolkit …`

mod account;
mod agree;
mod build;
mod cache;
mod check;
mod code_tools;
mod component;
mod deploy;
mod dev;
mod diff;
mod difference;
mod failures;
mod hide;
mod logs;
mod manage;
mod new;
mod outdated;
mod ownership;
mod push;
mod reset_publisher;
mod share;
mod sign;
mod update_openapi;
mod uploads;

use std::fmt::Display;
use std::fs::File;
use std::path::Path;

use clap::Subcommand;
use kitbag_base::disk::Disk;
use kitbag_manifest::Problem;
use kitbag_net::egress::{Egress, EgressSettings, RefusedHost};
use kitbag_sandbox::capabilities::Services;
use kitbag_sandbox::compiler::{Compiler, Program};
use kitbag_sandbox::{Background, Sandbox};
use kitbag_toolkits::{Inspected, ToolkitError, inspect};
use tokio_util::sync::CancellationToken;

use super::error::CliError;
use super::terminal::note;
use crate::app;
use crate::settings::{Settings, Sources};

pub(super) use component::small_text;
pub(super) use deploy::{print as print_deployed, upload};

/// Write, build, check, deploy and manage toolkits.
#[derive(Debug, Subcommand)]
pub(super) enum Toolkit {
    /// Start a new toolkit, in Rust or in TypeScript.
    New(new::New),
    /// Show what a newer OpenAPI document changes in a toolkit that was made from one.
    #[command(name = "update-openapi")]
    UpdateOpenApi(update_openapi::UpdateOpenApi),
    /// Print what a component declares and imports, and everything that is wrong with it.
    Check(check::Check),
    /// Turn a crate or an extension.ts into a component, and write manifest.json beside it.
    Build(build::Build),
    /// Serve one toolkit over MCP on this machine, and again after each change.
    Dev(dev::Dev),
    /// Upload a component (or build it first) and make it live, or with --review only compare it.
    Deploy(deploy::Deploy),
    /// Sign a component, as `cosign sign-blob` does.
    Sign(sign::Sign),
    /// Push a component (or build it first) to a registry, from which servers and `wkg` can pull it.
    Push(push::Push),
    /// List, show, deploy and discard components that were uploaded for review.
    #[command(subcommand)]
    Uploads(uploads::Uploads),
    /// List the deployed toolkits.
    List(manage::List),
    /// Show one toolkit, its versions and what each changed.
    Show(manage::Show),
    /// Compare two versions of a toolkit.
    Diff(diff::Diff),
    /// Show what became of a toolkit's calls, and what it logged.
    Logs(logs::Logs),
    /// List the toolkits with failed calls in the last day, for operators.
    Failures(failures::Failures),
    /// List the toolkits from registries that have something newer there. For operators.
    Outdated(outdated::Outdated),
    /// Make an earlier version live again.
    Rollback(manage::Rollback),
    /// Remove a toolkit with all its versions.
    Remove(manage::Remove),
    /// Hide a toolkit, or one of its tools, from your models.
    Hide(hide::Hide),
    /// Show your models again what you have hidden.
    ShowAgain(hide::ShowAgain),
    /// Remove what a toolkit keeps for you between calls.
    ClearCache(cache::ClearCache),
    /// Let code of your models call a tool that may change something.
    AllowInCode(code_tools::AllowInCode),
    /// Share a toolkit with groups or users, and limit their calls.
    Share(share::Share),
    /// Share a toolkit no longer with a group, a user or everyone.
    Unshare(share::Unshare),
    /// Connect an account of yours to a toolkit that acts with one.
    SignIn(account::SignIn),
    /// End the account that you have connected to a toolkit.
    SignOut(account::SignOut),
    /// See what a toolkit reaches beyond what you have agreed to, and agree.
    Agree(agree::Agree),
    /// Let any operator have a toolkit of yours.
    Release(ownership::Release),
    /// Let versions of a toolkit follow that its publisher has not signed.
    ResetPublisher(reset_publisher::ResetPublisher),
    /// Make another operator's toolkit yours.
    TakeOver(ownership::TakeOver),
}

impl Toolkit {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::New(command) => command.run().await,
            Self::UpdateOpenApi(command) => command.run().await,
            Self::Check(command) => command.run().await,
            Self::Build(command) => command.run().await,
            Self::Dev(command) => command.run().await,
            Self::Deploy(command) => command.run().await,
            Self::Sign(command) => command.run(),
            Self::Push(command) => command.run().await,
            Self::Uploads(command) => command.run().await,
            Self::Diff(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Logs(command) => command.run().await,
            Self::Failures(command) => command.run().await,
            Self::Outdated(command) => command.run().await,
            Self::Rollback(command) => command.run().await,
            Self::Remove(command) => command.run().await,
            Self::Hide(command) => command.run().await,
            Self::ShowAgain(command) => command.run().await,
            Self::ClearCache(command) => command.run().await,
            Self::AllowInCode(command) => command.run().await,
            Self::Share(command) => command.run().await,
            Self::Unshare(command) => command.run().await,
            Self::SignIn(command) => command.run().await,
            Self::SignOut(command) => command.run().await,
            Self::Agree(command) => command.run().await,
            Self::Release(command) => command.run().await,
            Self::ResetPublisher(command) => command.run().await,
            Self::TakeOver(command) => command.run().await,
        }
    }
}

/// Prints problems that some clients reject although a deploy accepts them.
fn print_warnings(warnings: &[Problem]) {
    for Problem { path, message } in warnings {
        note!("warning: {}: {}", path, message);
    }
}

/// Prints hosts that the egress policy refuses although the toolkit declares them.
fn print_refused_hosts(refused: &[RefusedHost]) {
    for host in refused {
        note!("warning: {} is {}", host.host, host.in_words());
    }
}

/// Inspects a component with the checks of a deploy.
async fn inspect_locally(component: Vec<u8>) -> Result<Inspected, CliError> {
    let settings =
        Settings::load(Sources::default(), None).map_err(|error| CliError::new(error.to_string()))?;
    let no_sandbox = |error: &dyn Display| CliError::new(format!("cannot start the sandbox: {error}"));
    let services = Services::new(Egress::new(EgressSettings::default()));
    let background = Background::start().map_err(|error| no_sandbox(&error))?;
    let sandbox = Sandbox::new(app::limits(&settings), services, background);
    let sandbox = sandbox.map_err(|error| no_sandbox(&error))?;
    let folder = tempfile::tempdir().map_err(|error| CliError::new(error.to_string()))?;
    let path = folder.path().join("component.wasm");
    let component = std::fs::write(&path, component).and_then(|()| File::open(&path));
    let component =
        component.map_err(|error| CliError::new(format!("cannot write {}: {error}", path.display())))?;
    let limits = app::compile_limits(&settings);
    let compiler = Compiler::new(Program::this(), limits, Disk::unwatched(), CancellationToken::new());
    inspect(&sandbox, &compiler, component, folder.path(), "author").await.map_err(|error| match error {
        ToolkitError::Refused(problems) => {
            CliError::listing("a deploy would refuse this toolkit:", &problems.0)
        }
        other => CliError::new(other.to_string()),
    })
}

/// Reads a file named by the user.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| CliError::new(format!("cannot read {}: {error}", path.display())))
}
