//! `kitbag user list`

use clap::Args;
use http::Method;
use kitbag_access::values::users::UserSummary;
use serde::Deserialize;

use super::in_words;
use crate::cli::client::Connection;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Text, say, text};

/// Number of users per request.
const PAGE: u32 = 200;

/// List who has signed in or has anything here.
#[derive(Args, Debug)]
#[command(
    after_help = "Groups are those of the last sign-in. Whoever is known only by what they have, such as a grant that names \
                  them, is listed too."
)]
pub(in crate::cli) struct List {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Deserialize)]
struct Page {
    users: Vec<UserSummary>,
    next: Option<String>,
}

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let mut users = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("/users?limit={PAGE}&after={}", path_segment(&after));
            let page: Page = client.send(Method::GET, &path, "application/json", "").await?;
            users.extend(page.users);
            // Ids come in their order, so that no server makes this endless with the same page.
            match page.next.filter(|next| *next > after) {
                Some(next) => after = next,
                None => break,
            }
        }
        report(&users, || {
            if users.is_empty() {
                say!("Nobody has signed in yet.");
            }
            for user in &users {
                say!("{}", lines(user));
            }
        })
    }
}

/// A user with the last sign-in and groups, and what they have.
fn lines(user: &UserSummary) -> Text {
    let seen = match (&user.signed_in_at, user.is_ended) {
        (Some(at), false) => text!("signed in {}", at),
        (None, false) => text!("no sign-in recorded"),
        (_, true) if user.is_deactivated => text!("deactivated by the identity provider"),
        (_, true) => text!("ended {}", user.ended_at.as_deref().unwrap_or_default()),
    };
    let mut lines = text!("{:<24} {}", user.id, seen);
    if !user.groups.is_empty() {
        lines = text!("{}\n    in {}", lines, user.groups.join(", "));
    }
    let has = in_words(&user.counts);
    if !has.is_empty() {
        lines = text!("{}\n    {}", lines, has);
    }
    lines
}
