//! `kitbag toolkit outdated`

use clap::Args;
use futures::{StreamExt, stream};
use http::Method;
use serde_json::Value;

use super::component::registry_egress;
use crate::cli::CliError;
use crate::cli::client::{Client, Connection};
use crate::cli::documents::path_segment;
use crate::cli::output::{Exit, report};
use crate::cli::terminal::{counted, note, say};
use crate::egress::Egress;
use crate::oci::{PinnedReference, Reference, Registry, RegistryError};
use crate::toolkits::{NewerState, NewerVersion, Tracked};

/// References that registries are asked for at the same time.
const AT_A_TIME: usize = 8;

/// List the toolkits from registries that have something newer there. For operators.
#[derive(Args, Debug)]
#[command(
    after_help = "Asks the registries from this machine, with your Docker credentials (`docker login`). Of a toolkit that came from \
                  a tag that is a version, such as 1.2.0, the latest later version is newer; of any other, what its tag leads to \
                  now.\n\n\
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
            note!("Asking registries for {}", counted(count, "toolkit"));
        }
        let egress = registry_egress();
        let asked = stream::iter(tracked).map(|it| ask(&egress, it)).buffered(AT_A_TIME);
        let asked: Vec<(Tracked, bool)> = asked.collect().await;
        let unanswered = asked.iter().filter(|(_, is_answered)| !is_answered).count();
        let mut outdated = Vec::new();
        for (mut it, _) in asked {
            find_deployed(&client, &mut it).await;
            if it.newer.is_some() || it.problem.is_some() {
                outdated.push(it);
            }
        }
        report(&outdated, || {
            if count == 0 {
                say!(
                    "No toolkit came from a registry by a tag. `kitbag toolkit deploy oci://…` deploys one."
                );
            } else if outdated.is_empty() {
                say!("Nothing newer is in the registries.");
            }
            outdated.iter().for_each(print);
        })?;
        if unanswered == 0 {
            return Ok(());
        }
        let message = format!("registries did not answer for {}", counted(unanswered, "toolkit"));
        Err(CliError::new(message).exit(Exit::Unavailable))
    }
}

/// Asks the registry of a toolkit. What the server knows of the same artifact stays, and of a registry that does not answer all
/// that it knows. Returns whether there was an answer.
async fn ask(egress: &Egress, tracked: Tracked) -> (Tracked, bool) {
    match newest(egress, &tracked.reference).await {
        Ok(newest) if newest.digest().as_str() == tracked.digest => {
            (Tracked { newer: None, problem: None, ..tracked }, true)
        }
        Ok(newest) => {
            let digest = newest.digest().to_string();
            if tracked.newer.as_ref().is_some_and(|newer| newer.digest == digest) {
                return (tracked, true);
            }
            let reference = newest.reference().to_string();
            let newer =
                NewerVersion { reference, digest, state: NewerState::Seen, upload: None, version: None };
            (Tracked { newer: Some(newer), problem: None, ..tracked }, true)
        }
        Err(error) => (Tracked { problem: Some(error), ..tracked }, false),
    }
}

async fn newest(egress: &Egress, reference: &str) -> Result<PinnedReference, String> {
    let reference: Reference =
        reference.parse().map_err(|error: crate::oci::InvalidReference| error.to_string())?;
    let newest = Registry::of(egress, reference).newest().await;
    newest.map_err(|error: RegistryError| error.to_string())
}

/// Finds out whether what was seen was live before: the server knows the versions.
async fn find_deployed(client: &Client, tracked: &mut Tracked) {
    let Some(newer) = tracked.newer.as_mut().filter(|newer| newer.state == NewerState::Seen) else { return };
    let path = format!("/toolkits/{}", path_segment(&tracked.id));
    let record = client.try_send::<Value>(Method::GET, &path, "application/json", "").await;
    let Ok(record) = record else { return };
    let mut versions = record["versions"].as_array().into_iter().flatten();
    if let Some(version) = versions.find(|version| version["source"]["digest"] == newer.digest.as_str()) {
        let version = version["version"].as_str().unwrap_or_default().to_owned();
        (newer.state, newer.version) = (NewerState::Deployed, Some(version));
    }
}

fn print(it: &Tracked) {
    say!("{} {}, from {}@{}", it.id, it.version, it.reference, it.digest);
    if let Some(NewerVersion { reference, digest, state, upload, version }) = &it.newer {
        say!("  newer: {}@{}", reference, digest);
        let (upload, version) =
            (upload.as_deref().unwrap_or_default(), version.as_deref().unwrap_or_default());
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
    if let Some(asked_at) = &it.asked_at {
        say!("  the server asked {}", asked_at);
    }
}
