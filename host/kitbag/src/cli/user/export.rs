//! `kitbag user export`

use std::path::PathBuf;

use clap::Args;
use http::header;
use serde_json::json;

use super::path;
use crate::cli::client::Connection;
use crate::cli::documents::download::{Existing, name, save};
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Export everything that you have here, or a user whose access was ended.
#[derive(Args, Debug)]
#[command(
    after_help = "A tar archive: documents with texts, earlier texts and files, the bin, feeds, settings, records of calls, and the \
                  names of secrets, accounts, keys and the like: JSON, lines of JSON, text, and files as they were. No secret \
                  and no key is in it. It is complete if it has contents.json.\n\n\
                  Operators export users whose access was ended, and the audit log has it. What collections have is not in it.\n\n\
                  Without --file the archive gets the name that the server offers, and no file that is there is written over.\n\n\
                  Examples:\n  kitbag user export\n  kitbag user end ana --access-only && kitbag user export ana --file ana.tar"
)]
pub(in crate::cli) struct Export {
    /// The user's id; by default your own.
    user: Option<String>,
    /// Where to write it.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

impl Export {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { user, file, connection } = self;
        let path =
            user.as_deref().map_or_else(|| "/export".to_owned(), |user| format!("{}/export", path(user)));
        let response = connection.open().await?.download(&path).await?;
        let offered = response.headers().get(header::CONTENT_DISPOSITION);
        let offered =
            offered.and_then(|value| value.to_str().ok()).and_then(name).unwrap_or("kitbag-export.tar");
        let (file, existing) = match file {
            Some(file) => (file, Existing::Replaced),
            None => (PathBuf::from(offered), Existing::Kept),
        };
        save(response.into_body(), &file, existing).await?;
        report(&json!({ "user": user, "file": file }), || say!("Saved as {}.", file.display()))
    }
}
