//! Zero-downtime restarts: a new process replaces the old one, and clients notice only a pause. The tests own
//! the listening socket, as a service manager does.

mod load;

use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::time::{Duration, Instant};

use kitbag_base::local_mode;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use self::load::Load;
use crate::harness::certificates::Authority;
use crate::harness::{
    Http, Kitbag, Raw, TlsClient, User, activated, eventually, guests, kitbag, run, within,
};

/// Duration of the load before the stop, and after the start.
const STEADY: Duration = Duration::from_secs(2);

/// A listening socket, and the data directory of the servers that inherit it.
struct Held {
    socket: TcpListener,
    data: TempDir,
}

impl Held {
    fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self { socket, data: tempfile::tempdir().expect("a scratch directory") }
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("it is bound")
    }

    /// Starts the real program on the socket, and waits until it reports that it is listening.
    async fn start(&self, change: impl FnOnce(&mut Command)) -> Child {
        let socket = self.socket.try_clone().expect("a second handle");
        let mut command = activated(self.data.path(), socket.into());
        change(&mut command);
        let mut server =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("there is a shell");
        let mut lines = BufReader::new(server.stdout.take().expect("it is piped")).lines();
        let line = within("the server's start", lines.next_line()).await.expect("text").expect("it starts");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(said["listening"][0], self.address().to_string(), "{said}");
        server
    }

    async fn token(&self, user: &str) -> String {
        let mut command = kitbag(["token", "--user", user, "--lifetime", "1h", "--data"]);
        command.arg(self.data.path());
        run(command).await.succeeded().trim().to_owned()
    }

    async fn operator(&self) -> User {
        let url = format!("http://{}", self.address()).parse().expect("a URL");
        User::new(Http::new(url), &self.token(local_mode::USER).await)
    }
}

/// Sends SIGTERM, and waits until the process has exited; returns the time that took.
async fn terminate(mut server: Child) -> Duration {
    let begun = Instant::now();
    let process = server.id().expect("it runs").to_string();
    let asked = Command::new("kill").args(["-TERM", &process]).status().await.expect("there is `kill`");
    assert!(asked.success());
    let ended = within("the server's end", server.wait()).await.expect("it runs");
    assert!(ended.success(), "{ended}");
    begun.elapsed()
}

