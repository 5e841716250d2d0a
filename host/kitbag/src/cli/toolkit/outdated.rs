//! `kitbag toolkit outdated`

use std::collections::BTreeSet;

use clap::Args;
use futures::{StreamExt, stream};
use http::Method;
use kitbag_net::egress::Egress;
use kitbag_net::oci::{InvalidReference, PinnedReference, Reference, Registry};
use kitbag_toolkits::{NewerState, NewerVersion, Tracked};
use serde_json::Value;

use super::component::{failed, registry_egress};
use crate::cli::client::{Client, Connection};
use crate::cli::documents::path_segment;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::report;
use crate::cli::terminal::{counted, note, say};

/// Number of concurrent requests to registries.
const AT_A_TIME: usize = 8;

/// List the toolkits from registries that have something newer there. For operators.
#[derive(Args, Debug)]
#[command(
    after_help = "Asks the registries from this machine, with your Docker credentials (`docker login`). Of a toolkit that came from \
                  a tag that is a version, such as 1.2.0, the latest later version is newer; of any other, what its tag leads to \
                  now. Where a version came from is what whoever deployed it said: the registries are named before they are asked.\n\n\
                  Nothing is deployed: `kitbag toolkit deploy REF --review` has it wait for a review. A server with the setting \
                  `follow-registries` does that by itself, once an hour."
)]
pub(in crate::cli) struct Outdated {
    #[command(flatten)]
    connection: Connection,
}

impl Outdated {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let tracked: Vec<Tracked> = client.send(Method::GET, "/updates", "application/json", "").await?;
        let count = tracked.len();
        if count > 0 {
            note!("Asking {} for {}", registries(&tracked), counted(count, "toolkit"));
        }
        let egress = registry_egress();
        let asked = stream::iter(tracked).map(|it| ask(&egress, it)).buffered(AT_A_TIME);
        let asked: Vec<Asked> = asked.collect().await;
        let mut outdated = Vec::new();
        let mut failures = Vec::new();
        for Asked { mut tracked, failure } in asked {
            find_deployed(&client, &mut tracked).await;
            if tracked.newer.is_some() || tracked.problem.is_some() {
                outdated.push((tracked, failure.as_ref().and_then(|failure| failure.hint.clone())));
            }
            failures.extend(failure);
        }
        let listed: Vec<_> = outdated.iter().map(|(tracked, _)| tracked).collect();
        report(&listed, || {
            if count == 0 {
                say!(
                    "No toolkit came from a registry by a tag. `kitbag toolkit deploy oci://…` deploys one."
                );
            } else if outdated.is_empty() {
                say!("Nothing newer is in the registries.");
            }
            for (tracked, hint) in &outdated {
                print(tracked, hint.as_deref());
            }
        })?;
        if failures.is_empty() {
            return Ok(());
        }
        let message =
            format!("registries did not say what is newer for {}", counted(failures.len(), "toolkit"));
        // If any failure is temporary, a retry may help.
        let is_passing = failures.iter().any(|failure| failure.exit == Exit::Unavailable);
        Err(CliError::new(message).exit(if is_passing { Exit::Unavailable } else { Exit::Failed }))
    }
}

/// Toolkit after asking its registry, with the error if that failed.
struct Asked {
    tracked: Tracked,
    failure: Option<CliError>,
}

/// Names of the registries, without duplicates.
fn registries(tracked: &[Tracked]) -> String {
    let references = tracked.iter().filter_map(|it| it.reference.parse().ok());
    let registries: BTreeSet<_> = references.map(|it: Reference| it.registry().to_owned()).collect();
    registries.into_iter().collect::<Vec<_>>().join(", ")
}

/// Asks a toolkit's registry for the newest artifact. The server's own findings are kept if they concern the
/// same artifact, or if the registry does not respond.
async fn ask(egress: &Egress, tracked: Tracked) -> Asked {
    let (tracked, failure) = match newest(egress, &tracked.reference).await {
        Ok(newest) if newest.digest().as_str() == tracked.digest => {
            (Tracked { newer: None, problem: None, ..tracked }, None)
        }
        Ok(newest) => {
            let digest = newest.digest().to_string();
            if tracked.newer.as_ref().is_some_and(|newer| newer.digest == digest) {
                return Asked { tracked, failure: None };
            }
            let reference = newest.reference().to_string();
            let newer =
                NewerVersion { reference, digest, state: NewerState::Seen, upload: None, version: None };
            (Tracked { newer: Some(newer), problem: None, ..tracked }, None)
        }
        Err(failure) => (Tracked { problem: Some(failure.to_string()), ..tracked }, Some(failure)),
    };
    Asked { tracked, failure }
}

async fn newest(egress: &Egress, reference: &str) -> Result<PinnedReference, CliError> {
    let reference: Reference =
        reference.parse().map_err(|error: InvalidReference| CliError::new(error.to_string()))?;
    let newest = Registry::of(egress, reference.clone()).newest().await;
    newest.map_err(|error| failed(&error, &reference))
}

/// Finds out whether a newly seen artifact was live before, from the versions that the server has pulled.
/// Versions with an unverified origin do not count.
async fn find_deployed(client: &Client, tracked: &mut Tracked) {
    let Some(newer) = tracked.newer.as_mut().filter(|newer| newer.state == NewerState::Seen) else { return };
    let path = format!("/toolkits/{}", path_segment(&tracked.id));
    let record = client.try_send::<Value>(Method::GET, &path, "application/json", "").await;
    let Ok(record) = record else { return };
    let mut versions = record["versions"].as_array().into_iter().flatten();
    let is_same = |source: &Value| source["pulled"] == true && source["digest"] == newer.digest.as_str();
    if let Some(version) = versions.find(|version| is_same(&version["source"])) {
        let version = version["version"].as_str().unwrap_or_default().to_owned();
        (newer.state, newer.version) = (NewerState::Deployed, Some(version));
    }
}

fn print(it: &Tracked, hint: Option<&str>) {
    say!("{} {}, from {}@{}", it.id, it.version, it.reference, it.digest);
    if let Some(NewerVersion { reference, digest, state, upload, version }) = &it.newer {
        say!("  newer: {}@{}", reference, digest);
        let upload = upload.as_deref().unwrap_or_default();
        let version = version.as_deref().unwrap_or_default();
        match state {
            NewerState::Waiting => {
                say!("  {} waits for its review: kitbag toolkit uploads deploy {}", version, upload);
            }
            NewerState::Deployed => {
                say!("  deployed before: kitbag toolkit rollback {} --to {}", it.id, version);
            }
            NewerState::Discarded => {
                say!(
                    "  discarded; to review it again: kitbag toolkit deploy {}@{} --review",
                    reference,
                    digest
                );
            }
            NewerState::Refused => say!("  refused by the server"),
            NewerState::Seen => {
                say!("  to review it: kitbag toolkit deploy {}@{} --review", reference, digest);
            }
        }
    }
    if let Some(problem) = &it.problem {
        say!("  problem: {}", problem);
    }
    if let Some(hint) = hint {
        say!("  hint: {}", hint);
    }
    if let Some(asked_at) = &it.asked_at {
        say!("  the server asked {}", asked_at);
    }
}
