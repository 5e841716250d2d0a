//! `kitbag toolkit agree`

use clap::Args;
use http::Method;
use kitbag_access::ConsentStatus;
use kitbag_toolkits::ReachItem;
use serde_json::json;

use crate::cli::client::Connection;
use crate::cli::confirmation::Confirmation;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::format::Format;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// See what a toolkit reaches beyond what you have agreed to, and agree.
#[derive(Args, Debug)]
#[command(
    after_help = "A version that reaches further than the one you gave something to gets nothing of yours, and your calls \
                  of it are refused, until you agree. Without a terminal, --yes agrees; without either, nothing is \
                  changed."
)]
pub(in crate::cli) struct Agree {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl Agree {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let path = format!("/toolkits/{}/consent", path_segment(&self.id));
        let status: ConsentStatus = client.send(Method::GET, &path, "application/json", "").await?;
        if Format::current() == Format::Text {
            print(&status);
        }
        if status.waiting {
            self.confirmation.ask(&format!(
                "You agree that {} {} reaches all of this, with what you have given it.",
                status.toolkit, status.version
            ))?;
            let agreed = json!({ "digest": status.digest }).to_string();
            client.post_json(&path, agreed).await?;
        }
        report(&json!({ "toolkit": self.id, "agreed": status.waiting, "status": status }), || {
            if status.waiting {
                say!("You have agreed.");
            }
        })
    }
}

fn print(status: &ConsentStatus) {
    let ConsentStatus { toolkit, version, waiting, agreed_version, agreed_at, new, gone, vouched, .. } =
        status;
    match (agreed_version, agreed_at) {
        (Some(agreed), Some(at)) => say!("You agreed to what {} {} reaches, {}.", toolkit, agreed, at),
        _ => say!("You have given {} nothing yet.", toolkit),
    }
    if !new.is_empty() {
        say!("{} reaches further:", version);
    }
    for ReachItem { kind, name, meaning } in new {
        say!("  + {} {} {}", kind, name, meaning);
    }
    for ReachItem { kind, name, .. } in gone {
        say!("  - {} {}", kind, name);
    }
    if let Some(vouch) = vouched {
        say!("{} vouches for {}: {}", vouch.by, version, vouch.reason);
    }
    if !waiting {
        say!("Nothing waits for you.");
    }
}
