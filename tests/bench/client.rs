//! HTTP connection that stays open.

use std::net::SocketAddr;

use bytes::Bytes;
use http::response::Parts;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use crate::Outcome;

/// Request that can be sent repeatedly.
pub(crate) type Prepared = Request<Full<Bytes>>;

/// Connection that closes when dropped.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
}

impl Connection {
    /// Opens a connection.
    pub(crate) async fn open(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(connection).abort_handle();
        Ok(Self { sender, driver })
    }

    /// Whether the connection is still open: the server closes an idle one after a while.
    #[allow(dead_code, reason = "one of the benchmarks has no pauses")]
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request and reads the whole response; any status but 200 and 201 is an error.
    pub(crate) async fn exchange(&mut self, request: &Prepared) -> Outcome<Bytes> {
        let (Parts { status, .. }, body) = self.ask(request).await?;
        match status {
            StatusCode::OK | StatusCode::CREATED => Ok(body),
            _ => Err(format!("the server answered {status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    /// Sends a request and reads the whole response with any status.
    pub(crate) async fn ask(&mut self, request: &Prepared) -> Outcome<(Parts, Bytes)> {
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request.clone()).await?.into_parts();
        Ok((head, body.collect().await?.to_bytes()))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
