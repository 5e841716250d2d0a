//! Client id metadata documents (draft-ietf-oauth-client-id-metadata-document): the client id is the URL of
//! the client's metadata, so the client need not register.
//!
//! Such a document is untrusted: it is fetched like a captured file, from the public internet only, with size
//! and time limits, and its client gets no more rights than a self-registered one.
//!
//! A server without access to the internet cannot fetch documents. After a failed fetch it stops advertising
//! the feature for a while, so that clients register instead. Clients that keep their id all the same need no
//! document if the answer goes to a program on the user's computer ([`needs_no_document`]).

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL};
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::Empty;
use kitbag_base::json_object::JsonObject;
use kitbag_net::egress::{Egress, EgressError, Policy};
use moka::Expiry;
use moka::future::Cache;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::debug;
use url::Url;

use super::client::{Client, ClientSource};
use super::client_metadata::Metadata;
use super::redirect_uri::RedirectUri;

/// Maximum length of a document's URL, in bytes.
const MAX_URL_BYTES: usize = 1024;
/// Maximum size of a document; the draft recommends 5 KB.
const MAX_DOCUMENT_BYTES: usize = 16 << 10;
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of cached documents.
const MAX_DOCUMENTS: u64 = 256;
/// Maximum number of concurrent fetches.
const MAX_FETCHES: usize = 4;
/// Cache time of a document without `max-age`; [`MIN_AGE`] and [`MAX_AGE`] bound a stated one.
const DEFAULT_AGE: Duration = Duration::from_hours(1);
const MIN_AGE: Duration = Duration::from_mins(5);
const MAX_AGE: Duration = Duration::from_hours(24);
/// Cache time of a failed fetch: repeated sign-in requests must not make this server send repeated requests.
const FAILURE_AGE: Duration = Duration::from_secs(30);

/// Time after a failed fetch in which clients are told to register, unless another fetch succeeded within
/// [`ONLINE_TIME`].
const OFFLINE_TIME: Duration = Duration::from_mins(10);
const ONLINE_TIME: Duration = Duration::from_hours(24);

/// Redirect URIs of web sites in the documents of widely used clients, by client id. Other URIs in the documents
/// of Claude Code, Codex and VS Code are on loopback (`docs/decisions/0087`).
const KNOWN_SITES: [(&str, &str); 1] =
    [("https://vscode.dev/oauth/client-metadata.json", "https://vscode.dev/redirect")];

/// Fetcher and cache of client metadata documents.
pub(super) struct MetadataDocuments {
    egress: Egress,
    fetches: Semaphore,
    /// Results by URL.
    known: Cache<String, Known>,
    scheme: &'static str,
    reach: Mutex<Reach>,
}

/// Times of the last successful and the last failed connection to a document's host.
#[derive(Default)]
struct Reach {
    reached: Option<Instant>,
    missed: Option<Instant>,
}

#[derive(Clone)]
struct Known {
    client: Result<Client, NoDocument>,
    age: Duration,
}

/// Error of a client's metadata document. The text is shown to the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoDocument {
    /// The document is unreachable, and probably all documents are: clients should register.
    #[error(
        "this server cannot reach that address ({0}). Sign out of this server in the application, or remove it \
         there and add it again, and connect: it will register here instead. In Claude Code, type `claude mcp \
         logout NAME`; in Codex, `codex mcp logout NAME`"
    )]
    Offline(String),
    /// The document could not be read: its host is temporarily unreachable, or responded with an error.
    #[error("this server could not read that address ({0}). Try again later")]
    Unreachable(String),
    /// The response is not a valid metadata document of this client.
    #[error("what is at that address does not describe it: {0}")]
    Invalid(String),
}

impl NoDocument {
    /// Returns why no document was read; `None` if one was, which then decides.
    pub(super) fn unread(&self) -> Option<&str> {
        match self {
            Self::Offline(why) | Self::Unreachable(why) => Some(why),
            Self::Invalid(_) => None,
        }
    }
}

/// Whether a client may be answered at `redirect_uri` if its document could not be read.
///
/// On loopback the answer goes to a program on the user's computer, where any program could claim the id of
/// any client (RFC 8252, section 8.6), and could register under any name as well: the document protects
/// nobody there.
pub(super) fn needs_no_document(client_id: &str, redirect_uri: &RedirectUri) -> bool {
    redirect_uri.is_loopback() || KNOWN_SITES.contains(&(client_id, redirect_uri.as_str()))
}

/// Expiry policy with the cache time of each entry.
struct Ages;

