//! `kitbag user end`

use std::path::Path;

use clap::Args;
use http::Method;
use kitbag_access::values::users::{UserDetails, UserEnd};
use kitbag_base::ownership::shell_quoted;
use serde_json::json;

use super::{count, details, in_words, path};
use crate::cli::client::Connection;
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::progress::StepProgress;
use crate::cli::terminal::{Text, note, say};

/// End a user: access at once, and then what they have.
#[derive(Args, Debug)]
#[command(
    after_help = "Sessions, keys and streams end at once on all processes, and tokens issued until then are refused. Accounts are \
                  revoked at their providers; secrets, cached values, settings, consents, hidden tools and memberships are removed. \
                  Toolkits pass to you with their users' secrets, accounts and settings; you become a curator of collections that \
                  nobody else keeps. What they added to collections stays.\n\n\
                  Documents go to the bin, and for good after its time, unless you say otherwise. --erase leaves nothing but entries \
                  of the audit log, and that access was ended. Run again after a failure, it does the rest.\n\n\
                  Disable the user at the identity provider first: who can sign in there can sign in here again, with nothing.\n\n\
                  Examples:\n  kitbag user end ana\n  kitbag user end ana --documents-to handbook\n  kitbag user end ana --erase\n  \
                  kitbag user end ana --access-only\n  kitbag user export ana --file ana.tar   between the two: an export for them"
)]
pub(in crate::cli) struct End {
    /// The user's id.
    user: String,
    /// Move the user's documents to this collection, with ids, earlier texts and attribution.
    #[arg(long, value_name = "COLLECTION")]
    documents_to: Option<String>,
    /// Delete documents for good, those in the bin and earlier texts too, records of calls, and their name elsewhere.
    #[arg(long, conflicts_with = "documents_to")]
    erase: bool,
    /// End access alone, at once, and leave what they have for now.
    #[arg(long, conflicts_with_all = ["documents_to", "erase"])]
    access_only: bool,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl End {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { user, documents_to, erase, access_only, confirmation, connection } = self;
        let client = connection.open().await?;
        let details = details(&client, &user).await?;
        let consequence = if access_only {
            let id = &details.summary.id;
            format!("The access of {id} ends at once: sessions, keys and streams. What they have stays.")
        } else {
            consequence(&details, documents_to.as_deref(), erase)
        };
        if erase {
            confirmation.ask_twice(&consequence)?;
        } else {
            confirmation.ask(&consequence)?;
        }
        let body =
            json!({ "documentsTo": documents_to, "erase": erase, "accessOnly": access_only }).to_string();
        let path = format!("{}/end", path(&user));
        let mut progress = StepProgress::new();
        let mut end = UserEnd::default();
        while !end.is_finished {
            let before = end.in_words(None);
            let done: UserEnd = client.send(Method::POST, &path, "application/json", body.clone()).await?;
            end.add(done);
            progress.show("documents", end.documents + end.moved, 0);
            if !end.is_finished && end.in_words(None) == before {
                return Err(CliError::new(format!("the server has stopped before all of {user} was ended"))
                    .hint("run it again: it does the rest"));
            }
        }
        progress.clear();
        report(&end, || {
            if access_only {
                print_access(&user, &end);
            } else {
                print(&user, &end, documents_to.as_deref());
            }
        })
    }
}

/// What the end of a user means, for the question before it.
fn consequence(user: &UserDetails, documents_to: Option<&str>, erase: bool) -> String {
    let id = &user.summary.id;
    let has = in_words(&user.summary.counts);
    let has = if has.is_empty() { "nothing that is counted".to_owned() } else { has };
    let documents = match documents_to {
        Some(collection) => format!("Documents move to {collection}, whose readers find them then."),
        None if erase => {
            "Documents are deleted for good, with those in the bin and earlier texts; records of calls, too, and their name \
             where they did something. The audit log stays, and, without their name, what they added to collections."
                .to_owned()
        }
        None => "Documents go to the bin.".to_owned(),
    };
    let words = format!(
        "{id} has {has}. Their access ends at once; accounts are revoked, and secrets, settings and memberships removed. {documents}"
    );
    let last = user.collections.iter().filter(|it| it.is_last_curator).map(|it| it.id.as_str());
    let last = last.collect::<Vec<_>>().join(", ");
    let curator = if last.is_empty() { String::new() } else { format!(" You become a curator of {last}.") };
    let toolkits = user.toolkits.join(", ");
    let owner =
        if toolkits.is_empty() { String::new() } else { format!(" You become the owner of {toolkits}.") };
    format!("{words}{curator}{owner}")
}

fn print_access(user: &str, end: &UserEnd) {
    say!("The access of {} is ended. What they have stays.", user);
    let argument = shell_quoted(Path::new(user));
    note!(
        "`kitbag user export {}` saves it for them; `kitbag user end {}` ends the rest.",
        argument,
        argument
    );
    if end.is_named_operator {
        note!("warning: the setting `operators` still names {}: take it out", user);
    }
}

fn print(user: &str, end: &UserEnd, documents_to: Option<&str>) {
    say!("{} is ended.", user);
    let words = end.in_words(documents_to);
    if words.is_empty() {
        say!("There was nothing left to do.");
    } else {
        say!("{}", Text::wrapped(&Text::prose(&format!("{words}.")), 0));
    }
    if !end.toolkits.is_empty() {
        say!("You own now: {}", end.toolkits.join(", "));
    }
    if !end.passed_collections.is_empty() {
        say!("You are a curator now of: {}", end.passed_collections.join(", "));
    }
    if !end.not_revoked.is_empty() {
        note!("warning: their providers have not confirmed that these accounts are revoked:");
        note!("  {}", end.not_revoked.join(", "));
        note!("They are removed here. End them at the provider.");
    }
    if !end.conflicts.is_empty() {
        note!(
            "{} went to the bin, since {} has the same:",
            count(end.conflicts.len() as u64, "document"),
            documents_to.unwrap_or_default()
        );
        for it in &end.conflicts {
            note!("  {} is {} there", it.id, it.existing.as_deref().unwrap_or("one that moved"));
        }
    }
    if end.is_named_operator {
        note!("warning: the setting `operators` still names {}: take it out", user);
    }
}
