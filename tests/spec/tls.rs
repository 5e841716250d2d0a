//! TLS termination by the server: behaviour for clients, and certificate status for the operator.

mod attacks;
mod commands;

use std::net::SocketAddr;
use std::path::Path;

use kitbag::settings::Settings;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;

use crate::harness::certificates::{Authority, Files, Issued};
use crate::harness::{Http, Kitbag, ServerProcess, TlsClient, eventually, kitbag, run, within};

/// A certificate authority, and a certificate that it issued for 127.0.0.1.
pub(crate) struct Certified {
    authority: Authority,
    files: Files,
    _folder: TempDir,
}

impl Certified {
    pub(crate) fn new() -> Self {
        let (authority, folder) = (Authority::generate(), tempfile::tempdir().expect("a scratch directory"));
        let files = authority.issue(&["127.0.0.1"]).write(folder.path());
        Self { authority, files, _folder: folder }
    }

    fn set(&self, settings: &mut Settings) {
        let path = |path: &Path| path.to_str().expect("UTF-8").parse().expect("a path");
        settings.tls_certificate = path(&self.files.certificate);
        settings.tls_key = path(&self.files.key);
    }

    /// Starts a server with the certificate, and settings changed by `change`.
    pub(crate) async fn kitbag(&self, change: impl FnOnce(&mut Settings)) -> Kitbag {
        Kitbag::start_with(|settings| {
            self.set(settings);
            change(settings);
        })
        .await
    }

    /// Starts the real program with the certificate.
    async fn process(&self, data: &Path) -> ServerProcess {
        ServerProcess::start_with(data, |command| {
            command.arg("--tls-certificate").arg(&self.files.certificate);
            command.arg("--tls-key").arg(&self.files.key);
        })
        .await
    }

    pub(crate) fn client(&self) -> TlsClient {
        TlsClient::trusting(&self.authority)
    }
}

fn address_of(server: &ServerProcess) -> SocketAddr {
    server.base_url().authority().parse().expect("an address")
}

/// Parses the body of a whole HTTP response as JSON.
fn json_of(answer: &str) -> Value {
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_else(|| panic!("no body in {answer}"));
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[tokio::test]
async fn it_speaks_http_1_1_over_tls_1_2_and_1_3_to_whoever_trusts_its_certificate() {
    let certified = Certified::new();
    let kitbag = certified.kitbag(|_| {}).await;
    let address = kitbag.address();

    for version in [&TLS12, &TLS13] {
        let client = TlsClient::speaking(&certified.authority, &[version]);
        let without = client.connect(address).await.expect("ALPN is optional");
        assert_eq!(without.get_ref().1.alpn_protocol(), None);
        let client = client.offering(&["h2", "http/1.1"]);
        let stream = client.connect(address).await.expect("both are supported");
        let (_, session) = stream.get_ref();
        assert_eq!(session.protocol_version(), Some(version.version));
        assert_eq!(session.alpn_protocol(), Some(&b"http/1.1"[..]));
        let answer = client.get(address, "/healthz").await.expect("it is answered");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
        assert!(client.offering(&["h2"]).connect(address).await.is_err(), "HTTP/2 is not spoken");
    }
    let stranger = TlsClient::trusting(&Authority::generate());
    assert!(stranger.connect(address).await.is_err(), "the certificate is of another authority");
}

#[tokio::test]
async fn sign_in_and_cookies_are_those_of_a_secure_url() {
    let certified = Certified::new();
    let kitbag = certified.kitbag(|_| {}).await;
    let (client, address) = (certified.client(), kitbag.address());
    let origin = format!("https://{address}");
    assert_eq!(kitbag.base_url().as_str(), format!("{origin}/"));

    let resource = client.get(address, "/.well-known/oauth-protected-resource").await.expect("an answer");
    assert_eq!(json_of(&resource)["resource"], format!("{origin}/mcp"));
    let issuer = client.get(address, "/.well-known/oauth-authorization-server").await.expect("an answer");
    let issuer = json_of(&issuer);
    for endpoint in ["authorization_endpoint", "token_endpoint", "registration_endpoint", "jwks_uri"] {
        assert!(
            issuer[endpoint].as_str().is_some_and(|url| url.starts_with(&origin)),
            "{endpoint}: {issuer}"
        );
    }

    let request = format!(
        "POST /ui/signout HTTP/1.1\r\nHost: {address}\r\nOrigin: {origin}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let answer = client.ask(address, &request).await.expect("an answer");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&answer);
    assert!(cookie.starts_with("__Host-kitbag=") && cookie.contains("; Secure"), "{cookie}");
}

#[tokio::test]
async fn a_unix_socket_stays_plain_beside_an_address_with_tls() {
    let (certified, folder) = (Certified::new(), tempfile::tempdir().expect("a scratch directory"));
    let socket = folder.path().join("http.sock");
    let kitbag = certified
        .kitbag(|settings| {
            settings.listen = format!("127.0.0.1:0,unix:{}", socket.display()).parse().expect("addresses");
        })
        .await;

    let mut plain = UnixStream::connect(&socket).await.expect("it listens");
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await
        .expect("it reads");
    let mut answer = String::new();
    within("the answer", plain.read_to_string(&mut answer)).await.expect("it answers");

    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let secured = certified.client().get(kitbag.address(), "/healthz").await.expect("it answers");
    assert!(secured.starts_with("HTTP/1.1 200"), "{secured}");
}

/// Returns the certificate that a server presents.
async fn presented(client: &TlsClient, address: SocketAddr) -> CertificateDer<'static> {
    let stream = client.connect(address).await.expect("it is trusted");
    stream.get_ref().1.peer_certificates().expect("there is one")[0].clone().into_owned()
}

fn der(pair: &Issued) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM")
}

