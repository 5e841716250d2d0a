//! A connection to a server, and the streaming response body that it receives.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::BoxBody;
use super::connector::Connected;
use super::pool::{Key, Pool};

/// Maximum size of a response head, in bytes.
pub(super) const MAX_HEAD_BYTES: usize = 64 << 10;
/// Maximum number of headers of a response.
const MAX_HEADERS: usize = 100;

/// Time limit for sending the rest of a request after its complete response. Longer than the wait for the
/// recorded body of a request that is sent again.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(2);

/// An open connection, closed on drop.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<BoxBody>,
    opened: Instant,
    is_private: bool,
    _task: AbortOnDrop,
}

#[derive(Debug)]
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Starts HTTP/1.1 over a stream, driven by a task on `runtime`.
    pub(super) async fn over(connected: Connected, runtime: &Handle) -> Result<Self, hyper::Error> {
        let Connected { stream, is_private } = connected;
        let mut http = http1::Builder::new();
        http.max_buf_size(MAX_HEAD_BYTES).max_headers(MAX_HEADERS);
        let (sender, connection) = http.handshake(stream).await?;
        // An error is also reported to the pending request, if there is one.
        let task = runtime.spawn(async move { drop(connection.await) });
        Ok(Self { sender, opened: Instant::now(), is_private, _task: AbortOnDrop(task.abort_handle()) })
    }

    /// Whether the last request and its response are complete, and the server has kept the connection open
    /// and sent nothing more.
    pub(super) fn is_idle(&self) -> bool {
        self.sender.is_ready()
    }

    /// Whether the server is at a private address, as in [`Connected`].
    pub(super) fn is_private(&self) -> bool {
        self.is_private
    }

    pub(super) fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Sends a request. The error contains the request if nothing of it was sent.
    pub(super) async fn send(
        mut self,
        request: Request<BoxBody>,
    ) -> Result<(Response<Incoming>, Self), TrySendError<Request<BoxBody>>> {
        let response = self.sender.try_send_request(request).await?;
        Ok((response, self))
    }
}

/// Streaming response body. Once the response is received completely, its connection may serve another
/// request of the same key; dropping the body earlier closes the connection.
#[derive(Debug)]
pub struct ResponseBody {
    incoming: Incoming,
    lent: Option<Lent>,
}

/// A connection outside the pool.
#[derive(Debug)]
struct Lent {
    connection: Connection,
    key: Arc<Key>,
    pool: Pool,
    runtime: Handle,
}

impl ResponseBody {
    pub(super) fn new(
        incoming: Incoming,
        connection: Connection,
        key: Arc<Key>,
        pool: Pool,
        runtime: Handle,
    ) -> Self {
        let mut body = Self { incoming, lent: Some(Lent { connection, key, pool, runtime }) };
        if body.incoming.is_end_stream() {
            body.give_back();
        }
        body
    }

    fn give_back(&mut self) {
        if let Some(lent) = self.lent.take() {
            lent.give_back();
        }
    }
}

impl Lent {
    /// Returns the connection to the pool, once it is idle.
    fn give_back(mut self) {
        if self.connection.is_idle() {
            return self.pool.put(self.key, self.connection);
        }
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            if let Ok(Ok(())) = timeout(UPLOAD_TIMEOUT, self.connection.sender.ready()).await {
                self.pool.put(self.key, self.connection);
            }
        });
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(context));
        match &frame {
            Some(Ok(_)) if !self.incoming.is_end_stream() => {}
            Some(Ok(_)) | None => self.give_back(),
            Some(Err(_)) => drop(self.lent.take()),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        // A short body may have been received completely without being read.
        if let Some(lent) = self.lent.take_if(|lent| lent.connection.is_idle()) {
            lent.give_back();
        }
    }
}
