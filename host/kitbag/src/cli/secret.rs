//! `kitbag secret …`: the user's secrets for a toolkit. Values are write-only.

use std::io::{IsTerminal, Read};

use clap::{Args, Subcommand};
use http::Method;
use kitbag_base::redaction;
use kitbag_vault::{MAX_VALUE_BYTES, SecretStatus};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::client::{Client, Connection};
use super::error::CliError;
use super::output::report;
use super::terminal::{note, say};

/// Set, remove and list your secrets for a toolkit.
#[derive(Debug, Subcommand)]
pub(super) enum Secret {
    /// Set a secret; the value is read from standard input, or asked for at a terminal.
    Set(Set),
    /// Remove a secret.
    Unset(Unset),
    /// List the names that a toolkit declares, whether you have set them, and what else you have set.
    List(List),
}

/// Set a secret.
#[derive(Args, Debug)]
#[command(after_help = "Example: pass show api-key | kitbag secret set weather API_KEY --from-stdin")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct Set {
    /// The toolkit's id.
    toolkit: String,
    /// The secret's name, as the toolkit declares it.
    name: String,
    /// Read the value from standard input; one line end after it is left out.
    #[arg(long)]
    from_stdin: bool,
    /// Set it for all who may use the toolkit, as an operator. A user's own value wins.
    #[arg(long)]
    for_everyone: bool,
    /// With --for-everyone: the value applies also to users who have set their own.
    #[arg(long, requires = "for_everyone")]
    only: bool,
    /// With --for-everyone: set it although the toolkit can read it, and so hand it to any of its users.
    #[arg(long, requires = "for_everyone")]
    yes: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Remove a secret.
#[derive(Args, Debug)]
pub(super) struct Unset {
    /// The toolkit's id.
    toolkit: String,
    /// The secret's name.
    name: String,
    /// Remove the value for everyone, as an operator.
    #[arg(long)]
    for_everyone: bool,
    #[command(flatten)]
    connection: Connection,
}

/// List the names that a toolkit declares.
#[derive(Args, Debug)]
pub(super) struct List {
    /// The toolkit's id.
    toolkit: String,
    #[command(flatten)]
    connection: Connection,
}

impl Secret {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Set(command) => command.run().await,
            Self::Unset(command) => command.run().await,
            Self::List(command) => command.run().await,
        }
    }
}

#[derive(Deserialize)]
struct Stored {
    redacted: bool,
}

impl Set {
    async fn run(self) -> Result<(), CliError> {
        // Connects first: otherwise the user might type a secret in vain.
        let Self { toolkit, name, from_stdin, for_everyone, only, yes, connection } = self;
        let client = connection.open().await?;
        let value = if from_stdin { read_input()? } else { ask(&name)? };
        if value.expose_secret().is_empty() {
            return Err(CliError::new("the value is empty")
                .hint(format!("`kitbag secret unset {toolkit} {name}` removes a value")));
        }
        let query = if for_everyone {
            format!("?for-everyone=true&only={only}&readable={yes}")
        } else {
            String::new()
        };
        let stored = store(&client, &format!("{}{query}", path(&toolkit, &name)), &value).await?;
        let data = json!({
            "toolkit": toolkit, "name": name, "redacted": stored.redacted, "forEveryone": for_everyone,
        });
        report(&data, || {
            if for_everyone {
                say!("{} is set for everyone who uses {}.", name, toolkit);
            } else {
                say!("{} is set for {}.", name, toolkit);
            }
        })?;
        warn_of(&stored);
        Ok(())
    }
}

impl Unset {
    async fn run(self) -> Result<(), CliError> {
        let query = if self.for_everyone { "?for-everyone=true" } else { "" };
        let path = format!("{}{query}", path(&self.toolkit, &self.name));
        self.connection.open().await?.delete(&path).await?;
        let data = json!({ "toolkit": self.toolkit, "name": self.name });
        report(&data, || say!("{} is not set for {} any more.", self.name, self.toolkit))
    }
}

