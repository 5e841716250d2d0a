//! `kitbag user …`: who is here, what each has and may, the end of one, exports, and tokens of identity providers.

mod access;
mod end;
mod export;
mod list;
mod scim_token;
mod show;

use clap::Subcommand;
use http::Method;
use kitbag_access::values::users::{UserCounts, UserDetails};

use super::client::Client;
use super::documents::path_segment;
use super::error::CliError;
use super::terminal::counted;

/// List users, show what each has and may, and end one who leaves, for operators; export what you have.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  kitbag user list
  kitbag user show ana
  kitbag user access --host api.example.com
  kitbag user end ana --documents-to handbook
  kitbag user export                    everything of your own

Operators see that things exist, with their names and sizes: never a value of a secret, and neither a text nor a title \
of a document, unless they export what somebody has whose access they ended. docs/organisation.md says what becomes of what somebody has who leaves.")]
pub(super) enum User {
    /// List who has signed in or has anything here.
    List(list::List),
    /// Show what a user has here.
    Show(show::Show),
    /// Show who may use, read and reach what: a user, members of a group, for a toolkit, for a host.
    Access(access::Access),
    /// End a user: access at once, and then what they have.
    End(end::End),
    /// Make, show and revoke tokens of identity providers that maintain users and groups here (SCIM).
    #[command(subcommand)]
    ScimToken(scim_token::ScimToken),
    /// Export everything that you have here, or a user whose access was ended.
    Export(export::Export),
}

impl User {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Access(command) => command.run().await,
            Self::End(command) => command.run().await,
            Self::ScimToken(command) => command.run().await,
            Self::Export(command) => command.run().await,
        }
    }
}

/// Path of a user.
fn path(id: &str) -> String {
    format!("/users/{}", path_segment(id))
}

/// Returns what a user has.
async fn details(client: &Client, id: &str) -> Result<UserDetails, CliError> {
    client.send(Method::GET, &path(id), "application/json", "").await
}

/// Formats a number with its noun.
fn count(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// Numbers of what a user has, in words; empty for nothing.
fn in_words(counts: &UserCounts) -> String {
    counts.named().map(|(number, noun)| count(number, noun)).collect::<Vec<_>>().join(", ")
}
