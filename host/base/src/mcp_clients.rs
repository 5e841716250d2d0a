//! Common MCP clients, and how to add a server to each; for the web page and for `kitbag connect`.
//!
//! Formats and paths follow the vendors' documentation as of November 2026. No entry contains a token: each
//! of these clients signs in with OAuth.

use serde_json::{Map, Value, json};
use url::Url;

/// Default name of a server in a client's configuration.
pub const DEFAULT_NAME: &str = "kitbag";

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
    entry: fn(&Url) -> Value,
    command: Option<fn(&str, &Url) -> Vec<String>>,
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
        entry: |url| json!({ "type": "http", "url": url }),
        command: Some(|name, url| {
            words(&["claude", "mcp", "add", "--transport", "http", "--scope", "user", name, url.as_str()])
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
        entry: |url| json!({ "command": "npx", "args": ["-y", "mcp-remote", url] }),
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
        entry: |url| json!({ "url": url }),
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
        entry: |url| json!({ "type": "http", "url": url }),
        command: Some(|name, url| {
            let entry = json!({ "name": name, "type": "http", "url": url }).to_string();
            words(&["code", "--add-mcp", &entry])
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
        entry: |url| json!({ "url": url }),
        command: Some(|name, url| words(&["codex", "mcp", "add", name, "--url", url.as_str()])),
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
        entry: |url| json!({ "httpUrl": url }),
        command: Some(|name, url| {
            words(&["gemini", "mcp", "add", "--transport", "http", "--scope", "user", name, url.as_str()])
        }),
    },
];

impl McpClient {
    /// Returns the client's entry for the server whose MCP endpoint is `url`.
    pub fn entry(&self, url: &Url) -> Map<String, Value> {
        match (self.entry)(url) {
            Value::Object(entry) => entry,
            _ => Map::new(),
        }
    }

    /// Returns the vendor's own command that adds the server, as a list of arguments.
    pub fn command(&self, name: &str, url: &Url) -> Option<Vec<String>> {
        self.command.map(|command| command(name, url))
    }

    /// Returns a configuration file that contains only this server. `name` consists of letters, digits,
    /// hyphens and underscores.
    pub fn configuration(&self, name: &str, url: &Url) -> String {
        let entry = self.entry(url);
        match self.syntax {
            Syntax::Json => {
                let file = json!({ self.servers: { name: entry } });
                serde_json::to_string_pretty(&file).expect("a JSON value can be written")
            }
            Syntax::Toml => {
                // A JSON string without control characters is a basic string of TOML, too.
                let lines = entry.iter().map(|(key, value)| format!("\n{key} = {value}"));
                format!("[{}.{name}]{}", self.servers, lines.collect::<String>())
            }
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_gets_the_address_in_its_own_form_and_no_token() {
        let url: Url = "https://kb.example/mcp".parse().expect("a URL");

        for client in CLIENTS {
            let text = client.configuration(DEFAULT_NAME, &url);
            let entry: Value = match client.syntax {
                Syntax::Json => serde_json::from_str(&text).expect("JSON"),
                Syntax::Toml => toml::from_str(&text).expect("TOML"),
            };
            assert_eq!(
                entry[client.servers][DEFAULT_NAME],
                Value::Object(client.entry(&url)),
                "{}",
                client.id
            );
            assert!(text.contains(url.as_str()) && !text.to_lowercase().contains("auth"), "{text}");
        }
        let codex = CLIENTS.iter().find(|client| client.id == "codex").expect("it is there");
        assert_eq!(codex.configuration("kb", &url), "[mcp_servers.kb]\nurl = \"https://kb.example/mcp\"");
    }
}
