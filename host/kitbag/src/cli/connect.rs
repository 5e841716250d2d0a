//! `kitbag connect`

mod edit;
mod file;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use kitbag_base::base_url::below;
use kitbag_base::mcp_clients::{CLIENTS, DEFAULT_NAME, McpClient, McpServer};
use kitbag_identity::client::{Http, expect_protected, mcp_client_id};
use serde::Serialize;
use shlex::try_join;
use similar::TextDiff;
use tokio::process::Command;
use tokio::time::timeout;
use url::Url;

use self::edit::{Existing, edited};
use self::file::{ConfigFile, Place};
use super::client::which_server;
use super::error::{CliError, Exit};
use super::output::report;
use super::terminal::{Text, note, say};

/// Show, or write, the configuration of MCP clients for a server.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag connect                        what each client needs
  kitbag connect cursor                 the configuration, and where it belongs
  kitbag connect cursor --write         shows what changes in the file, and writes it
  kitbag connect vscode --write --project     for the project in this folder
  kitbag connect codex --write --server https://kitbag.example.com
  kitbag connect claude-code --mode search    for a model that too many tools confuse
  kitbag connect claude-code --mode code      for a model that writes code which calls tools
  kitbag connect codex --client-id 0oa1b2c3   where the provider lets no client register

Clients sign in with OAuth: no token is written. --write keeps everything else in the file, comments too, and \
changes nothing where the server is there already.")]
pub(super) struct Connect {
    /// The client.
    #[arg(value_enum)]
    client: Option<ClientId>,
    /// Add the server to the client's configuration, after showing what changes.
    #[arg(long, requires = "client")]
    write: bool,
    /// The configuration of the project in the current folder, instead of your own.
    #[arg(long, requires = "client")]
    project: bool,
    /// Another file than the client's usual one: that of a profile, or the target of a symbolic link.
    #[arg(long, value_name = "FILE", requires = "client", conflicts_with = "project")]
    file: Option<PathBuf>,
    /// How the client comes to know tools; without it, all of them are listed.
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Identifier that the client signs in with, at a provider that lets no client register; by default what the server
    /// says (its setting mcp-client-id).
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The server's name in the client.
    #[arg(long, default_value = DEFAULT_NAME, value_parser = name)]
    name: String,
    /// Replace an entry of that name that is different.
    #[arg(long, requires = "write")]
    replace: bool,
    /// URL of the server; by default the one with a session, or else the local one that last ran here.
    #[arg(long, env = "KITBAG_SERVER")]
    server: Option<Url>,
    /// Data directory of a local server, which is then meant; by default kitbag-data.
    #[arg(long, env = "KITBAG_DATA")]
    data: Option<PathBuf>,
}

/// Modes of `/mcp`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// The model finds tools when it needs them, by two tools that do that.
    Search,
    /// The model writes code that calls tools, which it finds in the same way.
    Code,
}

/// Index of a client in the list of known MCP clients.
#[derive(Clone, Copy, Debug)]
struct ClientId(usize);

impl ValueEnum for ClientId {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ClientId; CLIENTS.len()] = {
            let mut all = [ClientId(0); CLIENTS.len()];
            let mut index = 0;
            while index < all.len() {
                all[index] = ClientId(index);
                index += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(CLIENTS[self.0].id).help(CLIENTS[self.0].title))
    }
}

/// JSON output: configuration of one client for a server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    client: &'static str,
    title: &'static str,
    name: String,
    url: Url,
    /// Configuration file; `None` if the command must not write it.
    file: Option<PathBuf>,
    configuration: String,
    command: Option<Vec<String>>,
    sign_in: &'static str,
}

/// JSON output of `--write`.
#[derive(Serialize)]
struct Written {
    client: &'static str,
    name: String,
    url: Url,
    /// `None` if the client's own command wrote the configuration.
    file: Option<PathBuf>,
    /// Whether the configuration was changed.
    changed: bool,
}