impl List {
    async fn run(self) -> Result<(), CliError> {
        let path = format!("/toolkits/{}/secrets", self.toolkit);
        let list: Vec<SecretStatus> =
            self.connection.open().await?.send(Method::GET, &path, "application/json", "").await?;
        report(&list, || {
            if list.is_empty() {
                say!("{} declares no secrets.", self.toolkit);
            }
            for SecretStatus { name, declared, readable, updated_at, for_everyone, .. } in &list {
                let state = match (updated_at, for_everyone) {
                    (_, Some(everyones)) if everyones.only => {
                        "set by your organisation, for everyone".to_owned()
                    }
                    (Some(at), _) => format!("set {at}"),
                    (None, Some(_)) => "set by your organisation".to_owned(),
                    (None, None) => "not set".to_owned(),
                };
                let note = match (declared, readable) {
                    (false, _) => ", no longer declared",
                    (true, false) => ", used by the server, never shown to the toolkit",
                    (true, true) => "",
                };
                say!("{:<32} {}{}", name, state, note);
            }
        })
    }
}

/// Sets a secret, and warns if its value is too short to be redacted from results and logs.
pub(super) async fn set(
    client: &Client,
    toolkit: &str,
    name: &str,
    value: &SecretString,
) -> Result<(), CliError> {
    warn_of(&store(client, &path(toolkit, name), value).await?);
    Ok(())
}

async fn store(client: &Client, path: &str, value: &SecretString) -> Result<Stored, CliError> {
    client.send(Method::PUT, path, "text/plain", value.expose_secret().to_owned()).await
}

fn warn_of(stored: &Stored) {
    if !stored.redacted {
        note!(
            "warning: a value of which no line has {} bytes is not removed from results and logs",
            redaction::MIN_VALUE_BYTES
        );
    }
}

fn path(toolkit: &str, name: &str) -> String {
    format!("/toolkits/{toolkit}/secrets/{name}")
}

/// Reads all of standard input, without the final line break that `echo` and editors add.
fn read_input() -> Result<SecretString, CliError> {
    let unreadable = |error: std::io::Error| CliError::new(format!("cannot read standard input: {error}"));
    // Room for a line break and one excess byte: a value that is too long is rejected, never truncated.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_VALUE_BYTES + 3));
    std::io::stdin().take(MAX_VALUE_BYTES as u64 + 3).read_to_end(&mut bytes).map_err(unreadable)?;
    value_of(&bytes)
}

fn value_of(input: &[u8]) -> Result<SecretString, CliError> {
    let value = input.strip_suffix(b"\n").map_or(input, |line| line.strip_suffix(b"\r").unwrap_or(line));
    // Before UTF-8 validation: the limit may split a character.
    if value.len() > MAX_VALUE_BYTES {
        return Err(CliError::new(format!("the value is longer than {MAX_VALUE_BYTES} bytes")));
    }
    let text = std::str::from_utf8(value).map_err(|_| CliError::new("the value is not UTF-8"))?;
    Ok(text.into())
}

/// Prompts on the terminal, without echo.
fn ask(name: &str) -> Result<SecretString, CliError> {
    if !std::io::stdin().is_terminal() {
        return Err(CliError::new("there is no terminal to ask for the value")
            .hint("give it on standard input, with --from-stdin"));
    }
    let typed = rpassword::prompt_password(format!("{name}: "));
    typed.map(SecretString::from).map_err(|error| CliError::new(format!("cannot read the value: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_left_out_and_what_is_too_long_is_said_before_it_is_read_as_text() {
        let value = |input: &[u8]| value_of(input).map(|value| value.expose_secret().to_owned());

        assert_eq!(value(b"a\n\n").ok().as_deref(), Some("a\n"));
        assert_eq!(value(b"a\r\n").ok().as_deref(), Some("a"));
        let longest = "x".repeat(MAX_VALUE_BYTES);
        assert_eq!(value(format!("{longest}\r\n").as_bytes()).ok(), Some(longest));
        let cut = &"é".repeat(MAX_VALUE_BYTES).into_bytes()[..MAX_VALUE_BYTES + 3];
        assert!(value(cut).is_err_and(|error| error.to_string().contains("longer than 8192 bytes")));
        assert!(value(b"\xff").is_err_and(|error| error.to_string().contains("not UTF-8")));
    }
}
