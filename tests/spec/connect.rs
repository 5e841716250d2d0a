//! `kitbag connect`: its output, and its changes to the configuration files of clients.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli_output::assert_json;
use crate::harness::{CommandOutput, Provider, Visitor, kitbag, run};

const SERVER: &str = "https://kb.example";
const CLIENTS: [&str; 6] = ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini"];

/// Home directory in which commands run. Empty at first.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a scratch directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is below the home")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    async fn connect(&self, arguments: &[&str]) -> CommandOutput {
        self.connect_with(arguments, "/nonexistent").await
    }

    async fn connect_with(&self, arguments: &[&str], programs: &str) -> CommandOutput {
        let mut command = kitbag(["connect"]);
        command
            .env("KITBAG_SERVER", SERVER)
            .args(arguments)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("PATH", programs);
        command.env_remove("XDG_CONFIG_HOME").env_remove("CODEX_HOME");
        run(command).await
    }
}

/// Name of each client, its configuration file relative to the home directory, and the expected content.
fn files() -> [(&'static str, &'static str, Value); 5] {
    let url = "https://kb.example/mcp";
    let desktop = json!({ "command": "npx", "args": ["-y", "mcp-remote", url] });
    let (desktop_file, vscode_file) = if cfg!(target_os = "macos") {
        let support = "Library/Application Support";
        (format!("{support}/Claude/claude_desktop_config.json"), format!("{support}/Code/User/mcp.json"))
    } else {
        (".config/Claude/claude_desktop_config.json".to_owned(), ".config/Code/User/mcp.json".to_owned())
    };
    [
        ("claude-desktop", desktop_file.leak(), json!({ "mcpServers": { "kitbag": desktop } })),
        ("cursor", ".cursor/mcp.json", json!({ "mcpServers": { "kitbag": { "url": url } } })),
        ("vscode", vscode_file.leak(), json!({ "servers": { "kitbag": { "type": "http", "url": url } } })),
        ("codex", ".codex/config.toml", json!({ "mcp_servers": { "kitbag": { "url": url } } })),
        ("gemini", ".gemini/settings.json", json!({ "mcpServers": { "kitbag": { "httpUrl": url } } })),
    ]
}

