//! Load of clients that store one document after the other, some with a new connection for each, some with
//! keep-alive.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use crate::harness::{TlsClient, within};

/// Number of clients of each [`Kind`].
const CLIENTS: usize = 4;
/// Pause between two requests of a client: shorter than a stopping server waits for the next request.
const THINKING: Duration = Duration::from_millis(20);

/// Server address and protocol for the clients.
#[derive(Clone)]
pub(super) struct Load {
    tls: Option<TlsClient>,
    address: SocketAddr,
}

/// Running clients.
pub(super) struct Begun {
    load: Load,
    enough: CancellationToken,
    clients: Vec<JoinHandle<Client>>,
}

/// Results of all requests.
pub(super) struct Done {
    load: Load,
    pub(super) acknowledged: usize,
    pub(super) failures: Vec<String>,
    /// Longest time from the start of a request to its response, including a new connection.
    pub(super) longest: Duration,
    /// Number of responses with `Connection: close` on kept-alive connections.
    pub(super) closed: usize,
    /// Number of clients with keep-alive.
    pub(super) kept_alive: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NewConnections,
    KeptAlive,
}

struct Client {
    load: Load,
    kind: Kind,
    token: String,
    connection: Option<SendRequest<Full<Bytes>>>,
    acknowledged: usize,
    failures: Vec<String>,
    longest: Duration,
    closed: usize,
}

/// Returns a user name for each client.
pub(super) fn users() -> impl Iterator<Item = String> {
    (0..2 * CLIENTS).map(|number| format!("user{number}"))
}

impl Load {
    pub(super) fn plain(address: SocketAddr) -> Self {
        Self { tls: None, address }
    }

    pub(super) fn over(tls: TlsClient, address: SocketAddr) -> Self {
        Self { tls: Some(tls), address }
    }

    /// Starts the clients, with one token each.
    pub(super) fn begin(self, tokens: &[String]) -> Begun {
        let (enough, number) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
        let kinds = [Kind::NewConnections, Kind::KeptAlive].into_iter().flat_map(|kind| [kind; CLIENTS]);
        let clients = kinds.zip(tokens).map(|(kind, token)| {
            let (client, number, enough) = (self.client(kind, token), number.clone(), enough.clone());
            tokio::spawn(client.work(number, enough))
        });
        Begun { clients: clients.collect(), enough, load: self }
    }

    fn client(&self, kind: Kind, token: &str) -> Client {
        Client {
            load: self.clone(),
            kind,
            token: token.to_owned(),
            connection: None,
            acknowledged: 0,
            failures: Vec::new(),
            longest: Duration::ZERO,
            closed: 0,
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let stream = match &self.tls {
            Some(tls) => Either::Left(tls.connect(self.address).await.map_err(|error| error.to_string())?),
            None => Either::Right(TcpStream::connect(self.address).await.map_err(|error| error.to_string())?),
        };
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        // A connection error is also reported by the request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

impl Begun {
    /// Stops the clients after their current request, and collects their results.
    pub(super) async fn end(self) -> Done {
        self.enough.cancel();
        let mut done = Done {
            load: self.load,
            acknowledged: 0,
            failures: Vec::new(),
            longest: Duration::ZERO,
            closed: 0,
            kept_alive: CLIENTS,
        };
        for client in self.clients {
            let client = within("the last request", client).await.expect("no panic");
            done.acknowledged += client.acknowledged;
            done.failures.extend(client.failures);
            done.longest = done.longest.max(client.longest);
            done.closed += client.closed;
        }
        done
    }
}

impl Done {
    /// Counts the documents stored for all users.
    pub(super) async fn stored(&self, tokens: &[String]) -> usize {
        let mut stored = 0;
        for token in tokens {
            let mut client = self.load.client(Kind::NewConnections, token);
            let query = json!({ "query": "{ me { documents { total } } }" });
            let answer = client.ask(&query).await.expect("it is answered");
            let total = answer["data"]["me"]["documents"]["total"].as_u64();
            stored += usize::try_from(total.unwrap_or_else(|| panic!("{answer}"))).expect("it is small");
        }
        stored
    }
}

impl Client {
    async fn work(mut self, number: Arc<AtomicUsize>, enough: CancellationToken) -> Self {
        while !enough.is_cancelled() {
            let number = number.fetch_add(1, Ordering::Relaxed);
            let mutation = "mutation ($documents: [IngestDocumentInput!]!) {
                ingest(documents: $documents) { documents { id } }
            }";
            let documents = json!([{ "title": format!("{number}"), "text": format!("document {number}") }]);
            let question = json!({ "query": mutation, "variables": { "documents": documents } });
            let begun = Instant::now();
            match self.ask(&question).await {
                Ok(answer) if answer["data"]["ingest"]["documents"][0]["id"].is_string() => {
                    self.acknowledged += 1;
                }
                Ok(answer) => self.failures.push(format!("{:?}: {answer}", self.kind)),
                Err(error) => {
                    self.connection = None;
                    self.failures.push(format!("{:?}: {error}", self.kind));
                }
            }
            self.longest = self.longest.max(begun.elapsed());
            sleep(THINKING).await;
        }
        self
    }

    /// Sends a GraphQL request, over the kept-alive connection or a new one.
    async fn ask(&mut self, question: &Value) -> Result<Value, String> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.load.connect().await?,
        };
        let request = Request::post("/graphql")
            .header(header::HOST, self.load.address.to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(question.to_string())))
            .expect("a request");
        connection.ready().await.map_err(|error| format!("{error:?}"))?;
        let response = connection.send_request(request).await.map_err(|error| format!("{error:?}"))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| format!("{error:?}"))?.to_bytes();
        let is_last = parts.headers.get(header::CONNECTION).is_some_and(|value| value == "close");
        if self.kind == Kind::KeptAlive {
            self.closed += usize::from(is_last);
            self.connection = (!is_last).then_some(connection);
        }
        serde_json::from_slice(&body).map_err(|error| format!("{}: {error}", parts.status))
    }
}
