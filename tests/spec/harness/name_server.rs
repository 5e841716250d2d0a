//! A DNS server on loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// DNS server that resolves some names to 127.0.0.1, and never answers queries for others. Stops when
/// dropped.
pub(crate) struct NameServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl NameServer {
    /// Starts a server that answers queries for names that end with `known`.
    pub(crate) async fn start(known: &'static str) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("it has one");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = asked.clone();
        let serving = tokio::spawn(async move {
            let mut query = [0; 1024];
            loop {
                let (length, from) = socket.recv_from(&mut query).await.expect("it is open");
                let name = name(&query[..length]);
                if name.ends_with(known) {
                    let answer = answer(&query[..length], &name);
                    socket.send_to(&answer, from).await.expect("loopback takes it");
                }
                seen.lock().expect("no writer panicked").push(name);
            }
        });
        Self { address, asked, serving }
    }

    /// Listening address, in the format of the setting `name-servers`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Number of queries for a name so far.
    pub(crate) fn asked(&self, name: &str) -> usize {
        self.asked.lock().expect("no writer panicked").iter().filter(|asked| *asked == name).count()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Reads the name in a query's only question (RFC 1035, section 4.1).
fn name(query: &[u8]) -> String {
    let (mut labels, mut rest) = (Vec::new(), &query[12..]);
    while let Some((length, tail)) = rest.split_first().filter(|(length, _)| **length > 0) {
        let (label, tail) = tail.split_at(usize::from(*length));
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        rest = tail;
    }
    labels.join(".")
}

/// Builds the response to a query: 127.0.0.1 for an A record, no record of any other type.
fn answer(query: &[u8], name: &str) -> Vec<u8> {
    let question = &query[12..12 + name.len() + 6];
    let is_for_ipv4 = question.ends_with(&[0, 1, 0, 1]);
    let head = [0x81, 0x80, 0, 1, 0, u8::from(is_for_ipv4), 0, 0, 0, 0];
    let mut answer = [&query[..2], &head, question].concat();
    if is_for_ipv4 {
        // Name (a pointer to the question), type A, class IN, TTL of 60 s, length, address.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend(Ipv4Addr::LOCALHOST.octets());
    }
    answer
}
