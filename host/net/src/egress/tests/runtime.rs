//! Connections stay on the runtime that the client was built on.

use tokio::io::AsyncReadExt;
use tokio::runtime::Builder;

use super::*;

#[tokio::test]
async fn a_connection_outlives_the_runtime_that_asked_for_it() {
    let upstream = upstream().await;
    let egress = egress(&[]);
    let uri = upstream.origin();

    let elsewhere = (egress.clone(), uri.clone());
    let body = tokio::task::spawn_blocking(move || {
        let (egress, uri) = elsewhere;
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(fetch(&egress, &uri, &Policy::Operator))
    });

    assert_eq!(body.await.unwrap().unwrap(), "hello");
    assert_eq!(fetch(&egress, &uri, &Policy::Operator).await.unwrap(), "hello");
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_request_ends_when_nobody_waits_for_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let egress = egress(&[]);
    let waiting = tokio::spawn(async move { egress.send(get(&uri), &Policy::Operator).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = [0; 16];
    stream.read_exact(&mut head).await.unwrap();

    waiting.abort();

    let mut rest = Vec::new();
    timeout(TIMEOUT, stream.read_to_end(&mut rest)).await.expect("the connection is closed").unwrap();
}