impl Expiry<String, Known> for Ages {
    fn expire_after_create(&self, _: &String, known: &Known, _: Instant) -> Option<Duration> {
        Some(known.age)
    }
}

/// Parsed members of a document: `client_id`, and the metadata of a registration.
#[derive(Deserialize)]
struct Document {
    client_id: String,
    #[serde(flatten)]
    metadata: Metadata,
}

impl MetadataDocuments {
    pub(super) fn new(egress: Egress) -> Self {
        Self::of_scheme("https", egress)
    }

    pub(super) fn of_scheme(scheme: &'static str, egress: Egress) -> Self {
        let known = Cache::builder().max_capacity(MAX_DOCUMENTS).expire_after(Ages).build();
        Self { egress, fetches: Semaphore::new(MAX_FETCHES), known, scheme, reach: Mutex::default() }
    }

    /// Whether a client id is the URL of a metadata document (section 3 of the draft).
    pub(super) fn is_document(&self, client_id: &str) -> bool {
        client_id.len() <= MAX_URL_BYTES
            && Url::parse(client_id).is_ok_and(|url| {
                url.scheme() == self.scheme
                    && url.as_str() == client_id
                    && url.path() != "/"
                    && url.fragment().is_none()
                    && url.username().is_empty()
                    && url.password().is_none()
            })
    }

    /// Whether the feature is advertised: `false` for 10 minutes after a failed fetch, unless another one
    /// succeeded in the last 24 hours.
    pub(super) fn are_offered(&self) -> bool {
        let reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        let within = |time: Option<Instant>, span: Duration| time.is_some_and(|time| time.elapsed() < span);
        within(reach.reached, ONLINE_TIME) || !within(reach.missed, OFFLINE_TIME)
    }

    /// Returns the client that the document at its id describes; fetches the document if it is not cached.
    pub(super) async fn client(&self, client_id: &str) -> Result<Client, NoDocument> {
        self.known.get_with_by_ref(client_id, self.fetch(client_id)).await.client
    }

    async fn fetch(&self, client_id: &str) -> Known {
        match self.read(client_id).await {
            Ok((client, age)) => Known { client: Ok(client), age },
            Err(cause) => {
                debug!(client.id = client_id, %cause, "no metadata document of a client");
                Known { client: Err(cause), age: FAILURE_AGE }
            }
        }
    }

    async fn read(&self, client_id: &str) -> Result<(Client, Duration), NoDocument> {
        let invalid = |why: &dyn fmt::Display| NoDocument::Invalid(why.to_string());
        let place = timeout(FETCH_TIMEOUT, self.fetches.acquire()).await;
        let _place = place.map_err(|_| NoDocument::Unreachable("too many are being fetched".to_owned()))?;
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = client_id.parse().map_err(|_| invalid(&"it is no URL"))?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        // Redirects are not followed: the id must be the URL of the document itself.
        let policy = Policy::Capture { user: "oauth-clients".into() };
        let exchange = self.egress.exchange(request, &policy, MAX_DOCUMENT_BYTES, FETCH_TIMEOUT);
        let response = exchange.await.map_err(|error| self.failed(&error))?;
        self.reach.lock().unwrap_or_else(PoisonError::into_inner).reached = Some(Instant::now());
        if response.status() != http::StatusCode::OK {
            return Err(NoDocument::Unreachable(format!("the answer is {}", response.status())));
        }
        let document = serde_json::from_slice(response.body());
        let JsonObject::<Document>(document) = document.map_err(|error: serde_json::Error| {
            // `serde` quotes values, which are the client's.
            invalid(&format_args!(
                "not the expected JSON at line {}, column {}",
                error.line(),
                error.column()
            ))
        })?;
        if document.client_id != client_id {
            return Err(invalid(&"its client_id is not its URL"));
        }
        let (name, redirect_uris) = document.metadata.check().map_err(|refused| invalid(&refused))?;
        let client = Client { id: client_id.to_owned(), name, redirect_uris, source: ClientSource::Document };
        Ok((client, age(response.headers())))
    }
}

impl MetadataDocuments {
    /// Converts a fetch error; records an unreachable host. A response that is too large is no document either:
    /// it may be the error page of a firewall.
    fn failed(&self, error: &EgressError) -> NoDocument {
        let is_out_of_reach = matches!(
            error,
            EgressError::Resolve { .. }
                | EgressError::Connect { .. }
                | EgressError::Tls { .. }
                | EgressError::Timeout { .. }
        );
        let why = error.to_string();
        if !is_out_of_reach {
            return NoDocument::Unreachable(why);
        }
        self.reach.lock().unwrap_or_else(PoisonError::into_inner).missed = Some(Instant::now());
        if self.are_offered() { NoDocument::Unreachable(why) } else { NoDocument::Offline(why) }
    }
}

