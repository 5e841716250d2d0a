//! A TCP connection for malformed and slow requests.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::{Kitbag, within};

/// Open TCP connection. Closed when dropped.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) async fn connect(kitbag: &Kitbag) -> Self {
        Self::connect_from(kitbag, Ipv4Addr::LOCALHOST).await
    }

    /// Connects from a loopback address.
    pub(crate) async fn connect_from(kitbag: &Kitbag, source: Ipv4Addr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(source.into(), 0)).expect("all of 127.0.0.0/8 is this machine");
        Self(within("the connection", socket.connect(kitbag.address())).await.expect("the server listens"))
    }

    /// Writes bytes. Ignores errors: the server may have closed the connection.
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = within("the server's reading", self.0.write_all(bytes.as_ref())).await;
    }

    /// Writes `piece` again and again, with a pause, until the server closes the connection; returns the
    /// response.
    pub(crate) async fn drip(self, piece: &'static str, pause: Duration) -> String {
        let (mut answer, mut request) = self.0.into_split();
        let dripping = tokio::spawn(async move {
            while request.write_all(piece.as_bytes()).await.is_ok() {
                sleep(pause).await;
            }
        });
        let said = rest(&mut answer).await;
        dripping.abort();
        said
    }

    /// Closes the sending side.
    pub(crate) async fn finish(&mut self) {
        let _ = self.0.shutdown().await;
    }

    /// Reads the response until the server closes the connection, which it must.
    pub(crate) async fn rest(&mut self) -> String {
        rest(&mut self.0).await
    }

    /// Reads the first part of the response, up to 512 bytes: the head, if that is short.
    pub(crate) async fn head(&mut self) -> String {
        const LENGTH: usize = 512;

        let mut said = vec![0; LENGTH];
        let length = within("the response", self.0.read(&mut said)).await.unwrap_or_default();
        String::from_utf8_lossy(&said[..length]).into_owned()
    }

    /// Like [`Self::head`]; empty if nothing arrives within `time`.
    pub(crate) async fn head_within(&mut self, time: Duration) -> String {
        timeout(time, self.head()).await.unwrap_or_default()
    }

    /// Reads the rest of a response whose body has at least `length` more bytes, until nothing arrives for
    /// 500 ms.
    pub(crate) async fn body(&mut self, length: usize) -> Vec<u8> {
        const MOMENT: Duration = Duration::from_millis(500);

        let mut body = Vec::with_capacity(length);
        loop {
            let wait = if body.len() < length { Duration::from_mins(1) } else { MOMENT };
            match timeout(wait, self.0.read_buf(&mut body)).await {
                Ok(Ok(1..)) => {}
                _ => return body,
            }
        }
    }

    /// Whether the server has closed the connection, or does so within 1 ms.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let reading = self.0.read_u8();
        timeout(Duration::from_millis(1), reading).await.is_ok_and(|read| read.is_err())
    }
}

async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut said = Vec::new();
    // A reset also ends the connection.
    let _ = within("the end of the connection", stream.read_to_end(&mut said)).await;
    String::from_utf8_lossy(&said).into_owned()
}