fn parsed(name: &str, text: &str) -> Value {
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
    } else {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

#[tokio::test]
async fn a_mode_is_part_of_the_address_that_is_written() {
    for (client, file, _) in files() {
        let home = Home::new();
        home.connect(&[client, "--mode", "search", "--write"]).await.succeeded();
        let written = home.read(file);
        assert!(written.contains("https://kb.example/mcp?mode=search\""), "{client}: {written}");

        home.connect(&[client, "--mode", "search", "--write"]).await.succeeded();
        assert_eq!(home.read(file), written, "{client}");
    }
    let home = Home::new();
    let shown = home.connect(&["claude-code", "--mode", "search"]).await.succeeded();
    assert!(shown.contains("'https://kb.example/mcp?mode=search'"), "{shown}");
    let shown = home.connect(&["claude-code", "--mode", "code"]).await.succeeded();
    assert!(shown.contains("'https://kb.example/mcp?mode=code'"), "{shown}");
    let unknown = home.connect(&["cursor", "--mode", "serach"]).await;
    assert!(unknown.stderr.contains("search") && unknown.stderr.contains("serach"), "{}", unknown.stderr);
}

#[tokio::test]
async fn it_prints_the_address_and_what_each_client_needs() {
    let home = Home::new();

    let all = home.connect(&[]).await.succeeded();
    for client in CLIENTS {
        assert!(all.contains(&format!("\n{client} ")), "{client}: {all}");
        let one = home.connect(&[client]).await.succeeded();
        assert!(one.contains("https://kb.example/mcp") && one.contains("--write"), "{client}: {one}");
        let data = assert_json(client, &home.connect(&[client, "--json"]).await).expect("a document");
        assert_eq!((&data["client"], &data["url"]), (&json!(client), &json!("https://kb.example/mcp")));
    }

    let data = assert_json("all", &home.connect(&["--json"]).await).expect("a document");
    assert_eq!(data.as_array().map(Vec::len), Some(CLIENTS.len()));
    assert_eq!(fs::read_dir(home.0.path()).expect("a folder").count(), 0, "nothing is written unasked");
}

#[tokio::test]
async fn it_writes_the_file_of_each_client_after_showing_the_change() {
    let home = Home::new();

    for (client, file, expected) in files() {
        let written = home.connect(&[client, "--write"]).await;

        assert!(written.stderr.lines().any(|line| line.starts_with('+')), "{client}: {written:?}");
        written.succeeded();
        assert_eq!(parsed(file, &home.read(file)), expected, "{client}");
        let mode = home.path(file).metadata().expect("a file").mode() & 0o777;
        assert_eq!(mode, 0o600, "{client}: keys are kept in such files");

        let before = (home.read(file), home.path(file).metadata().expect("a file").ino());
        let again = home.connect(&[client, "--write"]).await;
        assert_eq!(again.stderr, "", "{client}");
        assert!(again.succeeded().contains("nothing was changed"), "{client}");
        assert_eq!((home.read(file), home.path(file).metadata().expect("a file").ino()), before, "{client}");
    }
}

#[tokio::test]
async fn it_keeps_what_else_is_in_a_file_its_comments_and_its_mode() {
    let home = Home::new();
    let vscode = files()[2].1;
    let jsonc = "{\n\t// Why: see the wiki.\n\t\"servers\": {\n\t\t\"other\": { \"type\": \"http\", \"url\": \"https://o.example\", \"headers\": { \"Authorization\": \"Bearer s3cret\" } },\n\t},\n}\n";
    let path = home.write(vscode, jsonc);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");
    let toml = "# mine\nmodel = \"x\"   # keep\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    home.write(".codex/config.toml", toml);

    let ran = home.connect(&["vscode", "--write"]).await;
    assert!(!ran.stderr.contains("s3cret"), "keys of other servers are not shown: {ran:?}");
    ran.succeeded();
    home.connect(&["codex", "--write"]).await.succeeded();

    let written = home.read(vscode);
    for kept in ["\t// Why: see the wiki.\n", "Bearer s3cret", "\t\t\"kitbag\": {\n\t\t\t\"type\": \"http\""]
    {
        assert!(written.contains(kept), "{kept:?}: {written}");
    }
    assert_eq!(path.metadata().expect("a file").mode() & 0o777, 0o640);
    assert!(home.read(".codex/config.toml").starts_with(toml), "{}", home.read(".codex/config.toml"));
}

#[tokio::test]
async fn an_entry_of_the_same_name_is_replaced_only_if_that_is_said() {
    let home = Home::new();
    let before = "{\"mcpServers\": {\"kitbag\": {\"url\": \"https://elsewhere.example/mcp\"}}}\n";
    home.write(".cursor/mcp.json", before);

    home.connect(&["cursor", "--write"]).await.assert_failed("--replace");
    assert_eq!(home.read(".cursor/mcp.json"), before);

    home.connect(&["cursor", "--write", "--name", "second"]).await.succeeded();
    let both = parsed("mcp.json", &home.read(".cursor/mcp.json"));
    assert_eq!(both["mcpServers"]["kitbag"]["url"], "https://elsewhere.example/mcp");
    assert_eq!(both["mcpServers"]["second"]["url"], "https://kb.example/mcp");
    home.connect(&["cursor", "--write", "--replace"]).await.succeeded();
    assert!(!home.read(".cursor/mcp.json").contains("elsewhere"));
}

#[tokio::test]
async fn it_writes_through_no_symbolic_link_and_into_nothing_that_it_does_not_understand() {
    let home = Home::new();
    let target = home.write("dotfiles/mcp.json", "{}\n");
    fs::create_dir(home.path(".cursor")).expect("a folder");
    symlink(&target, home.path(".cursor/mcp.json")).expect("a link");
    fs::create_dir(home.path("outside")).expect("a folder");
    symlink(home.path("outside"), home.path(".vscode")).expect("a link");
    home.write(".gemini/settings.json", "{\"mcpServers\": 7}\n");
    home.write(".codex/config.toml", "not TOML = s3cret =\n");

    let linked = home.connect(&["cursor", "--write"]).await;
    linked.assert_failed("is a symbolic link to");
    linked.assert_failed("--file");
    home.connect(&["vscode", "--write", "--project"]).await.assert_failed("is a symbolic link");
    home.connect(&["gemini", "--write"]).await.assert_failed("mcpServers is not an object");
    let broken = home.connect(&["codex", "--write"]).await;
    broken.assert_failed("stays as it is");
    assert!(!broken.stderr.contains("s3cret"), "{broken:?}");

    assert_eq!(home.read("dotfiles/mcp.json"), "{}\n");
    assert_eq!(home.read(".gemini/settings.json"), "{\"mcpServers\": 7}\n");
    assert_eq!(fs::read_dir(home.path("outside")).expect("a folder").count(), 0);
    let named = target.to_str().expect("UTF-8");
    home.connect(&["cursor", "--write", "--file", named]).await.succeeded();
    assert!(home.read("dotfiles/mcp.json").contains("https://kb.example/mcp"));
}

#[tokio::test]
async fn the_configuration_of_a_project_is_in_its_folder() {
    let home = Home::new();
    for (client, file) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
    ] {
        home.connect(&[client, "--write", "--project"]).await.succeeded();
        assert!(home.read(file).contains("https://kb.example/mcp"), "{client}");
    }
    let claude = parsed(".mcp.json", &home.read(".mcp.json"));
    assert_eq!(claude["mcpServers"]["kitbag"], json!({ "type": "http", "url": "https://kb.example/mcp" }));
    assert_eq!(home.connect(&["claude-desktop", "--write", "--project"]).await.code, Some(2));
}

