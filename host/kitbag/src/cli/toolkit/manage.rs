//! `kitbag toolkit list | show | rollback | remove`

use clap::Args;
use http::Method;
use kitbag_manifest::offers::resource_uri;
use kitbag_toolkits::audience::Grant;
use kitbag_toolkits::{LimitUsage, Provenance, RolledBack, SignedBy, VouchReason, listed_name};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ownership::print_taken;
use super::print_refused_hosts;
use super::share;
use crate::cli::client::Connection;
use crate::cli::confirmation::Confirmation;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::format::Format;
use crate::cli::output::report;
use crate::cli::terminal::{Text, counted, say, text};

/// Longest description in a list, in characters.
const MAX_DESCRIPTION_CHARS: usize = 100;

/// List the deployed toolkits.
#[derive(Args, Debug)]
pub(in crate::cli) struct List {
    #[command(flatten)]
    connection: Connection,
}

/// Show one toolkit, its versions and what each changed.
#[derive(Args, Debug)]
pub(in crate::cli) struct Show {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

/// Make an earlier version live again.
#[derive(Args, Debug)]
#[command(
    after_help = "A private toolkit that its owner has released becomes yours, and what users have set for it is \
                  removed then."
)]
pub(in crate::cli) struct Rollback {
    /// The toolkit's id.
    id: String,
    /// The version to go back to; by default the one that was live before.
    #[arg(long)]
    to: Option<String>,
    /// Vouch for this version with a reason, which users read: none of them is asked to agree to what it reaches.
    #[arg(long, value_name = "REASON")]
    vouch: Option<VouchReason>,
    #[command(flatten)]
    connection: Connection,
}

/// Remove a toolkit with all its versions.
#[derive(Args, Debug)]
#[command(
    after_help = "With it go the secrets, settings and connected accounts of all its users, what it has cached for them, the \
                  records and counts of its calls, and the keys of programs that name it. Accounts are revoked at their \
                  providers where that is possible. Documents that it has stored stay with their users."
)]
pub(in crate::cli) struct Remove {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let toolkits: Vec<Value> = client.send(Method::GET, "/toolkits", "application/json", "").await?;
        report(&toolkits, || print_list(&toolkits))
    }
}

fn print_list(toolkits: &[Value]) {
    if toolkits.is_empty() {
        say!("No toolkit is deployed. `kitbag toolkit deploy FILE` deploys one.");
    }
    for it in toolkits {
        let tools = match it["tools"].as_array().map_or(0, Vec::len) {
            1 => "1 tool".to_owned(),
            count => format!("{count} tools"),
        };
        say!(
            "{:<24} {:<12} {:<8} {:<9} {}",
            text(&it["id"]),
            text(&it["version"]),
            text(&it["visibility"]),
            tools,
            Text::clipped_prose(text(&it["description"]), MAX_DESCRIPTION_CHARS)
        );
        if let Some(from) = it["takenOver"]["from"].as_str() {
            let by = text(&it["owner"]);
            let at = text(&it["takenOver"]["at"]);
            say!("{:<24} taken over by {} from {} {}", "", by, from, at);
        }
    }
}

