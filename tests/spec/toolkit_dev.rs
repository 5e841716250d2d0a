//! `kitbag toolkit dev`: serves a toolkit, and rebuilds it when its source changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::harness::{ask_raw, kitbag, root, run};

/// Time limit for a build. Compiling a crate and its component may take minutes on a busy machine.
const DEV_TIMEOUT: Duration = Duration::from_mins(10);

#[tokio::test]
async fn an_extension_is_served_and_its_changes_too() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let directory = new_toolkit(folder.path().join("greeter"), "ts").await;
    let mut dev = Dev::start(&directory, &[]).await;
    dev.until_greeted("Hello, Ana!").await;
    assert!(dev.without_token().await.contains("401"), "other accounts of the machine get nothing");

    edit(&directory.join("extension.ts"), "Hello, ", "Hi, ");
    dev.until_greeted("Hi, Ana!").await;

    edit(&directory.join("extension.ts"), "export default", "export defeat");
    dev.until_said("the version before this change").await;
    dev.until_greeted("Hi, Ana!").await;
    let url = dev.url.clone();
    dev.terminate().await;
    assert!(refuses_connections(&url).await, "nobody listens any more");
}

#[tokio::test]
async fn an_extension_gets_what_its_author_sets_and_reaches_no_more_than_it_declares() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let directory = new_toolkit(folder.path().join("greeter"), "ts").await;
    let source = directory.join("extension.ts");
    edit(
        &source,
        "  tools: [",
        "  secrets: [\"KEY\"],\n  config: { unit: { type: \"string\", label: \"U\", default: \"a\" } },\n  tools: [",
    );
    edit(&source, "async (args) => {", "async (args, ctx) => {");
    edit(
        &source,
        "const letters",
        "if (name === \"Eve\") await ctx.fetch(\"http://127.0.0.1:1/\").catch((error) => { throw new ToolError(String(error)); });\n\
         if (name === \"Key\") throw new ToolError(`${ctx.config.unit} ${(await ctx.secret(\"KEY\"))?.length} ${await ctx.secret(\"KEY\")}`);\n\
         const letters",
    );
    let env = folder.path().join("env");
    fs::write(&env, "KEY=seventeen-letters\n").expect("a scratch file");
    let env = env.to_str().expect("a path in UTF-8");

    let dev = Dev::start(&directory, &["--env-file", env, "--config", "unit=b"]).await;

    dev.until_greeted("Hello, Ana!").await;
    assert_eq!(dev.greet("Key").await.expect("an answer")["error"], "b 17 [redacted]");
    let refused = dev.greet("Eve").await.expect("an answer");
    assert!(
        refused["error"].as_str().is_some_and(|error| error.contains("127.0.0.1:1 is not listed in egress")),
        "{refused}"
    );
}

#[tokio::test]
async fn a_crate_is_served_in_the_sandbox_and_its_changes_too() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dev-crate");
    if directory.exists() {
        fs::remove_dir_all(&directory).expect("what an earlier run made can be removed");
    }
    let directory = new_toolkit(directory, "rust").await;
    // Reuse the dependency versions and the compiler output of the workspace.
    fs::copy(root().join("Cargo.lock"), directory.join("Cargo.lock")).expect("the workspace has one");
    fs::create_dir_all(root().join("target-guests")).expect("the workspace can be written");
    std::os::unix::fs::symlink(root().join("target-guests"), directory.join("target-guests"))
        .expect("a link");
    let mut dev = Dev::start(&directory, &[]).await;
    dev.until_greeted("Hello, Ana!").await;
    assert!(dev.without_token().await.contains("401"), "the server asks for a token like any other");

    edit(&directory.join("src/lib.rs"), "Hello, ", "Hi, ");
    dev.until_greeted("Hi, Ana!").await;

    edit(&directory.join("src/lib.rs"), "format!(\"Good day", "farewell!(\"Good day");
    dev.until_said("is served on: the version before this change").await;
    dev.until_greeted("Hi, Ana!").await;
    dev.terminate().await;
}

#[tokio::test]
async fn only_this_machine_is_listened_to() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let mut command = kitbag(["toolkit", "dev", "--listen", "0.0.0.0:0"]);
    command.arg(folder.path());

    run(command).await.assert_failed("0.0.0.0 is not on this machine alone");
    let mut command = kitbag(["toolkit", "dev"]);
    command.arg(folder.path());
    run(command).await.assert_failed("there is neither an extension.ts nor a crate");
}