#[tokio::test]
async fn claude_code_writes_its_own_configuration() {
    let home = Home::new();
    home.connect(&["claude-code", "--write"]).await.assert_failed("cannot run `claude`");

    // Behaves like the real `claude`: `get` fails for an unknown server, and prints the URL of a known one.
    let log = home.path("log");
    let claude = format!(
        "#!/bin/sh\nif [ \"$2\" = get ]; then [ -f '{log}' ] && echo '  URL: https://kb.example/mcp'; exit $?; fi\n\
         echo \"$@\" >> '{log}'\n",
        log = log.display()
    );
    let program = home.write("bin/claude", &claude);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let programs = format!("{}:/usr/bin:/bin", program.parent().unwrap_or(Path::new("")).display());

    home.connect_with(&["claude-code", "--write"], &programs).await.succeeded();
    let again = home.connect_with(&["claude-code", "--write"], &programs).await.succeeded();

    assert_eq!(home.read("log"), "mcp add --transport http --scope user kitbag https://kb.example/mcp\n");
    assert!(again.contains("nothing was changed"), "{again}");
}

#[tokio::test]
async fn a_server_that_others_could_read_along_with_is_refused() {
    let home = Home::new();
    let mut command = kitbag(["connect", "cursor", "--write", "--server", "http://kb.example"]);
    command.current_dir(home.0.path()).env("HOME", home.0.path());

    run(command).await.assert_failed("http");

    assert!(!home.path(".cursor").exists());
}

#[tokio::test]
async fn where_the_provider_registers_no_client_the_server_says_whom_they_sign_in_as() {
    let provider = Provider::start().await;
    let kitbag = provider
        .kitbag_with(|settings| settings.mcp_client_id = "shared-client".parse().expect("an id"))
        .await;
    let home = Home::new();
    let server = kitbag.base_url().as_str();

    let metadata = kitbag.anonymous().get("/.well-known/oauth-protected-resource").await.json();
    let shown = home.connect(&["codex", "--server", server]).await.succeeded();
    let named = home.connect(&["codex", "--server", server, "--client-id", "mine"]).await.succeeded();
    home.connect(&["codex", "--server", server, "--write"]).await.succeeded();

    assert_eq!(metadata["kitbag_mcp_client_id"], "shared-client");
    assert!(shown.contains("--oauth-client-id shared-client"), "{shown}");
    assert!(named.contains("--oauth-client-id mine") && !named.contains("shared-client"), "{named}");
    assert!(home.read(".codex/config.toml").contains("oauth.client_id = \"shared-client\""));
    let session = provider.sign("JWT", &provider.session_claims(&kitbag, "ana"));
    let visitor = Visitor::with_cookies(&kitbag, &format!("__session={session}"));
    let page = visitor.get("/ui/connect").await.assert_status(200);
    assert!(page.text().contains("--client-id shared-client --callback-port 8765"), "{}", page.text());
}