impl Show {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let fetch = async |path: String| client.send(Method::GET, &path, "application/json", "").await;
        let record: Value = fetch(format!("/toolkits/{}", self.id)).await?;
        if Format::current().is_json() {
            return report(&record, || {});
        }
        let usage: Value = fetch(format!("/toolkits/{}/usage", self.id)).await?;
        say!("{}, owned by {}", text(&record["id"]), text(&record["owner"]));
        for line in record["ownership"].as_array().into_iter().flatten() {
            let before = text(&line["ownerBefore"]);
            let by = text(&line["by"]);
            let event = match text(&line["event"]) {
                "released" => text!("released by {}", by),
                "kept" => text!("kept by {}", by),
                "removed" => text!("removed by {}; it was {}'s", by, before),
                _ => text!("taken over by {} from {}", by, before),
            };
            say!("  {}, {}", event, text(&line["at"]));
        }
        for grant in record["audience"].as_array().into_iter().flatten() {
            let grant = Grant::deserialize(grant);
            say!("  for {}", grant.as_ref().map(share::line).unwrap_or_default());
        }
        for limit in record["limits"].as_array().into_iter().flatten() {
            let limit = LimitUsage::deserialize(limit).map(|limit| limit.to_string());
            say!("  {}", limit.unwrap_or_default());
        }
        if let Ok(SignedBy { publisher, key, removed }) = SignedBy::deserialize(&record["publisher"]) {
            let since = if removed { ", who is no publisher any more" } else { "" };
            say!("  versions are signed by {}, with the key {}{}", publisher, key, since);
        }
        if let Some(vouch) = record["vouched"].as_object() {
            let [by, reason] = ["by", "reason"].map(|key| vouch.get(key).map_or("", text));
            say!("  {} vouches for {}: {}", by, text(&record["liveVersion"]), reason);
        }
        if let Some(waiting) = record["waitingConsents"].as_u64().filter(|waiting| *waiting > 0) {
            say!("  users who have not agreed to what it reaches: {}", waiting);
        }
        let id = text(&record["id"]);
        for prompt in record["manifest"]["prompts"].as_array().into_iter().flatten() {
            say!("  prompt {}", listed_name(id, text(&prompt["name"])));
        }
        for resource in record["manifest"]["resources"].as_array().into_iter().flatten() {
            say!("  resource {}", resource_uri(id, text(&resource["uri"])));
        }
        let whose = if usage["scope"] == "own" { "your calls" } else { "calls of all users" };
        let [calls, failures] = ["calls", "failures"].map(|key| usage[key].as_u64().unwrap_or_default());
        say!("  {} in the last day: {}, of which {} failed", whose, calls, failures);
        for version in record["versions"].as_array().into_iter().flatten() {
            let live = if version["version"] == record["liveVersion"] { "live" } else { "" };
            say!(
                "  {:<12} {:<5} {} by {}",
                text(&version["version"]),
                live,
                text(&version["deployedAt"]),
                text(&version["deployedBy"])
            );
            let provenance = Provenance::deserialize(version).unwrap_or_default();
            say!("    {}", provenance.told());
            say!("    SHA-256 {}", text(&version["digest"]));
            for (sign, list) in [("+", "added"), ("-", "removed")] {
                for capability in version["changes"][list].as_array().into_iter().flatten() {
                    say!("    {} {}", sign, text(capability));
                }
            }
        }
        Ok(())
    }
}

impl Rollback {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let wanted = json!({ "version": self.to, "vouch": self.vouch });
        let path = format!("/toolkits/{}/rollback", self.id);
        let client = self.connection.open().await?;
        let back: RolledBack =
            client.send(Method::POST, &path, "application/json", wanted.to_string()).await?;
        report(&back, || {
            say!("{} {} is live.", self.id, back.version);
            print_refused_hosts(&back.refused_hosts);
            if let Some(taken) = &back.taken_over {
                print_taken(&self.id, taken);
            }
        })
    }
}

impl Remove {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let path = format!("/toolkits/{}", path_segment(&self.id));
        let record: Value = client.send(Method::GET, &path, "application/json", "").await?;
        let versions = record["versions"].as_array().map_or(0, Vec::len);
        self.confirmation.ask(&format!(
            "{} is owned by {}. It goes with its {}, the secrets, settings and connected accounts of all its users, what it has \
             cached for them, the records of calls, and the keys of programs that name it. Documents that it has stored stay.",
            self.id,
            text(&record["owner"]),
            counted(versions, "version")
        ))?;
        client.delete(&path).await?;
        report(&json!({ "id": self.id }), || say!("{} is removed, with all its versions.", self.id))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