impl Connect {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let server = which_server(self.server.clone(), self.data.as_deref())?;
        expect_protected(&server)?;
        let mut url = below(&server, "/mcp")
            .parse::<Url>()
            .map_err(|error| CliError::new(format!("{server}: {error}")))?;
        if let Some(mode) = self.mode.as_ref().and_then(ValueEnum::to_possible_value) {
            url.query_pairs_mut().append_pair("mode", mode.get_name());
        }
        let client_id = match self.client_id.clone() {
            Some(client_id) => Some(client_id),
            None => client_id_of(&server).await,
        };
        let server = McpServer { url, client_id };
        let Some(ClientId(index)) = self.client else {
            let all: Vec<_> = CLIENTS.iter().map(|client| self.shown(client, &server)).collect();
            return report(&all, || print_all(&all, &server.url));
        };
        let client = &CLIENTS[index];
        if !self.write {
            let shown = self.shown(client, &server);
            return report(&shown, || print_one(&shown));
        }
        let written = match self.place(client)? {
            Some((path, place)) => self.write(client, &server, &path, place)?,
            None => self.run_command(client, &server).await?,
        };
        report(&written, || {
            if written.changed {
                say!("{} knows the server as {}. {}", client.title, self.name, client.sign_in);
            } else {
                say!("{} knows the server as {} already; nothing was changed.", client.title, self.name);
            }
        })
    }

    fn shown(&self, client: &McpClient, server: &McpServer) -> Shown {
        Shown {
            client: client.id,
            title: client.title,
            name: self.name.clone(),
            url: server.url.clone(),
            file: self.place(client).ok().flatten().map(|(path, _)| path),
            configuration: client.configuration(&self.name, server),
            command: client.command(&self.name, server),
            sign_in: client.sign_in,
        }
    }

    /// Selects the configuration file; `None` if the client's own command must write it.
    fn place(&self, client: &McpClient) -> Result<Option<(PathBuf, Place)>, CliError> {
        if let Some(file) = &self.file {
            return Ok(Some((file.clone(), Place::User)));
        }
        if self.project {
            let file = client.project_file.ok_or_else(|| {
                CliError::new(format!("{} has no configuration for projects", client.title)).exit(Exit::Usage)
            })?;
            return Ok(Some((PathBuf::from(file), Place::Project)));
        }
        let Some(file) = client.user_file else { return Ok(None) };
        let home = etcetera::home_dir()
            .map_err(|_| CliError::new("there is no home directory").hint("name the file with --file"))?;
        Ok(Some((below_home(file.here(), &home), Place::User)))
    }

    fn write(
        &self,
        client: &McpClient,
        server: &McpServer,
        path: &Path,
        place: Place,
    ) -> Result<Written, CliError> {
        let file = ConfigFile::open(path, place)?;
        let existing = if self.replace { Existing::Replaced } else { Existing::Kept };
        let before = file.text();
        let after = edited(client, before, &self.name, server, existing).map_err(|error| {
            CliError::new(format!("{} stays as it is: {error}", path.display()))
                .hint(error.hint().unwrap_or("the same command without --write prints what to add by hand"))
        })?;
        let changed = after.is_some();
        if let Some(after) = after {
            note!("{}", difference(before, &after, path));
            file.replace(&after)?;
        }
        let file = Some(path.to_owned());
        Ok(Written { client: client.id, name: self.name.clone(), url: server.url.clone(), file, changed })
    }

    /// Adds the server by running the client's own command, for clients whose file nothing else may write.
    async fn run_command(&self, client: &McpClient, server: &McpServer) -> Result<Written, CliError> {
        let McpServer { url, .. } = server;
        let command = client.command(&self.name, server).unwrap_or_default();
        let [program, arguments @ ..] = command.as_slice() else {
            return Err(CliError::new(format!("{} cannot be configured from here", client.title)));
        };
        let absent = |error: std::io::Error| {
            CliError::new(format!(
                "cannot run `{program}`, which keeps the configuration of {}: {error}",
                client.title
            ))
            .hint("install it, or write the configuration of a project with --project")
        };
        let known = Command::new(program).args(["mcp", "get", &self.name]).output().await.map_err(absent)?;
        let written = |changed| {
            let name = self.name.clone();
            let url = url.clone();
            Written { client: client.id, name, url, file: None, changed }
        };
        if known.status.success() {
            let answer = String::from_utf8_lossy(&known.stdout);
            if answer.split_whitespace().any(|word| word == url.as_str()) {
                return Ok(written(false));
            }
            return Err(CliError::new(format!("{} knows another server as {}", client.title, self.name))
                .hint(format!(
                    "choose another name with --name, or remove it: {program} mcp remove {}",
                    self.name
                )));
        }
        note!("Running {}", shell_line(&command));
        let ran = Command::new(program).args(arguments).output().await.map_err(absent)?;
        if ran.status.success() {
            return Ok(written(true));
        }
        let said = String::from_utf8_lossy(if ran.stderr.is_empty() { &ran.stdout } else { &ran.stderr });
        Err(CliError::new(format!("`{program} mcp add` failed: {}", said.trim())))
    }
}

