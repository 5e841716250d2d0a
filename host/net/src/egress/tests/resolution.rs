//! A name is resolved once, and the socket connects to the address that was checked.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Client whose resolver returns `answers` in order, repeats the last one, and counts look-ups.
fn resolving(answers: &'static [&'static [&'static str]]) -> (Egress, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let resolver = Resolver::answering(move |_| {
        let answer = answers[count.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)];
        answer.iter().map(|address| address.parse::<IpAddr>().unwrap()).collect()
    });
    // 127.0.0.1 stands for a public address; the other loopback addresses are private.
    (Egress::resolving(settings(&["127.0.0.1/32"], &[]), &resolver, &resolver), asked)
}

async fn ask(egress: &Egress, port: u16) -> Result<Bytes, EgressError> {
    let policy = listing(&[format!("api.example:{port}")]);
    fetch(egress, &format!("http://api.example:{port}/"), &policy).await
}

#[tokio::test]
async fn a_listed_name_at_a_private_address_is_refused() {
    let upstream = upstream().await;
    for private in [&["127.0.0.2"], &["10.0.0.1"], &["169.254.169.254"], &["::ffff:127.0.0.2"], &["fd00::1"]]
    {
        let answers: &'static [&'static [&'static str]] = Box::leak(Box::new([&private[..]]));
        let (egress, _) = resolving(answers);

        let error = ask(&egress, upstream.port()).await.unwrap_err();

        assert!(matches!(error, EgressError::ForbiddenAddress { .. }), "{private:?}: {error}");
    }
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_answer_is_asked_once_for_each_connection() {
    let upstream = upstream().await;
    let (egress, asked) = resolving(&[&["127.0.0.1"], &["127.0.0.2"]]);

    assert_eq!(ask(&egress, upstream.port()).await.unwrap(), "hello");

    assert_eq!((asked.load(Ordering::Relaxed), upstream.connections()), (1, 1));
}

#[tokio::test]
async fn the_second_answer_of_a_name_is_checked_like_the_first() {
    let upstream = upstream().await;
    let (egress, asked) = resolving(&[&["127.0.0.2"], &["127.0.0.1"], &["127.0.0.2"]]);

    let first = ask(&egress, upstream.port()).await;
    let second = ask(&egress, upstream.port()).await;

    assert!(matches!(first, Err(EgressError::ForbiddenAddress { .. })));
    assert_eq!(second.unwrap(), "hello");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn of_a_mixed_answer_only_the_permitted_address_is_tried() {
    // A server at the forbidden address would accept a connection attempt.
    let listener = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (egress, _) = resolving(&[&["127.0.0.2", "127.0.0.1"]]);

    let error = ask(&egress, port).await.unwrap_err();

    assert!(matches!(error, EgressError::Connect { .. }), "{error}");
    assert!(tokio::time::timeout(Duration::from_millis(50), listener.accept()).await.is_err());
}

#[tokio::test]
async fn a_caller_waits_for_a_connection_as_long_as_it_says() {
    let egress = Egress::resolving(EgressSettings::default(), &Resolver::silent(), &Resolver::silent());
    let timeouts = Timeouts { connect: Some(Duration::from_millis(50)), first_byte: None };

    let error =
        egress.send_within(get("http://api.example/"), &Policy::Operator, timeouts).await.unwrap_err();

    assert!(matches!(error, EgressError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn a_caller_waits_for_the_answer_as_long_as_it_says() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let timeouts = Timeouts { connect: Some(TIMEOUT), first_byte: Some(Duration::from_millis(50)) };

    let error = egress(&[]).send_within(get(&uri), &Policy::Operator, timeouts).await.unwrap_err();

    assert!(matches!(error, EgressError::Timeout { .. }), "{error}");
}
