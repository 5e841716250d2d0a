//! Real coding agents. A program replaces their model, and prints the requests that the agent sends to it
//! (`clients/agents`).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use url::Url;

use crate::code_mode::with_code;
use crate::harness::sign_in::PromptingProcess;
use crate::harness::{Browser, Kitbag, SignIn, User, Wat, clients, guests, run, within};

/// Schema with boolean subschemas, because of which some clients drop all tools of a server, and with
/// alternatives, because of which they drop the tool.
const BOOLEANS: &str =
    r#"{"type":"object","properties":{"any":true,"none":{"items":false}},"anyOf":[{"required":["any"]},{}]}"#;

fn folder() -> PathBuf {
    let folder = clients().join("agents");
    assert!(folder.join("node_modules").is_dir(), "run `just install-agents`");
    folder
}

fn program(name: &str) -> PathBuf {
    folder().join("node_modules/.bin").join(name)
}

/// Replacement for the model of an agent. Killed when dropped.
struct Model {
    url: String,
    lines: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Model {
    /// Starts a model that requests `calls` in order: a JSON list of pairs of name and arguments.
    async fn wanting(calls: &Value) -> Self {
        let mut process = Command::new("node")
            .arg(folder().join("model.mjs"))
            .arg(calls.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node can be started");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let mut model = Self { url: String::new(), lines, _process: process };
        let url = model.next().await["url"].as_str().expect("a URL").to_owned();
        Self { url, ..model }
    }

    async fn next(&mut self) -> Value {
        let line = within("the agent's request", self.lines.next_line()).await.expect("text");
        serde_json::from_str(&line.expect("the model goes on")).expect("JSON")
    }

    /// Waits for the request of the agent that contains `results` results of calls.
    async fn told(&mut self, results: usize) -> Value {
        loop {
            let request = self.next().await;
            if request["results"].as_array().is_some_and(|it| it.len() == results) {
                return request;
            }
        }
    }
}

/// Starts a server with a toolkit whose schemas some clients do not understand, and a document of the user.
async fn start() -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    let wat = Wat { input: Some(BOOLEANS), ..Wat::default() };
    kitbag.as_operator().deploy(wat.component()).await.assert_status(201);
    let ana = kitbag.as_user("ana");
    ana.ingest(json!([{ "title": "Wombats", "text": "The wombat sleeps." }])).await;
    ana.settled().await;
    (kitbag, ana)
}

/// Runs Claude Code with one prompt, and asserts that it succeeds.
async fn claude(kitbag: &Kitbag, user: &User, model: &Model, home: &Path) {
    claude_at(kitbag.anonymous().url("/mcp"), user, model, home).await;
}

async fn claude_at(url: Url, user: &User, model: &Model, home: &Path) {
    let bearer = format!("Bearer {}", user.token());
    let servers = json!({ "kitbag": { "type": "http", "url": url, "headers": { "Authorization": bearer } } });
    let configuration = home.join("mcp.json");
    std::fs::write(&configuration, json!({ "mcpServers": servers }).to_string()).expect("a file");
    let mut command = claude_command(program("claude"), home);
    command.args(["--strict-mcp-config", "--mcp-config"]).arg(configuration);
    prompt_claude(command, model).await;
}

/// Creates a command of Claude Code, whose files are in `home`.
fn claude_command(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(home).env("HOME", home).env("BROWSER", "true");
    for off in ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] {
        command.env(off, "1");
    }
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

async fn prompt_claude(mut command: Command, model: &Model) {
    command
        .args(["-p", "go", "--allowedTools", "mcp__kitbag"])
        .env("ANTHROPIC_BASE_URL", &model.url)
        .env("ANTHROPIC_API_KEY", "none")
        .env("ENABLE_TOOL_SEARCH", "false");
    run(command).await.succeeded();
}

/// Signs in as `ana` with `claude mcp login`, which wants a terminal. Returns the client id.
async fn sign_claude_in(home: &Path, url: &str) -> String {
    let mut add = claude_command(program("claude"), home);
    add.args(["mcp", "add", "--transport", "http", "kitbag", url]);
    run(add).await.succeeded();
    let mut login = claude_command("script", home);
    // The URL of the page has to be in one line.
    let line = format!("stty cols 2000; '{}' mcp login kitbag", program("claude").display());
    login.args(["-qec", &line, "/dev/null"]);
    let mut login = PromptingProcess::start(login);
    let page: Url = login.page().await.parse().expect("a URL");
    let (_, answer) = Browser::default().sign_in(page.as_str(), "ana").await;
    answer.assert_status(200);
    login.finished().await.succeeded();
    let id = page.query_pairs().find(|(name, _)| name == "client_id");
    id.expect("a client id").1.into_owned()
}

#[tokio::test]
async fn claude_code_has_every_tool_and_its_model_gets_what_the_tools_say() {
    let (kitbag, ana) = start().await;
    let home = TempDir::new().expect("a scratch folder");
    let mut model = Model::wanting(&json!([
        ["mcp__kitbag__text__diff", { "before": "a\n", "after": "b\n" }],
        ["mcp__kitbag__wat__run", { "any": [1] }],
        ["mcp__kitbag__search", { "query": "wombat" }],
    ]))
    .await;

    claude(&kitbag, &ana, &model, home.path()).await;

    let told = model.told(3).await;
    let tools = told["tools"].to_string();
    for tool in ["text__count", "text__diff", "wat__run", "search", "fetch"] {
        assert!(tools.contains(&format!("\"mcp__kitbag__{tool}\"")), "{tool}: {tools}");
    }
    let results: Vec<_> = told["results"].as_array().expect("a list").iter().map(Value::to_string).collect();
    assert!(results[0].contains("-a\\\\n+b"), "the diff itself: {}", results[0]);
    assert!(results[1].contains("done"), "{}", results[1]);
    assert!(results[2].contains("Wombats"), "{}", results[2]);
}

#[tokio::test]
async fn claude_code_runs_code_that_calls_tools() {
    let kitbag = Kitbag::start_with(with_code).await;
    kitbag.deploy(guests::TEXT).await;
    let home = TempDir::new().expect("a scratch folder");
    let code = "const { words } = await tools.text.count({ text: 'one two' }); return { words }";
    let mut model = Model::wanting(&json!([
        ["mcp__kitbag__find_tools", { "query": "count the words of a text" }],
        ["mcp__kitbag__describe_tools", { "names": ["text__count"] }],
        ["mcp__kitbag__run_code", { "code": code }],
    ]))
    .await;

    let url = kitbag.anonymous().url("/mcp?mode=code");
    claude_at(url, &kitbag.as_user("ana"), &model, home.path()).await;

    let told = model.told(3).await;
    assert!(!told["tools"].to_string().contains("mcp__kitbag__text__count"), "{told}");
    let results: Vec<_> = told["results"].as_array().expect("a list").iter().map(Value::to_string).collect();
    assert!(results[0].contains("text__count") && results[1].contains("tools.text.count("), "{results:?}");
    assert!(results[2].contains("words") && results[2].contains('2'), "{results:?}");
}

#[tokio::test]
async fn what_its_user_hides_is_out_of_claude_codes_sight() {
    let (kitbag, ana) = start().await;
    ana.post("/toolkits/text/hide", &json!(null)).await.assert_status(204);
    ana.post("/toolkits/knowledge/hide", &json!(null)).await.assert_status(204);
    let home = TempDir::new().expect("a scratch folder");
    let mut model = Model::wanting(&json!([["mcp__kitbag__wat__run", {}]])).await;

    claude(&kitbag, &ana, &model, home.path()).await;

    let tools = model.told(1).await["tools"].to_string();
    assert!(tools.contains("\"mcp__kitbag__wat__run\"") && !tools.contains("mcp__kitbag__text"), "{tools}");
    assert!(!tools.contains("mcp__kitbag__search"), "{tools}");
}

/// Writes the configuration of Codex, and creates a command that runs it.
fn codex(home: &Path, model: &str, url: &str) -> Command {
    let configuration = format!(
        "model = \"stand-in\"\nmodel_provider = \"local\"\n\
         [model_providers.local]\nname = \"local\"\nbase_url = \"{model}/v1\"\nwire_api = \"responses\"\n\
         [mcp_servers.kitbag]\nurl = \"{url}\"\n"
    );
    std::fs::write(home.join("config.toml"), configuration).expect("a file");
    let mut command = Command::new(program("codex"));
    command.current_dir(home).env("HOME", home).env("CODEX_HOME", home).env("BROWSER", "true");
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Signs in as `ana` with `codex mcp login`.
async fn sign_codex_in(home: &Path, url: &str) {
    // The server ignores unknown scopes (RFC 6749, section 3.3).
    let mut login = codex(home, "http://127.0.0.1", url);
    login.args(["mcp", "login", "kitbag", "--scopes", "openid,profile"]);
    let mut login = PromptingProcess::start(login);
    Browser::default().sign_in(&login.page().await, "ana").await.1.assert_status(200);
    login.finished().await.succeeded();
}

#[tokio::test]
async fn codex_signs_in_has_every_tool_and_calls_them() {
    let at = SignIn::local_offline().await;
    at.deploy(guests::TEXT).await;
    let home = TempDir::new().expect("a scratch folder");
    let mut model =
        Model::wanting(&json!([["mcp__kitbag.text__diff", { "before": "a\n", "after": "b\n" }]])).await;
    let url = format!("{}/mcp", at.url());

    sign_codex_in(home.path(), &url).await;
    let mut exec = codex(home.path(), &model.url, &url);
    exec.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"]);
    run(exec).await.succeeded();

    let told = model.told(1).await;
    let tools = told["tools"].to_string();
    for tool in ["text__count", "text__diff", "search", "fetch"] {
        assert!(tools.contains(&format!("\"mcp__kitbag.{tool}\"")), "{tool}: {tools}");
    }
    let result = told["results"][0].to_string();
    assert!(result.contains("+b"), "{result}");
}

/// Their ids are URLs of documents on the Internet, which they keep although the server cannot read them.
#[tokio::test]
async fn claude_code_signs_in_and_calls_tools_without_the_internet() {
    let at = SignIn::local_offline().await;
    at.deploy(guests::TEXT).await;
    let home = TempDir::new().expect("a scratch folder");
    let mut model =
        Model::wanting(&json!([["mcp__kitbag__text__diff", { "before": "a\n", "after": "b\n" }]])).await;

    let client_id = sign_claude_in(home.path(), &format!("{}/mcp", at.url())).await;
    println!("its client id is {client_id}");
    prompt_claude(claude_command(program("claude"), home.path()), &model).await;

    let told = model.told(1).await;
    assert!(told["results"][0].to_string().contains("+b"), "{told}");
}

#[tokio::test]
async fn claude_code_shows_what_a_tool_asks_and_the_tool_gets_the_answer() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;
    let ana = kitbag.as_user("ana");
    let home = TempDir::new().expect("a scratch folder");
    let mut model = Model::wanting(&json!([
        ["mcp__kitbag__conformance__test_elicitation", { "message": "Who are you?" }],
    ]))
    .await;
    // Replaces the person at the form: a hook that stores the question and answers it.
    let asked = home.path().join("asked.json");
    let answer = json!({ "hookSpecificOutput": {
        "hookEventName": "Elicitation",
        "action": "accept",
        "content": { "username": "ana", "email": "ana@example.org" },
    } });
    let hook = format!("cat > '{}'; echo '{answer}'", asked.display());
    let hooks =
        json!({ "hooks": { "Elicitation": [{ "hooks": [{ "type": "command", "command": hook }] }] } });
    std::fs::create_dir(home.path().join(".claude")).expect("a folder");
    std::fs::write(home.path().join(".claude/settings.json"), hooks.to_string()).expect("a file");

    claude(&kitbag, &ana, &model, home.path()).await;

    let told = model.told(1).await;
    let text = told["results"].to_string();
    assert!(text.contains("action=accept") && text.contains("ana@example.org"), "{told:#}");
    let asked: Value = serde_json::from_slice(&std::fs::read(asked).expect("it was asked")).expect("JSON");
    assert_eq!(asked["message"], "The toolkit conformance asks: Who are you?", "{asked:#}");
    assert_eq!(asked["requested_schema"]["required"], json!(["username", "email"]), "{asked:#}");
    assert_eq!(ana.logged("conformance__test_elicitation").await["outcome"], "succeeded");
}