/// Cache time of a response by `Cache-Control` (RFC 9111, section 5.2.2), within [`MIN_AGE`] and [`MAX_AGE`].
fn age(headers: &HeaderMap) -> Duration {
    let lines = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let mut age = None;
    for directive in lines.flat_map(|line| line.split(',')).map(str::trim) {
        if directive.eq_ignore_ascii_case("no-store") || directive.eq_ignore_ascii_case("no-cache") {
            return MIN_AGE;
        }
        let seconds = directive.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("max-age"));
        age = age.or(seconds.and_then(|(_, seconds)| seconds.parse().ok()).map(Duration::from_secs));
    }
    age.unwrap_or(DEFAULT_AGE).clamp(MIN_AGE, MAX_AGE)
}

#[cfg(test)]
mod tests {
    use http::Response;
    use http_body_util::Full;
    use kitbag_net::egress::EgressSettings;
    use kitbag_net::egress::test_server::TestServer;

    use super::*;

    const CALLBACK: &str = "http://127.0.0.1:33418/";

    /// Serves documents, with `{url}` replaced by the URL of each.
    async fn server(documents: &'static [(&'static str, &'static str)]) -> TestServer {
        TestServer::start(move |request| {
            let host = request.headers["host"].to_str().expect("text");
            let url = format!("http://{host}{}", request.uri.path());
            let found = documents.iter().find(|(path, _)| *path == request.uri.path());
            let Some((_, document)) = found else {
                return Response::builder().status(404).body(Full::default()).expect("a response");
            };
            let body = document.replace("{url}", &url);
            Response::builder()
                .header("cache-control", "max-age=600")
                .body(Full::from(body))
                .expect("a response")
        })
        .await
    }

    fn documents(ranges: &str) -> MetadataDocuments {
        let ranges = ranges.split_whitespace().map(|range| range.parse().expect("a range"));
        let settings = EgressSettings { capture_ranges: ranges.collect(), ..EgressSettings::default() };
        MetadataDocuments::of_scheme("http", Egress::new(settings))
    }

