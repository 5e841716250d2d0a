//! Listeners of a server: addresses, passed sockets, environment variables and signals.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;
use url::Url;

use crate::harness::{Http, ServerProcess, User, activated, eventually, kitbag, run, within};

async fn answers(url: &str) -> bool {
    Http::new(url.parse::<Url>().expect("a URL")).get_if_served("/healthz").await.is_some()
}

/// Sends a GET request over a Unix socket; returns the whole response.
async fn get_over(socket: &Path, path: &str) -> String {
    within("the request", async {
        let mut stream = UnixStream::connect(socket).await.expect("the server listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("the server answers");
        answer
    })
    .await
}

fn lines(server: &ServerProcess) -> Vec<Value> {
    let log = String::from_utf8(server.log()).expect("the log is text");
    log.lines().map(|line| serde_json::from_str(line).expect("the log is JSON")).collect()
}

#[tokio::test]
async fn variables_that_are_no_settings_are_told_and_stop_nothing() {
    let data = tempfile::tempdir().expect("a scratch directory");

    let server = ServerProcess::start_with(data.path(), |command| {
        command
            .env("KITBAG_PORT", "tcp://10.0.0.1:8787")
            .env("KITBAG_SERVICE_HOST", "10.0.0.1")
            .env("KITBAG_PORT_8787_TCP_ADDR", "10.0.0.1")
            .env("KITBAG_CALL_TIEM", "s3cret");
    })
    .await;

    let lines = lines(&server);
    let warnings: Vec<_> = lines.iter().filter(|line| line["level"] == "WARN").collect();
    let misspelled = warnings.iter().find(|line| line["variable"] == "KITBAG_CALL_TIEM").expect("a warning");
    assert_eq!(misspelled["nearest"], "KITBAG_CALL_TIME");
    assert!(!warnings.iter().any(|line| line.to_string().contains("KITBAG_PORT")), "{warnings:#?}");
    let services = lines.iter().find_map(|line| line["variables"].as_str()).expect("one line for all");
    assert_eq!(services.split(' ').count(), 3, "{services}");
    assert!(!lines.iter().any(|line| line.to_string().contains("s3cret")), "values may be keys");
}

#[tokio::test]
async fn it_listens_on_ipv6_and_ipv4_at_once() {
    let data = tempfile::tempdir().expect("a scratch directory");

    let (first, _server) = ServerProcess::start_saying(data.path(), |command| {
        command.env("KITBAG_LISTEN", "127.0.0.1:0,[::1]:0").args(["--output", "jsonl"]);
    })
    .await;

    let first: Value = serde_json::from_str(&first).expect("JSON");
    let listening = first["listening"].as_array().expect("a list");
    assert_eq!(listening.len(), 2, "{first}");
    assert!(listening[1].as_str().is_some_and(|address| address.starts_with("[::1]:")), "{first}");
    for address in listening {
        assert!(answers(&format!("http://{}", address.as_str().expect("text"))).await, "{address}");
    }
    assert_eq!(first["url"], format!("http://{}/", listening[0].as_str().expect("text")));
}

#[tokio::test]
async fn it_listens_on_a_unix_socket_that_others_cannot_open() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let folder = tempfile::tempdir().expect("a scratch directory");
    let socket = folder.path().join("http.sock");
    let listen = format!("unix:{}", socket.display());
    let start = async |mode: Option<&str>| {
        ServerProcess::start_with(data.path(), |command| {
            command.env("KITBAG_LISTEN", &listen).args(["--base-url", "http://localhost:8787"]);
            command.envs(mode.map(|mode| ("KITBAG_LISTEN_SOCKET_MODE", mode)));
        })
        .await
    };

    let server = start(None).await;
    assert!(get_over(&socket, "/healthz").await.starts_with("HTTP/1.1 200"));
    assert_eq!(socket.metadata().expect("a socket").mode() & 0o777, 0o600);
    assert!(server.terminate().await.success());
    assert!(!socket.exists(), "it goes with the server");

    // A socket file left by a killed server is replaced.
    start(None).await.kill().await;
    assert!(socket.exists());
    let server = start(Some("660")).await;
    assert!(get_over(&socket, "/healthz").await.starts_with("HTTP/1.1 200"));
    assert_eq!(socket.metadata().expect("a socket").mode() & 0o777, 0o660);
    drop(server);

    let mut without_url = kitbag(["serve", "--listen", &listen, "--data"]);
    without_url.arg(data.path());
    run(without_url).await.assert_failed("needs --base-url");
    assert_eq!(run(kitbag(["serve", "--listen", "somewhere"])).await.code, Some(2));
}

#[tokio::test]
async fn it_serves_on_the_socket_that_a_service_manager_passes() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");

    let mut server =
        activated(data.path(), listener.into()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let server = server.as_mut().expect("a shell");

    eventually("it answers", async || answers(&format!("http://{address}")).await).await;
    server.kill().await.expect("it runs");
}

#[tokio::test]
async fn a_passed_socket_that_cannot_be_used_stops_the_start() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let public = TcpListener::bind("0.0.0.0:0").expect("a port");
    let connected = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens")
    };
    let file = tempfile::tempfile().expect("a file");

    run(activated(data.path(), public.into())).await.assert_failed("it listens on loopback only");
    run(activated(data.path(), connected.into())).await.assert_failed("LISTEN_FDS");
    run(activated(data.path(), file.into())).await.assert_failed("LISTEN_FDS");
}

#[tokio::test]
async fn a_hang_up_signal_changes_the_operators_and_tells_what_needs_a_restart() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("kitbag.toml");
    fs::write(&file, "operators = []\n").expect("a file");
    let server = ServerProcess::start_with(data.path(), |command| {
        command.arg("--config").arg(&file);
    })
    .await;
    let mut token = kitbag(["token", "--user", "ana", "--data"]);
    token.arg(data.path());
    let ana = User::new(Http::new(server.base_url().clone()), run(token).await.succeeded().trim());
    let is_operator = async || ana.get("/uploads").await.status == 200;
    let hang_up = async |text: &str| {
        fs::write(&file, text).expect("it is ours");
        let process = server.process().to_string();
        let asked = Command::new("kill").args(["-HUP", &process]).status().await.expect("there is `kill`");
        assert!(asked.success());
    };
    assert!(!is_operator().await);

    hang_up("operators = [\"ana\"]\ncall.time = \"7s\"\n").await;
    eventually("ana is an operator", is_operator).await;
    let log = json!(lines(&server)).to_string();
    assert!(log.contains("\"settings\":\"call.time\""), "{log}");

    hang_up("operators = 7\n").await;
    eventually("the mistake is told", async || {
        json!(lines(&server)).to_string().contains("cannot be read again")
    })
    .await;
    assert!(is_operator().await, "a wrong file changes nothing");

    hang_up("operators = []\n").await;
    eventually("ana is no operator any more", async || !is_operator().await).await;
}
