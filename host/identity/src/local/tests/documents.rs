//! Clients whose id is the URL of a metadata document, which can be read or not.

use http::Response;
use http_body_util::Full;
use kitbag_net::egress::test_server::TestServer;

use super::*;
use crate::local::metadata_document::MetadataDocuments;

const CLAUDE_CODE: &str = "https://claude.ai/oauth/claude-code-client-metadata";
const VS_CODE: &str = "https://vscode.dev/oauth/client-metadata.json";

/// Serves the document of a client, and has the server read it.
async fn publish(fixture: &mut Fixture) -> (TestServer, String) {
    let publisher = TestServer::start(|request| {
        let id = format!("http://{}/client.json", request.headers["host"].to_str().unwrap());
        let document = json!({ "client_id": id, "client_name": "Editor", "redirect_uris": [CALLBACK] });
        Response::new(Full::from(document.to_string()))
    })
    .await;
    let ranges = ["127.0.0.0/8".parse().unwrap()].into_iter().collect();
    let egress = Egress::new(EgressSettings { capture_ranges: ranges, ..EgressSettings::default() });
    fixture.server.documents = MetadataDocuments::of_scheme("http", egress);
    let id = format!("{}/client.json", publisher.origin());
    (publisher, id)
}

/// Starts a server that can read no document: names are asked of a port where nobody answers.
async fn offline() -> Fixture {
    let mut fixture = Fixture::new().await;
    go_offline(&mut fixture, "https");
    fixture
}

fn go_offline(fixture: &mut Fixture, scheme: &'static str) {
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = EgressSettings {
        name_servers: vec![nobody],
        lookup_timeout: Duration::from_millis(500),
        ..EgressSettings::default()
    };
    fixture.server.documents = MetadataDocuments::of_scheme(scheme, Egress::new(settings));
}

#[tokio::test]
async fn a_client_with_a_metadata_document_signs_in_and_renews_its_access_without_it() {
    let mut fixture = Fixture::new().await;
    let (publisher, id) = publish(&mut fixture).await;

    // Only opening the consent page makes the server fetch the document.
    assert_refused(fixture.redeem(&id, "guess", &[]).await, ErrorCode::InvalidGrant, "before a sign-in");
    assert_eq!(publisher.hits("/client.json"), 0);

    let consent = fixture.ask(&id, &[]).await;
    assert_eq!((consent.client_name.as_deref(), &*consent.client_id), (Some("Editor"), &*id));
    assert_eq!(consent.client_source, ClientSource::Document);
    // The document counts, also on loopback.
    for other in ["http://localhost:6274/other", "http://127.0.0.1:6274/callback"] {
        let refused = fixture.server.authorize(&request(&id, &[("redirect_uri", other)])).await;
        assert!(matches!(refused, Err(AuthorizeError::UnknownRedirectUri)), "{other}: {refused:?}");
    }
    let code = fixture.code(&id, &[]).await;
    let tokens = fixture.redeem(&id, &code, &[]).await.unwrap();
    assert_eq!(claims(&tokens)["client_id"], *id);

    drop(publisher);
    go_offline(&mut fixture, "http");
    let renewed = fixture.refresh(&id, &refresh_token(&tokens), &[]).await.unwrap();
    assert_eq!(claims(&renewed)["sub"], "ana");
}

#[tokio::test]
async fn a_code_is_redeemed_however_long_the_document_was_cached() {
    let mut fixture = Fixture::new().await;
    let (publisher, id) = publish(&mut fixture).await;
    let code = fixture.code(&id, &[]).await;

    drop(publisher);
    go_offline(&mut fixture, "http");

    fixture.redeem(&id, &code, &[]).await.unwrap();
}

#[tokio::test]
async fn a_client_on_this_computer_signs_in_without_its_document_and_without_a_name() {
    let fixture = offline().await;

    for callback in ["http://localhost:54212/callback", "http://127.0.0.1:54212/callback"] {
        let changes = [("redirect_uri", callback)];
        let consent = fixture.ask(CLAUDE_CODE, &changes).await;
        assert_eq!((consent.client_name.as_deref(), &*consent.client_id), (None, CLAUDE_CODE));
        let ClientSource::UnreadDocument(why) = &consent.client_source else { panic!("{consent:?}") };
        assert!(why.contains("claude.ai"), "{why}");

        let code = fixture.code(CLAUDE_CODE, &changes).await;
        let tokens = fixture.redeem(CLAUDE_CODE, &code, &changes).await.unwrap();
        assert_eq!(claims(&tokens)["client_id"], CLAUDE_CODE);
        let renewed = fixture.refresh(CLAUDE_CODE, &refresh_token(&tokens), &[]).await.unwrap();
        assert_eq!(claims(&renewed)["sub"], "ana");
    }
    let granted = fixture.server.granted_clients("ana").await.unwrap();
    assert_eq!((granted.len(), granted[0].name.as_deref(), granted[0].grants), (1, None, 2));
}

#[tokio::test]
async fn without_its_document_a_client_is_answered_nowhere_else() {
    let fixture = offline().await;

    for (id, redirect_uri) in [
        (CLAUDE_CODE, "https://evil.example/callback"),
        (CLAUDE_CODE, "https://claude.ai/callback"),
        (CLAUDE_CODE, "claude://callback"),
        (CLAUDE_CODE, "https://vscode.dev/redirect"),
        (VS_CODE, "https://vscode.dev/redirect?to=evil"),
    ] {
        let refused = fixture.server.authorize(&request(id, &[("redirect_uri", redirect_uri)])).await;
        let Err(refused @ AuthorizeError::NoDocument { .. }) = refused else { panic!("{refused:?}") };
        let page = refused.to_string();
        assert!(
            page.contains("`claude mcp logout NAME`") && page.contains("`kitbag key new NAME`"),
            "{page}"
        );
    }
    let consent = fixture.ask(VS_CODE, &[("redirect_uri", "https://vscode.dev/redirect")]).await;
    assert!(matches!(consent.client_source, ClientSource::UnreadDocument(_)), "{consent:?}");
}

#[tokio::test]
async fn without_its_document_a_client_has_no_name_and_no_other_address_than_it_asked_for() {
    let mut fixture = Fixture::new().await;
    let (publisher, id) = publish(&mut fixture).await;
    let code = fixture.code(&id, &[]).await;
    fixture.redeem(&id, &code, &[]).await.unwrap();
    assert_eq!(fixture.server.granted_clients("ana").await.unwrap()[0].name.as_deref(), Some("Editor"));
    drop(publisher);
    go_offline(&mut fixture, "http");

    // Another program claims the id of a client that has signed in before.
    let elsewhere = [("redirect_uri", "http://127.0.0.1:6666/")];
    let code = fixture.code(&id, &elsewhere).await;

    let verifier = "a".repeat(43);
    for (client_id, changes, case) in [
        ("http://other.example/client.json", vec![elsewhere[0]], "another client"),
        (&*id, vec![("redirect_uri", CALLBACK)], "another address"),
        (&*id, vec![("redirect_uri", "http://127.0.0.1:6667/")], "another port"),
        (&*id, vec![elsewhere[0], ("code_verifier", &*verifier)], "another verifier"),
    ] {
        let code = fixture.code(&id, &elsewhere).await;
        assert_refused(fixture.redeem(client_id, &code, &changes).await, ErrorCode::InvalidGrant, case);
    }
    fixture.redeem(&id, &code, &elsewhere).await.unwrap();
    assert_eq!(fixture.server.granted_clients("ana").await.unwrap()[0].name, None, "it is not the Editor");
}
