//! A proxy on loopback for tests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Proxy that connects to one server, whatever the requested target. Stops on drop.
pub(crate) struct TestProxy {
    pub(super) address: SocketAddr,
    pub(super) heads: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

impl TestProxy {
    /// Starts a proxy that tunnels to this loopback port; `None`: it refuses all requests.
    pub(crate) async fn start(upstream: Option<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = heads.clone();
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(tunnel(stream, upstream, seen.clone()));
            }
        });
        Self { address, heads, accepting }
    }

    /// Requested targets of the tunnels.
    pub(crate) fn targets(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        heads.iter().map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect()
    }
}

impl Drop for TestProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn tunnel(mut stream: TcpStream, upstream: Option<u16>, seen: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    seen.lock().unwrap().push(String::from_utf8(head).unwrap());
    let Some(port) = upstream else {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
        return stream.write_all(refusal).await.unwrap();
    };
    let mut upstream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
    copy_bidirectional(&mut stream, &mut upstream).await.ok();
}
