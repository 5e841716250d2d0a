//! A server, whoever signs people in for it, and a transcript of all that is said to either.

use std::process::Stdio;
use std::time::Duration;

use kitbag::local_mode;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{ExternalProvider, Guest, Kitbag, Ran, Recorder, Terminal, Transcript, within};

/// How long the access tokens of these tests are valid.
pub(crate) const ACCESS_TOKEN_SECONDS: u32 = 5;

/// Who may deploy where an external provider signs people in.
const OPERATOR: &str = "olga";

/// A server behind a reverse proxy: its own issuer, or in trust of another.
pub(crate) struct SignIn {
    pub(crate) kitbag: Kitbag,
    pub(crate) transcript: Transcript,
    recorder: Recorder,
    provider: Option<ExternalProvider>,
}

/// Where the authorization server has what.
pub(crate) struct Endpoints {
    pub(crate) register: &'static str,
    pub(crate) authorize: &'static str,
    pub(crate) token: &'static str,
    pub(crate) revoke: &'static str,
}

impl SignIn {
    /// A server in local mode.
    pub(crate) async fn local() -> Self {
        Self::local_for(&format!("{ACCESS_TOKEN_SECONDS}s")).await
    }

    /// A server in local mode, whose access tokens are valid for so long.
    pub(crate) async fn local_for(lifetime: &str) -> Self {
        let transcript = Transcript::default();
        let recorder = Recorder::start(&transcript).await;
        let kitbag = Kitbag::start_with(|settings| {
            settings.base_url = recorder.url().parse().expect("a base URL");
            settings.access_token_lifetime = lifetime.parse().expect("a duration");
        })
        .await;
        recorder.pass_to(kitbag.address());
        Self { kitbag, transcript, recorder, provider: None }
    }

    /// A server that trusts an external provider.
    pub(crate) async fn external() -> Self {
        let transcript = Transcript::default();
        let recorder = Recorder::start(&transcript).await;
        let resource = format!("{}/mcp", recorder.url());
        let provider = ExternalProvider::start(&transcript, &resource, ACCESS_TOKEN_SECONDS).await;
        let kitbag = Kitbag::start_with(|settings| {
            settings.base_url = recorder.url().parse().expect("a base URL");
            settings.issuer = provider.issuer().parse().expect("an issuer");
            settings.operators = OPERATOR.parse().expect("a list");
        })
        .await;
        recorder.pass_to(kitbag.address());
        Self { kitbag, transcript, recorder, provider: Some(provider) }
    }

    /// The server's URL, as people know it.
    pub(crate) fn url(&self) -> &str {
        self.recorder.url()
    }

    /// The issuer's identifier.
    pub(crate) fn issuer(&self) -> &str {
        self.provider.as_ref().map_or_else(|| self.url(), ExternalProvider::issuer)
    }

    pub(crate) fn endpoints(&self) -> Endpoints {
        match self.provider {
            None => Endpoints {
                register: "/oauth/register",
                authorize: "/oauth/authorize",
                token: "/oauth/token",
                revoke: "/oauth/revoke",
            },
            Some(_) => Endpoints {
                register: "/reg",
                authorize: "/auth",
                token: "/token",
                revoke: "/token/revocation",
            },
        }
    }

    /// Deploys a toolkit, as an operator who signs in; the transcript begins after it.
    pub(crate) async fn deploy(&self, guest: Guest) {
        let operator = Terminal::at(self.url());
        operator.login(if self.provider.is_none() { local_mode::USER } else { OPERATOR }).await;
        let component = guest.path();
        operator.run(&["toolkit", "deploy", component.to_str().expect("UTF-8")]).await.succeeded();
        self.transcript.clear();
    }
}

/// A program that asks a person to open a page.
pub(crate) struct Asking {
    child: Child,
    pages: mpsc::UnboundedReceiver<String>,
    output: JoinHandle<String>,
    errors: JoinHandle<String>,
}

impl Asking {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let (sender, pages) = mpsc::unbounded_channel();
        let output = tokio::spawn(read(child.stdout.take().expect("it is piped"), sender.clone()));
        let errors = tokio::spawn(read(child.stderr.take().expect("it is piped"), sender));
        Self { child, pages, output, errors }
    }

    /// The page that it wants opened.
    pub(crate) async fn page(&mut self) -> String {
        match within("the program's question", self.pages.recv()).await {
            Some(page) => page,
            None => panic!("it asked nothing, and ended: {:?}", self.end().await),
        }
    }

    /// Waits for its end.
    pub(crate) async fn finished(mut self) -> Ran {
        self.end().await
    }

    async fn end(&mut self) -> Ran {
        let status = within("the program's end", self.child.wait()).await.expect("it was started");
        let stdout = (&mut self.output).await.expect("no panic");
        let stderr = (&mut self.errors).await.expect("no panic");
        Ran { code: status.code(), stdout, stderr }
    }
}

/// Reads to the end; sends on what looks like an authorization request.
async fn read(stream: impl AsyncRead + Unpin, pages: mpsc::UnboundedSender<String>) -> String {
    let mut lines = BufReader::new(stream).lines();
    let mut text = String::new();
    while let Some(line) = lines.next_line().await.expect("programs print UTF-8") {
        let words = line.split(|letter: char| letter.is_whitespace() || letter.is_control());
        for page in words.filter(|word| word.starts_with("http") && word.contains("code_challenge=")) {
            // Whoever does not wait for a page does not want to know.
            let _ = pages.send(page.to_owned());
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Waits until access tokens that were issued by now have expired.
pub(crate) async fn access_tokens_expire() {
    sleep(Duration::from_secs(u64::from(ACCESS_TOKEN_SECONDS) + 1)).await;
}
