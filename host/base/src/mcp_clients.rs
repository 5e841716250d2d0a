//! Common MCP clients, and how to add a server to each; for the web page and for `kitbag connect`.
//!
//! Formats and paths follow the vendors' documentation as of November 2026. No entry contains a token: each
//! of these clients signs in with OAuth, by an identifier of its own unless the server names one.

use serde_json::{Map, Value, json};
use url::Url;

/// Default name of a server in a client's configuration.
pub const DEFAULT_NAME: &str = "kitbag";

/// A server, as clients have to know it.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// URL of the MCP endpoint.
    pub url: Url,
    /// Identifier that clients sign in with, at a provider that lets none register.
    pub client_id: Option<String>,
}

/// Port on which clients with a fixed redirect URI listen during a sign-in: providers without registration
/// often compare ports.
const CALLBACK_PORT: u16 = 8765;

/// An MCP client, and the format of its configuration.
#[derive(Clone, Copy, Debug)]
pub struct McpClient {
    /// Name in commands.
    pub id: &'static str,
    /// Display name, as its vendor writes it.
    pub title: &'static str,
    /// Syntax of its configuration files.
    pub syntax: Syntax,
    /// Key of the object that contains the servers.
    pub servers: &'static str,
    /// Path of the user's configuration file; `None` if only the client may write it.
    pub user_file: Option<UserFile>,
    /// Path of a project's configuration file, relative to the project's folder.
    pub project_file: Option<&'static str>,
    /// Instructions for signing in after the server was added.
    pub sign_in: &'static str,
    entry: fn(&McpServer) -> Value,
    command: Option<fn(&str, &McpServer) -> Vec<String>>,
}

/// Syntax of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON, possibly with comments.
    Json,
    /// TOML.
    Toml,
}

/// Path of a file on each operating system. `~` is the home directory.
#[derive(Clone, Copy, Debug)]
pub struct UserFile {
    /// Path on Linux.
    pub linux: &'static str,
    /// Path on macOS.
    pub macos: &'static str,
    /// Path on Windows.
    pub windows: &'static str,
}

impl UserFile {
    /// Returns the path on this operating system.
    pub fn here(self) -> &'static str {
        if cfg!(target_os = "macos") { self.macos } else { self.linux }
    }
}

