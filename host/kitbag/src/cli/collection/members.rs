//! `kitbag collection share | unshare | take-over`

use clap::Args;
use http::Method;
use kitbag_knowledge::collections::{Membership, Role};
use serde_json::json;

use super::{Members, Record, path, with_hint};
use crate::cli::client::{Connection, Failed};
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;
use crate::cli::whom::{Whom, note_unseen, query_parameter};

/// Share a collection with groups, users or everyone; without any, list its members.
#[derive(Args, Debug)]
#[command(
    after_help = "Its curators may do this. Whoever is a member already gets the role that is named. Readers find, read and \
                        download its documents; curators also add, change and delete them, and share it.\n\n\
                        Examples:\n  kitbag collection share handbook --everyone\n  \
                        kitbag collection share handbook --curator --group hr --user ana\n  kitbag collection share handbook"
)]
pub(in crate::cli) struct Share {
    /// The collection's id.
    id: String,
    #[command(flatten)]
    whom: Whom,
    /// As curators, who keep it; by default as readers.
    #[arg(long, requires = "whom")]
    curator: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Share a collection no longer with a group, a user or everyone.
#[derive(Args, Debug)]
#[command(
    after_help = "What they have added stays. The last curator cannot be removed: make another one first."
)]
pub(in crate::cli) struct Unshare {
    /// The collection's id.
    id: String,
    #[command(flatten)]
    whom: Whom,
    #[command(flatten)]
    connection: Connection,
}

/// Become a curator of a collection. For operators.
#[derive(Args, Debug)]
#[command(after_help = "For when those who kept it have left. It is recorded in the audit log.")]
pub(in crate::cli) struct TakeOver {
    /// The collection's id.
    id: String,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl Share {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, whom, curator, connection } = self;
        let client = connection.open().await?;
        let subjects = whom.subjects();
        if subjects.is_empty() {
            let Record { members, .. } = Record::get(&client, &id).await?;
            return Members { members: members.unwrap_or_default() }.report(&id);
        }
        let role = if curator { Role::Curator } else { Role::Reader };
        let members = subjects.iter().map(|subject| Membership { subject: subject.clone(), role }).collect();
        let body = json!(Members { members }).to_string();
        let path = format!("{}/members", path(&id));
        let shared: Members = client.send(Method::POST, &path, "application/json", body).await?;
        note_unseen(&client, &subjects).await;
        shared.report(&id)
    }
}

impl Unshare {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, whom, connection } = self;
        let subjects = whom.removed_subjects()?;
        let client = connection.open().await?;
        for subject in &subjects {
            client.delete(&format!("{}/members?{}", path(&id), query_parameter(subject))).await?;
        }
        match client.try_send(Method::GET, &path(&id), "application/json", "").await {
            Ok(Record { members, .. }) => Members { members: members.unwrap_or_default() }.report(&id),
            // The user has ended their own membership.
            Err(Failed::Refused(_)) => {
                report(&Members { members: Vec::new() }, || say!("You are no member of {} any more.", id))
            }
            Err(failed) => Err(failed.into()),
        }
    }
}

impl TakeOver {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, confirmation, connection } = self;
        let client = connection.open().await?;
        confirmation.ask(&format!(
            "You become a curator of {id}, and can read and change its documents. Its members see it, and it is recorded."
        ))?;
        let path = format!("{}/take-over", path(&id));
        client
            .post(&path)
            .await
            .map_err(|error| with_hint(error, "`kitbag collection list --all` lists all of them"))?;
        report(&json!({ "id": id }), || say!("You are a curator of {}.", id))
    }
}
