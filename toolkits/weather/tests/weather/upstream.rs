//! A small HTTP server on loopback, and forwarding of a test's requests to it.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use kitbag_toolkit::prelude::*;

/// A server that runs until the test ends.
pub(crate) struct Upstream {
    address: SocketAddr,
}

impl Upstream {
    /// Starts a server that answers each request with a status and a JSON body.
    pub(crate) fn start(answer: impl Fn(Request) -> (u16, Value) + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("the listener is bound");
        thread::spawn(move || {
            for connection in listener.incoming() {
                serve(&connection.expect("the connection is from this process"), &answer);
            }
        });
        Self { address }
    }

    /// Sends a request to this server instead of its own host, and returns the response.
    pub(crate) fn forward(&self, request: &Request) -> Result<Response, FetchError> {
        self.exchange(request).map_err(|error| FetchError::Network(error.to_string()))
    }

    fn exchange(&self, request: &Request) -> std::io::Result<Response> {
        let target = request.url().split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        let (host, target) = target.expect("the toolkit writes whole URLs");
        let mut connection = TcpStream::connect(self.address)?;
        write!(
            connection,
            "{} /{target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n",
            request.method()
        )?;

        let mut reader = BufReader::new(connection);
        let head = read_head(&mut reader)?;
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
        let mut body = Vec::new();
        reader.read_to_end(&mut body)?;
        Ok(Response::new(status, body))
    }
}

fn serve(mut connection: &TcpStream, answer: impl Fn(Request) -> (u16, Value)) {
    let mut reader = BufReader::new(connection);
    let head = read_head(&mut reader).expect("a request");
    let target = head.split(' ').nth(1).expect("a request line");

    let (status, body) = answer(Request::get(format!("http://upstream{target}")));

    let body = body.to_string();
    write!(connection, "HTTP/1.1 {status} -\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .expect("the test reads on");
}

/// Reads up to the blank line and returns the first line.
fn read_head(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut lines = reader.lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    Ok(first)
}