/// Restarts a server while clients store documents; asserts that each request was answered and that exactly
/// the acknowledged documents are stored.
async fn restart_under_load(held: &Held, load: Load, change: impl Fn(&mut Command)) {
    let first = held.start(&change).await;
    // A user for each client, because the concurrent requests of one user are limited.
    let mut tokens = Vec::new();
    for user in load::users() {
        tokens.push(held.token(&user).await);
    }
    let load = load.begin(&tokens);
    sleep(STEADY).await;

    let stopping = terminate(first).await;
    let starting = Instant::now();
    let _second = held.start(&change).await;
    let starting = starting.elapsed();
    sleep(STEADY).await;
    let done = load.end().await;

    println!(
        "{} requests, {} connections ended by the server; the longest pause was {:?} (stop {stopping:?}, start {starting:?})",
        done.acknowledged, done.closed, done.longest
    );
    assert_eq!(done.failures, [""; 0], "connections were refused or broken");
    assert!(done.acknowledged > 100, "{} requests are no load", done.acknowledged);
    assert!(done.closed >= done.kept_alive, "each kept-alive connection was told that it ends");
    assert!(done.longest > starting, "nobody has asked while no process served");
    let stored = done.stored(&tokens).await;
    assert_eq!(stored, done.acknowledged, "an acknowledged document was lost, or another one was stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_connection_is_refused_or_broken_and_no_acknowledged_call_lost_over_a_restart() {
    let held = Held::new();

    restart_under_load(&held, Load::plain(held.address()), |_| {}).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_over_tls() {
    let (held, authority) = (Held::new(), Authority::generate());
    let folder = tempfile::tempdir().expect("a scratch directory");
    let files = authority.issue(&["127.0.0.1"]).write(folder.path());

    restart_under_load(&held, Load::over(TlsClient::trusting(&authority), held.address()), |command| {
        command.arg("--tls-certificate").arg(&files.certificate).arg("--tls-key").arg(&files.key);
    })
    .await;
}

#[tokio::test]
async fn a_call_under_way_ends_before_the_process_and_is_answered() {
    let held = Held::new();
    let server = held
        .start(|command| {
            command.args(["--call-time", "4s"]);
        })
        .await;
    let operator = held.operator().await;
    operator.deploy(guests::HOSTILE.bytes()).await.assert_status(201);
    let begun = Instant::now();
    let under_way = operator.start_call("hostile__half_a_line", json!({}));
    // An endless stream does not delay the exit of the process.
    let followed = operator.follow("/toolkits/hostile/logs?follow=true").await;
    sleep(Duration::from_millis(500)).await;

    terminate(server).await;

    let outcome = within("the call's end", under_way).await.expect("no panic");
    assert!(outcome.raw().contains("ran longer than 4 s"), "the call was cut off: {}", outcome.raw());
    assert!(begun.elapsed() >= Duration::from_secs(4));
    drop(followed);
}

/// Opens a connection and sends `text`.
async fn saying(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    stream.write_all(text.as_bytes()).await.expect("it is open");
    stream
}

#[tokio::test]
async fn strangers_who_hold_connections_do_not_delay_the_next_process() {
    // Well below the time limit for requests in progress (30 s).
    const LONGEST_STOP: Duration = Duration::from_secs(12);

    let held = Held::new();
    let server = held
        .start(|command| {
            command.args(["--request-timeout", "1h"]);
        })
        .await;
    let address = held.address();
    let mut open = Vec::new();
    for text in [
        "",
        "GET /healthz HTTP/1.1\r\nHost: ",
        "POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n",
    ] {
        open.push(saying(address, text).await);
    }
    let mut idle = saying(address, &format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n")).await;
    within("the answer", idle.read_u8()).await.expect("it is answered");
    // A connection just before the server stops accepting: it is accepted, and sends nothing.
    let late = tokio::spawn(async move {
        sleep(Duration::from_millis(900)).await;
        saying(address, "").await
    });

    let took = terminate(server).await;

    assert!(took < LONGEST_STOP, "the stop took {took:?}");
    drop((open, idle, late));
}

#[tokio::test]
async fn a_connection_that_was_accepted_last_is_served() {
    let held = Held::new();
    let server = held.start(|command| {
        command.args(["--drain", "2s"]);
    });
    let (server, address) = (server.await, held.address());
    let late = tokio::spawn(async move {
        sleep(Duration::from_millis(1600)).await;
        let mut late = saying(address, "").await;
        // By now, the process has stopped accepting connections.
        sleep(Duration::from_millis(600)).await;
        let request = format!("GET /toolkits HTTP/1.1\r\nHost: {address}\r\n\r\n");
        late.write_all(request.as_bytes()).await.expect("it is open");
        let mut answer = String::new();
        within("the answer", late.read_to_string(&mut answer)).await.expect("it is answered");
        answer
    });

    let took = terminate(server).await;

    let answer = late.await.expect("no panic");
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"), "{answer:?}");
    assert!(took > Duration::from_millis(2100), "{took:?}");
}

#[tokio::test]
async fn who_connects_while_no_process_runs_is_served_by_the_next_one() {
    let held = Held::new();
    terminate(held.start(|_| {}).await).await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", held.address());
    let mut waiting = saying(held.address(), &request).await;

    let _next = held.start(|_| {}).await;

    let mut answer = String::new();
    within("the answer", waiting.read_to_string(&mut answer)).await.expect("it is answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_request_that_comes_while_a_server_drains_is_served_and_ends_its_connection() {
    let kitbag = Kitbag::start_with(|settings| settings.drain = "4s".parse().expect("a duration")).await;
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", kitbag.base_url().authority());
    let (mut idle, http) = (Raw::connect(&kitbag).await, kitbag.anonymous());
    idle.write(&request).await;
    http.get("/healthz").await.assert_status(200);

    let stopped = tokio::spawn(kitbag.stop());
    eventually("it drains", async || {
        http.get_if_served("/readyz").await.is_some_and(|answer| answer.status == 503)
    })
    .await;
    idle.write(&request).await;

    let answer = idle.rest().await;
    let answers: Vec<_> = answer.matches("HTTP/1.1 200 OK").collect();
    assert_eq!((answers.len(), answer.matches("connection: close").count()), (2, 1), "{answer}");
    assert!(!stopped.is_finished(), "the connection has ended before the server");
    stopped.await.expect("it stops");
}

#[test]
fn the_unit_of_the_socket_listens_where_the_server_does() {
    let unit = crate::harness::root().join("packaging/systemd/kitbag.socket");
    let text = std::fs::read_to_string(unit).expect("there is a unit");

    let listen: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("ListenStream=")).collect();
    let default = kitbag::settings::Settings::default().listen[0].to_string();

    assert_eq!(listen, [default]);
}
