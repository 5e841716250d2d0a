//! Name look-ups of toolkits and captures, from the request to the name server and back.

use super::super::test_name_server::{Reply, TestNameServer, addresses};
use super::*;

/// Client that queries only the name server `server`.
fn asking(server: &TestNameServer, opened: &[&str]) -> Egress {
    Egress::new(EgressSettings { name_servers: vec![server.address()], ..settings(opened, opened) })
}

#[tokio::test]
async fn toolkits_and_captures_ask_the_name_server_and_the_operator_does_not() {
    let upstream = upstream().await;
    let server = TestNameServer::start(|_| addresses(&["127.0.0.1"])).await;
    let egress = asking(&server, &["127.0.0.1/32"]);
    let uri = |name: &str| format!("http://{name}:{}/", upstream.port());
    let listed = listing(&[format!("listed.example:{}", upstream.port())]);

    assert_eq!(fetch(&egress, &uri("listed.example"), &listed).await.unwrap(), "hello");
    assert_eq!(fetch(&egress, &uri("captured.example"), &capture()).await.unwrap(), "hello");
    assert_eq!(fetch(&egress, &uri("localhost"), &Policy::Operator).await.unwrap(), "hello");
    fetch(&egress, &uri("operators.invalid"), &Policy::Operator).await.unwrap_err();

    let mut asked = server.asked();
    asked.sort();
    asked.dedup();
    assert_eq!(asked, ["captured.example", "listed.example"]);
}

#[tokio::test]
async fn a_private_address_stays_private_whichever_name_server_tells_it() {
    let server = TestNameServer::start(|question| match question.name.as_str() {
        "private.example" => addresses(&["127.0.0.1", "10.0.0.1", "::1", "fd00::1"]),
        "alias.example" => Reply::Alias("private.example".to_owned()),
        "translated.example" => addresses(&["64:ff9b::127.0.0.1", "2a00:64::10.0.0.1", "2002:7f00:1::1"]),
        "ipv4only.arpa" => addresses(&["2a00:64::192.0.0.170", "192.0.0.170"]),
        _ => Reply::Code(3),
    })
    .await;
    let egress = asking(&server, &[]);
    let names = ["private.example", "alias.example", "translated.example"].map(str::to_owned);

    for name in &names {
        for policy in [&listing(&names), &capture()] {
            let error = fetch(&egress, &format!("http://{name}/"), policy).await.unwrap_err();
            assert!(matches!(error, EgressError::ForbiddenAddress { .. }), "{name}: {error}");
        }
    }
    let literal = fetch(&egress, "http://[2a00:64::a00:1]/", &capture()).await.unwrap_err();
    assert!(matches!(literal, EgressError::ForbiddenAddress { .. }), "{literal}");
}

#[tokio::test]
async fn an_ipv6_address_waits_for_what_the_name_server_says_of_translation() {
    let server = TestNameServer::start(|question| match question.name.as_str() {
        "ipv4only.arpa" => Reply::Silence,
        "v6.example" => addresses(&["2606:4700::1111"]),
        _ => addresses(&["2606:4700::1111", "127.0.0.1"]),
    })
    .await;
    let upstream = upstream().await;
    let settings = EgressSettings {
        name_servers: vec![server.address()],
        lookup_timeout: Duration::from_millis(300),
        ..settings(&[], &["127.0.0.1/32"])
    };
    let egress = Egress::new(settings);

    let error = fetch(&egress, "http://v6.example/", &capture()).await.unwrap_err();
    let both = fetch(&egress, &format!("http://both.example:{}/", upstream.port()), &capture()).await;

    assert!(error.to_string().contains("NAT64"), "{error}");
    assert_eq!(both.unwrap(), "hello", "its other address is good");
}

#[tokio::test]
async fn an_opened_range_waits_for_it_too_where_a_gateway_might_lead_out_of_it() {
    let server = TestNameServer::start(|_| Reply::Silence).await;
    let egress = Egress::new(EgressSettings {
        name_servers: vec![server.address()],
        lookup_timeout: Duration::from_millis(300),
        ..settings(&["fd00::/8"], &["::1/128"])
    });
    let entries = ["[fd64::a9fe:a9fe]:80".to_owned()];

    let metadata = fetch(&egress, "http://[fd64::a9fe:a9fe]/", &listing(&entries)).await.unwrap_err();
    assert!(metadata.to_string().contains("NAT64"), "{metadata}");
    let asked = server.asked().len();
    let own = fetch(&egress, "http://[::1]/", &capture()).await.unwrap_err();

    assert!(matches!(own, EgressError::Connect { .. }), "{own}");
    assert_eq!(server.asked().len(), asked, "for its own address nothing depends on it");
}

#[tokio::test]
async fn the_prefix_of_a_network_is_asked_for_once() {
    let server = TestNameServer::start(|question| match question.name.as_str() {
        "ipv4only.arpa" => addresses(&["2a00:64::192.0.0.170"]),
        _ => addresses(&["2a00:64::10.0.0.1"]),
    })
    .await;
    let egress = asking(&server, &[]);

    let uris = (0..20).map(|number| format!("http://name-{number}.example/"));
    for uri in uris {
        fetch(&egress, &uri, &capture()).await.unwrap_err();
    }

    assert_eq!(server.asked().iter().filter(|name| *name == "ipv4only.arpa").count(), 1);
}

#[tokio::test]
async fn a_user_whose_names_nobody_answers_for_holds_up_nobody_else() {
    let server = TestNameServer::start(|question| {
        if question.name.starts_with("silent") { Reply::Silence } else { addresses(&["127.0.0.1"]) }
    });
    let upstream = upstream().await;
    let server = server.await;
    let egress = asking(&server, &["127.0.0.1/32"]);
    let lines: Vec<_> = (0..100).map(|number| format!("silent-{number}.example")).collect();
    let good = [format!("good.example:{}", upstream.port())];
    let uri = format!("http://{}/", good[0]);
    let of_ana: Vec<_> = lines
        .iter()
        .map(|name| {
            let egress = egress.clone();
            let policy = listing_for("ana", &lines);
            let uri = format!("http://{name}/");
            tokio::spawn(async move { fetch(&egress, &uri, &policy).await })
        })
        .collect();
    while server.asked().len() < 8 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    // Before any look-up of ana's names ends.
    let of_ben = timeout(TIMEOUT, fetch(&egress, &uri, &listing_for("ben", &good))).await;
    assert_eq!(of_ben.expect("ben waits for ana").unwrap(), "hello");
    let mut silent = server.asked();
    silent.retain(|name| name.starts_with("silent"));
    silent.sort();
    silent.dedup();
    assert!(silent.len() < 20, "ana asks for more than her share: {silent:?}");

    for waiting in of_ana {
        let error = waiting.await.unwrap().unwrap_err();
        assert!(matches!(error, EgressError::Resolve { .. } | EgressError::Timeout { .. }), "{error}");
    }
}
