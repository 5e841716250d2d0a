//! `kitbag user show`

use bytesize::ByteSize;
use clap::Args;
use kitbag_access::values::users::{KeyItem, Size, ToolItem, UserDetails, UserSummary};
use kitbag_knowledge::collections::Role;

use super::{count, details};
use crate::cli::client::Connection;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Screen, Text, say, text};

/// Show what a user has here.
#[derive(Args, Debug)]
#[command(after_help = "Names and sizes; no value of a secret, no text and no title of a document.")]
pub(in crate::cli) struct Show {
    /// The user's id.
    user: String,
    #[command(flatten)]
    connection: Connection,
}

impl Show {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let user = details(&self.connection.open().await?, &self.user).await?;
        report(&user, || print(&user))
    }
}

fn print(user: &UserDetails) {
    print_sign_ins(user);
    let counts = user.summary.counts;
    say!("documents {}", size(counts.documents));
    if counts.bin.documents > 0 {
        say!("in bin    {}", size(counts.bin));
    }
    for key in &user.keys {
        say!("key       {}", key_line(key));
    }
    for session in &user.sessions {
        say!("browser   signed in {}, used {}", session.signed_in_at, session.used_at);
        say!("          {}", Text::clipped_prose(&session.agent, 70));
    }
    for client in &user.clients {
        say!("client    {} {}", client.id, client.name.as_deref().unwrap_or_default());
    }
    for account in &user.accounts {
        say!("account   {}, since {}", account.toolkit, account.updated_at);
    }
    for secret in &user.secrets {
        say!("secret    {} {}", secret.toolkit, secret.name.as_deref().unwrap_or_default());
    }
    for consent in &user.consents {
        say!("agreed    {} {}, {}", consent.toolkit, consent.version, consent.agreed_at);
    }
    for setting in &user.settings {
        say!("setting   {} {}", setting.toolkit, setting.key);
    }
    print_tools("hides", &user.hidden_tools);
    print_tools("in code", &user.code_tools);
    print_tools("shared", &user.shared_toolkits);
    for cached in &user.cached {
        say!(
            "cached    {}: {}, {}",
            cached.toolkit,
            count(cached.values, "value"),
            ByteSize(cached.bytes).to_string()
        );
    }
    for id in &user.toolkits {
        say!("owns      {}", id);
    }
    for it in &user.collections {
        let role = match it.role {
            Role::Reader => "reader",
            Role::Curator if it.is_last_curator => "the last curator",
            Role::Curator => "curator",
        };
        say!("member    {}, {}{}", it.id, role, if it.is_deleted { ", in the bin" } else { "" });
    }
    if user.uploads > 0 {
        say!("uploads   {}, for review", count(user.uploads, "toolkit"));
    }
    if user.records > 0 {
        say!("calls     {}", count(user.records, "record"));
    }
}

fn print_sign_ins(user: &UserDetails) {
    let UserSummary { id, signed_in_at, first_seen_at, groups, ended_at, ended_by, is_ended, .. } =
        &user.summary;
    say!("{}", Screen::of_stdout().bold(&text!("{}", id)));
    match signed_in_at {
        Some(at) => say!("signed in {}, first {}", at, first_seen_at.as_deref().unwrap_or_default()),
        None => say!("signed in never, as far as it was recorded"),
    }
    if !groups.is_empty() {
        say!("groups    {}", groups.join(", "));
    }
    if user.is_named_operator {
        say!("operator  by the setting `operators`");
    }
    if user.summary.is_deactivated {
        say!("ended     by the identity provider, until it activates the user again");
    }
    if let Some(at) = ended_at {
        say!("ended     {} by {}", at, ended_by.as_deref().unwrap_or_default());
        if !*is_ended {
            say!("          and has signed in again since");
        }
    }
}

fn key_line(key: &KeyItem) -> Text {
    let reach = key.toolkits.as_ref().map_or_else(|| "everything".to_owned(), |ids| ids.join(", "));
    let expires = key.expires_at.as_deref().unwrap_or("never");
    let used = key.used_at.as_deref().unwrap_or("never");
    let line = text!(
        "{} {}: {}\n          made {}\n          expires {}\n          used {}",
        key.id,
        key.name,
        reach,
        key.created_at,
        expires,
        used
    );
    match &key.pauses_at {
        Some(at) => text!("{}\n          pauses {} unless its user signs in before", line, at),
        None => line,
    }
}

fn print_tools(label: &'static str, tools: &[ToolItem]) {
    for ToolItem { toolkit, tool } in tools {
        say!("{:<9} {} {}", label, toolkit, tool.as_deref().unwrap_or_default());
    }
}

fn size(size: Size) -> String {
    format!("{}, {}", count(size.documents, "document"), ByteSize(size.bytes))
}