    #[tokio::test]
    async fn a_document_describes_a_client_and_is_fetched_once() {
        let server = server(&[("/client.json", r#"{"client_id":"{url}","client_name":"Editor","redirect_uris":["http://127.0.0.1:33418/"],"other":1}"#)]).await;
        let documents = documents("127.0.0.0/8");
        let id = format!("{}/client.json", server.origin());

        for _ in 0..3 {
            let client = documents.client(&id).await.expect("a client");
            assert_eq!((&*client.id, client.name.as_deref()), (&*id, Some("Editor")));
            assert_eq!(client.redirect_uris, [CALLBACK]);
        }
        assert_eq!(server.hits("/client.json"), 1);
    }

    #[tokio::test]
    async fn a_document_that_describes_no_client_of_this_id_is_none() {
        let server = server(&[
            ("/other", r#"{"client_id":"https://evil.example/c","redirect_uris":["http://127.0.0.1/"]}"#),
            ("/without", r#"{"client_id":"{url}"}"#),
            ("/script", r#"{"client_id":"{url}","redirect_uris":["javascript:alert(1)"]}"#),
            ("/list", "[]"),
            ("/html", "<html>"),
        ])
        .await;
        let documents = documents("127.0.0.0/8");

        for path in ["/other", "/without", "/script", "/list", "/html"] {
            for _ in 0..2 {
                let client = documents.client(&format!("{}{path}", server.origin())).await;
                assert!(matches!(client, Err(NoDocument::Invalid(_))), "{path}");
            }
            // The failure is cached.
            assert_eq!(server.hits(path), 1, "{path}");
        }
    }

    #[tokio::test]
    async fn what_is_no_document_is_not_taken_for_one() {
        let server = TestServer::start(|request| match request.uri.path() {
            "/refused" => Response::builder().status(403).body(Full::default()).expect("a response"),
            // The error page of a firewall.
            "/large" => Response::builder().status(403).body(Full::from("<p>".repeat(8 << 10))).expect("one"),
            "/moved" => Response::builder()
                .status(302)
                .header("location", "/client.json")
                .body(Full::default())
                .expect("a response"),
            _ => Response::new(Full::default()),
        })
        .await;
        let documents = documents("127.0.0.0/8");

        for path in ["/refused", "/large", "/moved"] {
            let client = documents.client(&format!("{}{path}", server.origin())).await;
            assert!(client.is_err_and(|why| why.unread().is_some()), "{path}");
        }
        assert_eq!(server.hits("/client.json"), 0);
        assert!(documents.are_offered(), "the host was reached");
    }

    #[test]
    fn without_a_document_only_programs_on_this_computer_are_answered_and_known_sites() {
        const VS_CODE: &str = "https://vscode.dev/oauth/client-metadata.json";
        const CLAUDE: &str = "https://claude.ai/oauth/claude-code-client-metadata";
        for (id, redirect_uri, expected) in [
            (CLAUDE, "http://localhost:54212/callback", true),
            (CLAUDE, "http://127.0.0.1:54212/callback", true),
            (CLAUDE, "http://[::1]:54212/callback", true),
            (CLAUDE, "https://localhost/callback", false),
            (CLAUDE, "https://claude.ai/api/mcp/auth_callback", false),
            (CLAUDE, "https://evil.example/callback", false),
            // Any application may claim a scheme, also one that is not on this computer's account.
            (CLAUDE, "claude://callback", false),
            (VS_CODE, "http://127.0.0.1:33418/", true),
            (VS_CODE, "https://vscode.dev/redirect", true),
            (VS_CODE, "https://vscode.dev/redirect?to=evil", false),
            (VS_CODE, "https://vscode.dev/", false),
            ("https://vscode.dev/oauth/other.json", "https://vscode.dev/redirect", false),
            ("https://evil.example/client.json", "https://vscode.dev/redirect", false),
        ] {
            let redirect_uri = RedirectUri::parse(redirect_uri).expect("a redirect URI");
            assert_eq!(needs_no_document(id, &redirect_uri), expected, "{id} {redirect_uri:?}");
        }
    }

    #[tokio::test]
    async fn no_document_is_fetched_from_a_private_address() {
        let server =
            server(&[("/client.json", r#"{"client_id":"{url}","redirect_uris":["http://127.0.0.1/"]}"#)])
                .await;

        let client = documents("").client(&format!("{}/client.json", server.origin())).await;

        assert!(matches!(client, Err(NoDocument::Unreachable(_))) && server.hits("/client.json") == 0);
    }

    #[tokio::test]
    async fn clients_are_told_to_register_where_no_document_can_be_reached() {
        const GOOD: &str = r#"{"client_id":"{url}","redirect_uris":["http://127.0.0.1:33418/"]}"#;
        let server = server(&[("/client.json", GOOD)]).await;
        let documents = documents("127.0.0.0/8");
        assert!(documents.are_offered());

        let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let nobody = format!("http://{}", nobody.local_addr().expect("it was bound"));
        let missed = documents.client(&format!("{nobody}/client.json")).await;
        assert!(matches!(missed, Err(NoDocument::Offline(_))), "{missed:?}");
        assert!(!documents.are_offered());

        documents.client(&format!("{}/client.json", server.origin())).await.expect("a client");
        assert!(documents.are_offered(), "it was that host alone");
        let missed = documents.client(&format!("{nobody}/other.json")).await;
        assert!(matches!(missed, Err(NoDocument::Unreachable(_))), "{missed:?}");
    }

    #[tokio::test]
    async fn an_id_is_the_url_of_a_document_only_as_it_is_written() {
        let documents = MetadataDocuments::new(Egress::new(EgressSettings::default()));
        for (id, expected) in [
            ("https://vscode.dev/oauth/client-metadata.json", true),
            ("https://app.example/c?v=1", true),
            ("https://app.example", false),
            ("https://app.example/", false),
            ("http://app.example/c", false),
            ("https://user@app.example/c", false),
            ("https://app.example/c#x", false),
            ("https://app.example/a/../c", false),
            ("HTTPS://app.example/c", false),
            ("Zm9vYmFy", false),
        ] {
            assert_eq!(documents.is_document(id), expected, "{id}");
        }
    }

    #[test]
    fn a_document_says_how_long_it_may_be_used_within_bounds() {
        for (said, expected) in [
            (None, DEFAULT_AGE),
            (Some("public, max-age=600"), Duration::from_mins(10)),
            (Some("max-age=1"), MIN_AGE),
            (Some("max-age=99999999"), MAX_AGE),
            (Some("no-store"), MIN_AGE),
            (Some("max-age=soon"), DEFAULT_AGE),
        ] {
            let header = said.map(|said| (CACHE_CONTROL, HeaderValue::from_static(said)));
            assert_eq!(age(&header.into_iter().collect()), expected, "{said:?}");
        }
    }
}
