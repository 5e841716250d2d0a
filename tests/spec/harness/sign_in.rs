//! A server and its authorization server, with a transcript of all requests to both.

use std::process::Stdio;
use std::time::Duration;

use kitbag::settings::Settings;
use kitbag_base::local_mode;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{CommandOutput, ExternalProvider, Guest, Kitbag, Recorder, Terminal, Transcript, within};

/// Lifetime of access tokens in these tests.
pub(crate) const ACCESS_TOKEN_SECONDS: u32 = 5;

/// The operator's user id at the external provider.
const OPERATOR: &str = "olga";

/// A server behind a reverse proxy, in local mode or with an external provider.
pub(crate) struct SignIn {
    pub(crate) kitbag: Kitbag,
    pub(crate) transcript: Transcript,
    _recorder: Recorder,
    /// Public URL of the server.
    url: String,
    provider: Option<ExternalProvider>,
}

/// Paths of the authorization server's endpoints.
pub(crate) struct Endpoints {
    pub(crate) register: &'static str,
    pub(crate) authorize: &'static str,
    pub(crate) token: &'static str,
    pub(crate) revoke: &'static str,
}

impl SignIn {
    /// Starts a server in local mode.
    pub(crate) async fn local() -> Self {
        Self::local_for(Duration::from_secs(u64::from(ACCESS_TOKEN_SECONDS))).await
    }

    /// Starts a server in local mode whose access tokens are valid for `lifetime`.
    pub(crate) async fn local_for(lifetime: Duration) -> Self {
        Self::local_below("", lifetime).await
    }

    /// Starts a server in local mode that can read no document about a client: its name server is absent.
    pub(crate) async fn local_offline() -> Self {
        Self::local_with("", |settings| {
            settings.name_servers = "127.0.0.1:1".parse().expect("an address");
        })
        .await
    }

    /// Starts a server in local mode with a path in its URL, which the proxy does not strip.
    pub(crate) async fn local_below(path: &str, lifetime: Duration) -> Self {
        Self::local_with(path, |settings| settings.bounds.access_token_lifetime = lifetime).await
    }

    async fn local_with(path: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let transcript = Transcript::default();
        let recorder = Recorder::start(&transcript).await;
        let url = format!("{}{path}", recorder.url());
        let kitbag = Kitbag::start_with(|settings| {
            settings.base_url = url.parse().expect("a base URL");
            change(settings);
        })
        .await;
        recorder.forward_to(kitbag.address());
        Self { kitbag, transcript, _recorder: recorder, url, provider: None }
    }

    /// Starts a server that trusts an external provider.
    pub(crate) async fn external() -> Self {
        Self::external_with(|_| {}).await
    }

    /// Like [`Self::external`], with its settings changed by `change`.
    pub(crate) async fn external_with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::external_below("", change).await
    }

    /// Like [`Self::external_with`], with a path in the server's URL, which the proxy does not strip.
    pub(crate) async fn external_below(path: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let transcript = Transcript::default();
        let recorder = Recorder::start(&transcript).await;
        let url = format!("{}{path}", recorder.url());
        let resource = format!("{url}/mcp");
        let provider = ExternalProvider::start(&transcript, &resource, ACCESS_TOKEN_SECONDS).await;
        let kitbag = Kitbag::start_with(|settings| {
            settings.base_url = url.parse().expect("a base URL");
            settings.issuer = provider.issuer().parse().expect("an issuer");
            settings.operators = OPERATOR.parse().expect("a list");
            change(settings);
        })
        .await;
        recorder.forward_to(kitbag.address());
        Self { kitbag, transcript, _recorder: recorder, url, provider: Some(provider) }
    }

    /// Public URL of the server: that of its proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// External provider; panics in local mode.
    pub(crate) fn provider(&mut self) -> &mut ExternalProvider {
        self.provider.as_mut().expect("there is one")
    }

    /// Issuer identifier.
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

    /// Signs in as an operator, deploys a toolkit, and clears the transcript.
    pub(crate) async fn deploy(&self, guest: Guest) {
        let operator = Terminal::at(self.url());
        operator.login(if self.provider.is_none() { local_mode::USER } else { OPERATOR }).await;
        let component = guest.path();
        operator.run(&["toolkit", "deploy", component.to_str().expect("UTF-8")]).await.succeeded();
        self.transcript.clear();
    }
}

/// A running program that prints a sign-in URL for its user to open.
pub(crate) struct PromptingProcess {
    child: Child,
    pages: mpsc::UnboundedReceiver<String>,
    output: JoinHandle<String>,
    errors: JoinHandle<String>,
}

impl PromptingProcess {
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

    /// Waits for the sign-in URL.
    pub(crate) async fn page(&mut self) -> String {
        match within("the program's question", self.pages.recv()).await {
            Some(page) => page,
            None => panic!("it asked nothing, and ended: {:?}", self.end().await),
        }
    }

    /// Waits until the program ends.
    pub(crate) async fn finished(mut self) -> CommandOutput {
        self.end().await
    }

    async fn end(&mut self) -> CommandOutput {
        let status = within("the program's end", self.child.wait()).await.expect("it was started");
        let stdout = (&mut self.output).await.expect("no panic");
        let stderr = (&mut self.errors).await.expect("no panic");
        CommandOutput { code: status.code(), stdout, stderr }
    }
}

/// Reads a stream to its end, and sends each authorization URL in it to `pages`.
async fn read(stream: impl AsyncRead + Unpin, pages: mpsc::UnboundedSender<String>) -> String {
    let mut lines = BufReader::new(stream).lines();
    let mut text = String::new();
    while let Some(line) = lines.next_line().await.expect("programs print UTF-8") {
        let words = line.split(|letter: char| letter.is_whitespace() || letter.is_control());
        // A terminal's sequences may stand before the URL.
        let urls = words.filter_map(|word| word.find("http").map(|at| &word[at..]));
        for page in urls.filter(|url| url.contains("code_challenge=")) {
            // Fails if the receiver was dropped: nothing waits for a page any more.
            let _ = pages.send(page.to_owned());
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Waits until access tokens issued so far have expired.
pub(crate) async fn access_tokens_expire() {
    sleep(Duration::from_secs(u64::from(ACCESS_TOKEN_SECONDS) + 1)).await;
}