async fn hang_up(server: &ServerProcess) {
    let process = server.process().to_string();
    let asked = Command::new("kill").args(["-HUP", &process]).status().await.expect("there is `kill`");
    assert!(asked.success());
}

async fn certificate_status(client: &TlsClient, address: SocketAddr) -> Value {
    let answer = client.get(address, "/readyz").await.expect("it is answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    json_of(&answer)["certificate"].clone()
}

#[tokio::test]
async fn a_renewed_certificate_is_presented_after_a_signal_and_one_that_cannot_be_used_never() {
    let (certified, data) = (Certified::new(), tempfile::tempdir().expect("a scratch directory"));
    let server = certified.process(data.path()).await;
    let (client, address) = (certified.client(), address_of(&server));
    assert_eq!(certificate_status(&client, address).await, "ok");
    // Open connections survive renewals.
    let mut kept = client.connect(address).await.expect("it is trusted");

    let renewed = certified.authority.issue(&["127.0.0.1"]);
    renewed.write_over(&certified.files);
    hang_up(&server).await;
    eventually("the new one is presented", async || presented(&client, address).await == der(&renewed)).await;

    // Only the certificate of the next pair is replaced, not yet its key.
    let next = certified.authority.issue(&["127.0.0.1"]);
    std::fs::write(&certified.files.certificate, &next.certificate).expect("it is ours");
    hang_up(&server).await;
    eventually("it says so", async || certificate_status(&client, address).await == "not-renewed").await;
    assert_eq!(presented(&client, address).await, der(&renewed));
    let log = String::from_utf8(server.log()).expect("text");
    assert!(log.contains("is not that of the certificate"), "{log}");
    assert!(!log.contains("PRIVATE KEY"), "{log}");

    next.write_over(&certified.files);
    hang_up(&server).await;
    eventually("it is whole", async || presented(&client, address).await == der(&next)).await;
    assert_eq!(certificate_status(&client, address).await, "ok");
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    kept.write_all(request.as_bytes()).await.expect("it is open");
    let mut answer = String::new();
    within("the answer", kept.read_to_string(&mut answer)).await.expect("it is answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_certificate_near_its_end_is_in_the_log_in_readyz_and_in_the_metrics() {
    let certified = Certified::new();
    certified.authority.issue_for_days(&["127.0.0.1"], 5).write_over(&certified.files);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound").to_string();
    drop(listener);

    let kitbag =
        certified.kitbag(|settings| settings.metrics_listen = address.parse().expect("an address")).await;

    assert_eq!(certificate_status(&certified.client(), kitbag.address()).await, "expires-soon");
    let log = kitbag.log().text();
    assert!(log.contains("the certificate expires soon"), "{log}");
    let metrics = Http::new(format!("http://{address}").parse().expect("a URL")).get("/metrics").await;
    let line = metrics.text().lines().find_map(|line| {
        line.strip_prefix("kitbag_tls_certificate_expiry_timestamp_seconds ").map(str::to_owned)
    });
    let expiry: i64 = line.expect("there is such a metric").parse().expect("a number");
    let left = expiry - jiff::Timestamp::now().as_second();
    assert!((4 * 24 * 3600..=5 * 24 * 3600).contains(&left), "{left}");
}

#[tokio::test]
async fn a_server_does_not_start_with_what_is_no_certificate_or_with_a_key_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt;

    let (certified, data) = (Certified::new(), tempfile::tempdir().expect("a scratch directory"));
    let start = async |change: &dyn Fn(&Files)| {
        certified.authority.issue(&["127.0.0.1"]).write_over(&certified.files);
        change(&certified.files);
        let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data.path().join("new"));
        command.arg("--tls-certificate").arg(&certified.files.certificate);
        command.arg("--tls-key").arg(&certified.files.key);
        run(command).await
    };
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };

    for mode in [0o644, 0o640, 0o666] {
        let refused = start(&|files| set_mode(&files.key, mode)).await;
        refused.assert_failed("can read the private key");
        refused.assert_failed("chmod go-rwx");
    }
    set_mode(&certified.files.key, 0o600);
    let of_another = |files: &Files| {
        let other = certified.authority.issue(&["127.0.0.1"]);
        std::fs::write(&files.certificate, other.certificate).expect("it is ours");
    };
    start(&of_another).await.assert_failed("is not that of the certificate");
    start(&|files| std::fs::write(&files.certificate, "").expect("it is ours"))
        .await
        .assert_failed("no certificate");
    start(&|files| std::fs::remove_file(&files.key).expect("it is ours")).await.assert_failed("cannot read");

    for flag in ["--tls-certificate", "--tls-key"] {
        let mut command = kitbag(["serve", flag, "/x", "--data"]);
        command.arg(data.path().join("new"));
        run(command).await.assert_failed("go together");
    }
}
