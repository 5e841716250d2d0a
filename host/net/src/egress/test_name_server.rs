//! A real name server on loopback for tests: it answers over UDP and TCP, correctly or wrongly, and records
//! the questions.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;

/// The question of a DNS query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) name: String,
    /// Record type: 1 for `A`, 28 for `AAAA`.
    pub(crate) record_type: u16,
    /// `true` for TCP, `false` for UDP.
    pub(crate) over_tcp: bool,
}

/// The server's answer.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// No answer.
    Silence,
    /// The addresses of the queried record type.
    Addresses { addresses: Vec<IpAddr>, ttl: u32 },
    /// A CNAME record.
    Alias(String),
    /// A response code without records: 2 is SERVFAIL, 3 NXDOMAIN, 5 REFUSED.
    Code(u8),
    /// A truncated answer: the client has to ask over TCP.
    Truncated,
    /// These bytes after the message ID, instead of a valid message.
    Garbage(Vec<u8>),
}

/// An answer with these addresses and a TTL of one minute.
pub(crate) fn addresses(addresses: &[&str]) -> Reply {
    Reply::Addresses { addresses: addresses.iter().map(|it| it.parse().unwrap()).collect(), ttl: 60 }
}

/// Name server that stops on drop.
pub(crate) struct TestNameServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Question>>>,
    _serving: JoinSet<()>,
}

impl TestNameServer {
    pub(crate) async fn start<F>(answer: F) -> Self
    where
        F: Fn(&Question) -> Reply + Send + Sync + 'static,
    {
        let (udp, tcp) = sockets().await;
        let address = udp.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let mut serving = JoinSet::new();
        let seen = asked.clone();
        let answers = answer.clone();
        serving.spawn(async move {
            let mut message = [0; 4096];
            loop {
                let (length, from) = udp.recv_from(&mut message).await.unwrap();
                let question = question(&message[..length], false);
                seen.lock().unwrap().push(question.clone());
                if let Some(reply) = encode(&message[..length], &question, &answers(&question)) {
                    udp.send_to(&reply, from).await.unwrap();
                }
            }
        });
        let seen = asked.clone();
        serving.spawn(async move {
            loop {
                let (mut stream, _) = tcp.accept().await.unwrap();
                let answer = answer.clone();
                let seen = seen.clone();
                tokio::spawn(async move {
                    while let Ok(length) = stream.read_u16().await {
                        let mut message = vec![0; length.into()];
                        stream.read_exact(&mut message).await.unwrap();
                        let question = question(&message, true);
                        seen.lock().unwrap().push(question.clone());
                        if let Some(reply) = encode(&message, &question, &answer(&question)) {
                            let length = u16::try_from(reply.len()).unwrap();
                            stream.write_all(&[&length.to_be_bytes(), &reply[..]].concat()).await.ok();
                        }
                    }
                });
            }
        });
        Self { address, asked, _serving: serving }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Names of all queries so far, with repetitions.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|question| question.name.clone()).collect()
    }
}

/// Binds the same port for UDP and TCP.
async fn sockets() -> (UdpSocket, TcpListener) {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
            return (udp, tcp);
        }
    }
}

/// Reads the one question of a query (RFC 1035, section 4.1).
fn question(query: &[u8], over_tcp: bool) -> Question {
    let mut labels = Vec::new();
    let mut at = 12;
    while query[at] != 0 {
        let end = at + 1 + usize::from(query[at]);
        labels.push(String::from_utf8(query[at + 1..end].to_vec()).unwrap());
        at = end;
    }
    let record_type = u16::from_be_bytes([query[at + 1], query[at + 2]]);
    Question { name: labels.join("."), record_type, over_tcp }
}

fn encode(query: &[u8], question: &Question, reply: &Reply) -> Option<Vec<u8>> {
    let records: Vec<(u16, u32, Vec<u8>)> = match reply {
        Reply::Silence => return None,
        Reply::Garbage(bytes) => return Some([&query[..2], bytes].concat()),
        Reply::Code(_) | Reply::Truncated => Vec::new(),
        Reply::Alias(name) => vec![(5, 60, encoded_name(name))],
        Reply::Addresses { addresses, ttl } => {
            let record = |address: &IpAddr| match (address, question.record_type) {
                (IpAddr::V4(address), 1) => Some((1, *ttl, address.octets().to_vec())),
                (IpAddr::V6(address), 28) => Some((28, *ttl, address.octets().to_vec())),
                _ => None,
            };
            addresses.iter().filter_map(record).collect()
        }
    };
    let code = if let Reply::Code(code) = reply { *code } else { 0 };
    let truncated = if matches!(reply, Reply::Truncated) { 0b10 } else { 0 };
    let count = u16::try_from(records.len()).unwrap().to_be_bytes();
    let mut message = [&query[..2], &[0x81 | truncated, 0x80 | code, 0, 1], &count, &[0; 4]].concat();
    message.extend(encoded_name(&question.name));
    message.extend([question.record_type.to_be_bytes(), [0, 1]].concat());
    for (record_type, ttl, data) in records {
        // A compression pointer to the question's name.
        message.extend([0xc0, 12]);
        message.extend([record_type.to_be_bytes(), [0, 1]].concat());
        message.extend(ttl.to_be_bytes());
        message.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        message.extend(data);
    }
    Some(message)
}

fn encoded_name(name: &str) -> Vec<u8> {
    let label = |label: &str| [&[u8::try_from(label.len()).unwrap()], label.as_bytes()].concat();
    name.split('.').flat_map(label).chain([0]).collect()
}