/// Creates a toolkit with the tool `greet`. A TypeScript toolkit is built with the SDK of this checkout, and
/// needs no `npm install`.
async fn new_toolkit(directory: PathBuf, language: &str) -> PathBuf {
    let mut command = kitbag(["toolkit", "new", "greeter", "--lang", language, "--directory"]);
    command.arg(&directory);
    run(command).await.succeeded();
    directory
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("the file is there");
    assert!(text.contains(from), "no {from:?} in {}", file.display());
    fs::write(file, text.replace(from, to)).expect("the file can be written");
}

async fn refuses_connections(url: &str) -> bool {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    tokio::net::TcpStream::connect(address).await.is_err()
}

/// A running `kitbag toolkit dev`.
struct Dev {
    child: Child,
    url: String,
    /// Value of the `Authorization` header that the command prints, if any.
    authorization: Option<String>,
    said: Arc<Mutex<String>>,
}

impl Dev {
    async fn start(directory: &Path, options: &[&str]) -> Self {
        let mut command = kitbag(["toolkit", "dev", "--listen", "127.0.0.1:0"]);
        command.args(options).arg(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let said = Arc::new(Mutex::new(String::new()));
        let (out, err) =
            (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
        tokio::spawn(collect(out, said.clone()));
        tokio::spawn(collect(err, said.clone()));
        let mut dev = Self { child, url: String::new(), authorization: None, said };
        dev.until_said("mcp-inspector").await;
        let said = dev.said();
        let url = said.split_whitespace().find(|word| word.ends_with("/mcp")).expect("it names its URL");
        url.clone_into(&mut dev.url);
        dev.authorization = said
            .split_once("Authorization: ")
            .map(|(_, rest)| rest.split_once('"').expect("the header is in quotes").0.to_owned());
        dev
    }

    fn said(&self) -> String {
        self.said.lock().expect("no writer panicked").clone()
    }

    async fn until_said(&self, words: &str) {
        let deadline = Instant::now() + DEV_TIMEOUT;
        while !self.said().contains(words) {
            assert!(Instant::now() < deadline, "no {words:?} in\n{}", self.said());
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Repeats the call until it returns this greeting.
    async fn until_greeted(&self, greeting: &str) {
        let deadline = Instant::now() + DEV_TIMEOUT;
        loop {
            let result = self.greet("Ana").await;
            if result.as_ref().is_some_and(|result| result["greeting"] == greeting) {
                return;
            }
            assert!(Instant::now() < deadline, "{result:?}\n{}", self.said());
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Calls the tool. Returns its structured result, or else its text parsed as JSON; `None` if it has
    /// neither.
    async fn greet(&self, name: &str) -> Option<Value> {
        let answer = self.post(self.authorization.as_deref(), "greeter__greet", name).await;
        let answer: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
        let result = answer.get("result")?;
        let text = || serde_json::from_str(result["content"][0]["text"].as_str()?).ok();
        result.get("structuredContent").cloned().or_else(text)
    }

    async fn without_token(&self) -> String {
        self.post(None, "greeter__greet", "Ana").await
    }

    /// Makes a call; returns the whole response, head included.
    async fn post(&self, authorization: Option<&str>, tool: &str, name: &str) -> String {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": { "name": name } } });
        let url: Url = self.url.parse().expect("it names a URL");
        let body = call.to_string();
        let authorization =
            authorization.map(|value| format!("Authorization: {value}\r\n")).unwrap_or_default();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n{authorization}\r\n{body}",
            url.authority(),
            body.len(),
        );
        ask_raw(&url, &request).await
    }

    async fn terminate(&mut self) {
        let process = self.child.id().expect("it runs").to_string();
        let asked = Command::new("kill").args(["-TERM", &process]).status().await.expect("there is `kill`");
        assert!(asked.success());
        let ended = timeout(Duration::from_secs(30), self.child.wait()).await.expect("it ends");
        assert!(ended.expect("it ran").success(), "{}", self.said());
    }
}

async fn collect(stream: impl tokio::io::AsyncRead + Unpin, said: Arc<Mutex<String>>) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        said.lock().expect("no writer panicked").push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
}