/// All clients, in display order.
pub const CLIENTS: [McpClient; 6] = [
    McpClient {
        id: "claude-code",
        title: "Claude Code",
        syntax: Syntax::Json,
        servers: "mcpServers",
        user_file: None,
        project_file: Some(".mcp.json"),
        sign_in: "In a session, /mcp opens the page to sign in.",
        entry: |server| {
            let oauth = |id: &str| json!({ "clientId": id, "callbackPort": CALLBACK_PORT });
            with_client(json!({ "type": "http", "url": server.url }), server, "oauth", oauth)
        },
        command: Some(|name, server| {
            let port = CALLBACK_PORT.to_string();
            let mut command = vec!["claude", "mcp", "add", "--transport", "http", "--scope", "user"];
            if let Some(id) = &server.client_id {
                command.extend(["--client-id", id, "--callback-port", &port]);
            }
            command.extend([name, server.url.as_str()]);
            words(&command)
        }),
    },
    McpClient {
        id: "claude-desktop",
        title: "Claude Desktop",
        syntax: Syntax::Json,
        servers: "mcpServers",
        user_file: Some(UserFile {
            linux: "~/.config/Claude/claude_desktop_config.json",
            macos: "~/Library/Application Support/Claude/claude_desktop_config.json",
            windows: r"%APPDATA%\Claude\claude_desktop_config.json",
        }),
        project_file: None,
        sign_in: "Its file names programs only: mcp-remote, which Node runs, connects to the server and opens the page \
                  to sign in. For a server on the public internet, Settings > Connectors > Add custom connector does \
                  without it; requests then come from Anthropic's machines.",
        entry: |server| {
            let mut arguments = vec!["-y".to_owned(), "mcp-remote".to_owned(), server.url.to_string()];
            if let Some(id) = &server.client_id {
                let client = json!({ "client_id": id }).to_string();
                arguments.extend([
                    CALLBACK_PORT.to_string(),
                    "--static-oauth-client-info".to_owned(),
                    client,
                ]);
            }
            json!({ "command": "npx", "args": arguments })
        },
        command: None,
    },
    McpClient {
        id: "cursor",
        title: "Cursor",
        syntax: Syntax::Json,
        servers: "mcpServers",
        user_file: Some(UserFile {
            linux: "~/.cursor/mcp.json",
            macos: "~/.cursor/mcp.json",
            windows: r"%USERPROFILE%\.cursor\mcp.json",
        }),
        project_file: Some(".cursor/mcp.json"),
        sign_in: "Cursor's settings of MCP servers show a button to sign in.",
        entry: |server| {
            with_client(json!({ "url": server.url }), server, "auth", |id| json!({ "CLIENT_ID": id }))
        },
        command: None,
    },
    McpClient {
        id: "vscode",
        title: "VS Code",
        syntax: Syntax::Json,
        servers: "servers",
        user_file: Some(UserFile {
            linux: "~/.config/Code/User/mcp.json",
            macos: "~/Library/Application Support/Code/User/mcp.json",
            windows: r"%APPDATA%\Code\User\mcp.json",
        }),
        project_file: Some(".vscode/mcp.json"),
        sign_in: "VS Code opens the page to sign in when it starts the server.",
        entry: |server| {
            let entry = json!({ "type": "http", "url": server.url });
            with_client(entry, server, "oauth", |id| json!({ "clientId": id }))
        },
        command: Some(|name, server| {
            let entry = json!({ "name": name, "type": "http", "url": server.url });
            let entry = with_client(entry, server, "oauth", |id| json!({ "clientId": id }));
            words(&["code", "--add-mcp", &entry.to_string()])
        }),
    },
    McpClient {
        id: "codex",
        title: "Codex",
        syntax: Syntax::Toml,
        servers: "mcp_servers",
        user_file: Some(UserFile {
            linux: "~/.codex/config.toml",
            macos: "~/.codex/config.toml",
            windows: r"%USERPROFILE%\.codex\config.toml",
        }),
        project_file: Some(".codex/config.toml"),
        sign_in: "`codex mcp login NAME`, with the name of the server, opens the page to sign in.",
        entry: |server| {
            with_client(json!({ "url": server.url }), server, "oauth", |id| json!({ "client_id": id }))
        },
        command: Some(|name, server| {
            let mut command = vec!["codex", "mcp", "add", name, "--url", server.url.as_str()];
            if let Some(id) = &server.client_id {
                command.extend(["--oauth-client-id", id]);
            }
            words(&command)
        }),
    },
    McpClient {
        id: "gemini",
        title: "Gemini CLI",
        syntax: Syntax::Json,
        servers: "mcpServers",
        user_file: Some(UserFile {
            linux: "~/.gemini/settings.json",
            macos: "~/.gemini/settings.json",
            windows: r"%USERPROFILE%\.gemini\settings.json",
        }),
        project_file: Some(".gemini/settings.json"),
        sign_in: "In a session, /mcp auth NAME, with the name of the server, opens the page to sign in.",
        // `url` would select the older SSE transport, which Kitbag does not support.
        entry: |server| {
            let oauth = |id: &str| json!({ "enabled": true, "clientId": id });
            with_client(json!({ "httpUrl": server.url }), server, "oauth", oauth)
        },
        // Its command has no option for an identifier.
        command: Some(|name, server| {
            if server.client_id.is_some() {
                return Vec::new();
            }
            let url = server.url.as_str();
            words(&["gemini", "mcp", "add", "--transport", "http", "--scope", "user", name, url])
        }),
    },
];

impl McpClient {
    /// Returns the client's entry for a server.
    pub fn entry(&self, server: &McpServer) -> Map<String, Value> {
        match (self.entry)(server) {
            Value::Object(entry) => entry,
            _ => Map::new(),
        }
    }

    /// Returns the vendor's own command that adds the server, as a list of arguments.
    pub fn command(&self, name: &str, server: &McpServer) -> Option<Vec<String>> {
        self.command.map(|command| command(name, server)).filter(|command| !command.is_empty())
    }