/// Asks the server which identifier its clients sign in with; `None` if it names none or does not answer soon:
/// a configuration can be written while the server is down.
async fn client_id_of(server: &Url) -> Option<String> {
    const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

    timeout(ANSWER_TIMEOUT, mcp_client_id(&Http::default(), server)).await.ok()?.ok()?
}

/// Resolves a path below the home directory. Honours the variables that relocate a client's folder.
fn below_home(place: &str, home: &Path) -> PathBuf {
    for (prefix, variable) in [("~/.config/", "XDG_CONFIG_HOME"), ("~/.codex/", "CODEX_HOME")] {
        let folder = env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
        if let (Some(rest), Some(folder)) = (place.strip_prefix(prefix), folder) {
            return folder.join(rest);
        }
    }
    home.join(place.trim_start_matches("~/"))
}

/// Diff without context lines: neighbouring lines may contain keys of other servers.
fn difference(before: &str, after: &str, path: &Path) -> Text {
    let path = path.display().to_string();
    let difference = TextDiff::from_lines(before, after);
    let lines = difference.unified_diff().context_radius(0).header(&path, &path).to_string();
    Text::indented(lines.trim_end(), 0)
}

fn print_one(shown: &Shown) {
    say!("{}", shown.title);
    if let Some(command) = &shown.command {
        say!("  run  {}", shell_line(command));
    }
    let or = if shown.command.is_some() { "or " } else { "" };
    match &shown.file {
        Some(file) => say!("  {}add to {}", or, file.display()),
        None => say!("  {}add to the .mcp.json of a project", or),
    }
    say!("    {}", Text::indented(&shown.configuration, 4));
    say!("  {}", Text::wrapped(&Text::prose(shown.sign_in), 2));
    say!("`kitbag connect {} --write` does it.", shown.client);
}

fn print_all(all: &[Shown], url: &Url) {
    say!("An MCP client that signs in with OAuth needs one address:\n\n  {}\n", url);
    for shown in all {
        let how = match (&shown.command, &shown.file) {
            (Some(command), _) => shell_line(command),
            (None, Some(file)) => format!("in {}", file.display()),
            (None, None) => String::new(),
        };
        say!("{:<15} {}", shown.client, how);
    }
    say!("\n`kitbag connect CLIENT` shows the configuration, and with --write adds it.");
}

/// Quotes a command for a POSIX shell.
fn shell_line(command: &[String]) -> String {
    // Only NUL cannot be quoted, and no argument contains it.
    try_join(command.iter().map(String::as_str)).unwrap_or_else(|_| command.join(" "))
}

/// Parses a server name that needs no quoting in JSON, TOML and a shell.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if text.is_empty() || text.len() > 64 || text.starts_with('-') || !text.bytes().all(is_plain) {
        return Err("a name has letters, digits, hyphens and underscores, at most 64".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_needs_no_quotes_anywhere() {
        for good in ["kitbag", "kb-2_x"] {
            assert!(name(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a.b", "-x", "\"", "é", &"x".repeat(65)] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
