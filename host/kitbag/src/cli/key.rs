//! `kitbag key …`: API keys of programs that act for the user.

use std::time::Duration;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Value, json};

use super::client::Connection;
use super::documents::path_segment;
use super::error::CliError;
use super::output::report;
use super::terminal::{note, say};

/// Make, list and revoke keys for programs that cannot sign in by a browser.
#[derive(Debug, Subcommand)]
pub(super) enum Key {
    /// Make a key, and print it this once.
    New(New),
    /// List your keys, and when each was used last.
    List(List),
    /// Revoke a key, from the next request on.
    Revoke(Revoke),
}

/// Make a key, and print it this once.
#[derive(Args, Debug)]
#[command(
    after_help = "A program sends the key where a client sends its token: `Authorization: Bearer kbk_…`, or as \
                        KITBAG_TOKEN of `kitbag`. It acts for you. With --toolkits it calls the tools of these toolkits, and \
                        can do nothing else; `knowledge` stands for search and fetch over your documents.\n\n\
                        Examples:\n  kitbag key new nightly-report --toolkits weather,knowledge\n  \
                        kitbag key new deploys --expires 7d"
)]
pub(super) struct New {
    /// What you call it, such as the program that has it.
    name: String,
    /// The toolkits whose tools it may call, and nothing else; by default it may do what you may.
    #[arg(long, value_delimiter = ',', value_name = "ID,…")]
    toolkits: Option<Vec<String>>,
    /// How long it is good, such as `12h`; by default 90 days, or as long as the server allows if that is less (setting
    /// `key-lifetime`). `never`, where that is unlimited, ends it only when it is revoked.
    #[arg(long, value_parser = lifetime)]
    expires: Option<Lifetime>,
    #[command(flatten)]
    connection: Connection,
}

/// List your keys.
#[derive(Args, Debug)]
pub(super) struct List {
    #[command(flatten)]
    connection: Connection,
}

/// Revoke a key.
#[derive(Args, Debug)]
pub(super) struct Revoke {
    /// Its id, or its name.
    key: String,
    /// Revoke a key of this user, whose keys `kitbag user show` lists; for operators.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Validity period of a key; `None`: unlimited.
#[derive(Clone, Copy, Debug)]
struct Lifetime(Option<Duration>);

fn lifetime(text: &str) -> Result<Lifetime, humantime::DurationError> {
    if text == "never" {
        return Ok(Lifetime(None));
    }
    humantime::parse_duration(text).map(|lifetime| Lifetime(Some(lifetime)))
}

impl Key {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::New(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Revoke(command) => command.run().await,
        }
    }
}

impl New {
    async fn run(self) -> Result<(), CliError> {
        let lifetime = self.expires.map(|Lifetime(lifetime)| {
            lifetime.map_or_else(|| json!("never"), |lifetime| lifetime.as_secs().into())
        });
        let wanted = json!({ "name": self.name, "toolkits": self.toolkits, "lifetime": lifetime });
        let client = self.connection.open().await?;
        let made: Value = client.send(Method::POST, "/keys", "application/json", wanted.to_string()).await?;
        report(&made, || {
            say!("{}", text(&made["key"]));
            let end = made["expiresAt"].as_str().unwrap_or("never");
            note!("Keep it where secrets are kept: it is not shown again. It expires: {}", end);
            if let Some(pause) = made["pausesAt"].as_str() {
                note!("It pauses at {} unless you sign in before, and goes on once you do.", pause);
            }
            warn_unreachable(&made);
        })
    }
}

impl List {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let keys: Vec<Value> = client.send(Method::GET, "/keys", "application/json", "").await?;
        report(&keys, || {
            if keys.is_empty() {
                say!("You have no keys. `kitbag key new NAME` makes one.");
            }
            for key in &keys {
                let unreachable = unreachable(key).map(|(id, _)| id).collect::<Vec<_>>().join(", ");
                let toolkits =
                    key["toolkits"].as_array().map(|ids| ids.iter().map(text).collect::<Vec<_>>().join(", "));
                let pause = key["pausesAt"].as_str();
                let pause = pause.map(|pause| format!(", pauses {pause} unless you sign in before"));
                say!(
                    "{}  {:<24} {}; expires {}, used {}{}",
                    text(&key["id"]),
                    text(&key["name"]),
                    toolkits.as_deref().unwrap_or("everything"),
                    key["expiresAt"].as_str().unwrap_or("never"),
                    key["usedAt"].as_str().unwrap_or("never"),
                    pause.unwrap_or_default()
                );
                if !unreachable.is_empty() {
                    say!("                  does not reach: {}", unreachable);
                }
            }
        })
    }
}

impl Revoke {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let (keys, path): (Vec<Value>, String) = match &self.user {
            None => (client.send(Method::GET, "/keys", "application/json", "").await?, "/keys".to_owned()),
            Some(user) => {
                let path = format!("/users/{}", path_segment(user));
                let user: Value = client.send(Method::GET, &path, "application/json", "").await?;
                (user["keys"].as_array().cloned().unwrap_or_default(), format!("{path}/keys"))
            }
        };
        let key = keys.iter().find(|key| key["id"] == self.key.as_str() || key["name"] == self.key.as_str());
        let id = key.map_or(self.key.as_str(), |key| text(&key["id"])).to_owned();
        client.delete(&format!("{path}/{}", path_segment(&id))).await?;
        report(&json!({ "id": id }), || say!("The key {} is revoked.", self.key))
    }
}

/// Warns of toolkits that a new key does not reach, and if it reaches none at all.
fn warn_unreachable(made: &Value) {
    let limited_to = made["toolkits"].as_array().map(Vec::len);
    if limited_to == Some(unreachable(made).count()) {
        note!("warning: this key reaches nothing:");
    }
    for (id, reason) in unreachable(made) {
        match reason {
            "group" => note!(
                "warning: it does not reach `{}`: keys have no groups, and you see it through one; have it shared with you by name",
                id
            ),
            _ => note!("warning: it does not reach `{}`: you see no such toolkit", id),
        }
    }
}

/// Returns the toolkits that a key does not reach, each with the reason.
fn unreachable(key: &Value) -> impl Iterator<Item = (&str, &str)> {
    let listed = key["unreachable"].as_array().into_iter().flatten();
    listed.map(|it| (text(&it["toolkit"]), text(&it["reason"])))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