    /// Returns a configuration file that contains only this server. `name` consists of letters, digits,
    /// hyphens and underscores.
    pub fn configuration(&self, name: &str, server: &McpServer) -> String {
        let entry = self.entry(server);
        match self.syntax {
            Syntax::Json => {
                let file = json!({ self.servers: { name: entry } });
                serde_json::to_string_pretty(&file).expect("a JSON value can be written")
            }
            Syntax::Toml => {
                format!("[{}.{name}]{}", self.servers, lines("", &entry))
            }
        }
    }
}

/// Whether a text may be the identifier of a client (RFC 6749, appendix A.1) and is no option of a command.
pub fn is_client_id(text: &str) -> bool {
    const MAX_BYTES: usize = 255;

    let is_printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    is_printable && (1..=MAX_BYTES).contains(&text.len()) && !text.starts_with('-')
}

/// Adds the client that signs in, if the server names one, as the member `name`.
fn with_client(mut entry: Value, server: &McpServer, name: &str, client: impl Fn(&str) -> Value) -> Value {
    if let Some(id) = &server.client_id {
        entry[name] = client(id);
    }
    entry
}

/// Lines of TOML, with dotted keys for what is nested. A JSON string without control characters is a basic
/// string of TOML, too.
fn lines(prefix: &str, table: &Map<String, Value>) -> String {
    let line = |(key, value): (&String, &Value)| match value {
        Value::Object(table) => lines(&format!("{prefix}{key}."), table),
        value => format!("\n{prefix}{key} = {value}"),
    };
    table.iter().map(line).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(client_id: Option<&str>) -> McpServer {
        let url = "https://kb.example/mcp".parse().expect("a URL");
        McpServer { url, client_id: client_id.map(str::to_owned) }
    }

    #[test]
    fn each_client_gets_the_address_in_its_own_form_and_no_token() {
        for server in [server(None), server(Some("shared-client"))] {
            for client in CLIENTS {
                let text = client.configuration(DEFAULT_NAME, &server);
                let entry: Value = match client.syntax {
                    Syntax::Json => serde_json::from_str(&text).expect("JSON"),
                    Syntax::Toml => toml::from_str(&text).expect("TOML"),
                };
                let expected = Value::Object(client.entry(&server));
                assert_eq!(entry[client.servers][DEFAULT_NAME], expected, "{}", client.id);
                assert!(text.contains(server.url.as_str()) && !text.contains("secret"), "{text}");
                let is_named = text.contains("shared-client");
                assert_eq!(is_named, server.client_id.is_some(), "{text}");
                assert!(is_named || !text.to_lowercase().contains("auth"), "{text}");
            }
        }
        let codex = CLIENTS.iter().find(|client| client.id == "codex").expect("it is there");
        let text = codex.configuration("kb", &server(None));
        assert_eq!(text, "[mcp_servers.kb]\nurl = \"https://kb.example/mcp\"");
    }

    #[test]
    fn an_identifier_is_printable_and_no_option() {
        for good in ["0oa1b2c3", "a b", "https://id.example/client", &"x".repeat(255)] {
            assert!(is_client_id(good), "{good:?}");
        }
        for bad in ["", "-x", "--scope", "a\n", "\u{1b}[2J", "é", &"x".repeat(256)] {
            assert!(!is_client_id(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_command_names_the_client_where_it_can() {
        let command = |id: &str, client_id| {
            let client = CLIENTS.iter().find(|client| client.id == id).expect("it is there");
            client.command("kb", &server(client_id)).map(|words| words.join(" "))
        };
        let url = "https://kb.example/mcp";

        let add = "claude mcp add --transport http --scope user";
        assert_eq!(command("claude-code", None), Some(format!("{add} kb {url}")));
        let named = format!("{add} --client-id shared --callback-port 8765 kb {url}");
        assert_eq!(command("claude-code", Some("shared")), Some(named));
        let named = format!("codex mcp add kb --url {url} --oauth-client-id shared");
        assert_eq!(command("codex", Some("shared")), Some(named));
        assert!(command("gemini", None).is_some());
        assert_eq!(command("gemini", Some("shared")), None);
    }
}
