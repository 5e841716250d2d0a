//! Client registration, and limits of stored clients.

use super::*;
use crate::local::store::MAX_CLIENTS;

#[tokio::test]
async fn a_client_is_told_what_it_was_registered_as() {
    let fixture = Fixture::new().await;
    let metadata = json!({
        "client_name": " Assistant ",
        "redirect_uris": [CALLBACK, "cursor://cb"],
        "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code"],
        "scope": "openid everything",
        "logo_uri": "https://evil.example/pixel.png",
        "jwks": { "keys": [] },
    });

    let registration = serde_json::to_value(fixture.register(&metadata).await.unwrap()).unwrap();

    assert_eq!(registration["client_id"].as_str().unwrap().len(), 22);
    assert_eq!(
        without_id(registration),
        json!({
            "client_name": "Assistant",
            "redirect_uris": [CALLBACK, "cursor://cb"],
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "scope": "profile email offline_access",
        })
    );
}

#[tokio::test]
async fn metadata_that_cannot_be_served_is_refused() {
    let fixture = Fixture::new().await;
    let many = vec![CALLBACK; 21];
    for (metadata, code) in [
        (json!({}), ErrorCode::InvalidRedirectUri),
        (json!({ "redirect_uris": [] }), ErrorCode::InvalidRedirectUri),
        (json!({ "redirect_uris": many }), ErrorCode::InvalidRedirectUri),
        (json!({ "redirect_uris": [CALLBACK, "javascript:alert(1)"] }), ErrorCode::InvalidRedirectUri),
        (json!({ "redirect_uris": ["http://evil.example/"] }), ErrorCode::InvalidRedirectUri),
        (json!({ "redirect_uris": CALLBACK }), ErrorCode::InvalidClientMetadata),
        (json!({ "redirect_uris": [7] }), ErrorCode::InvalidClientMetadata),
        (json!([CALLBACK]), ErrorCode::InvalidClientMetadata),
        (json!([[CALLBACK], null, null, null, null]), ErrorCode::InvalidClientMetadata),
        (with("token_endpoint_auth_method", &json!("private_key_jwt")), ErrorCode::InvalidClientMetadata),
        (with("grant_types", &json!(["client_credentials"])), ErrorCode::InvalidClientMetadata),
        (with("grant_types", &json!(["implicit"])), ErrorCode::InvalidClientMetadata),
        (with("response_types", &json!(["token"])), ErrorCode::InvalidClientMetadata),
        (with("client_name", &json!("a".repeat(101))), ErrorCode::InvalidClientMetadata),
        (with("client_name", &json!("two\nlines")), ErrorCode::InvalidClientMetadata),
        (with("client_name", &json!("elp\u{202e}maxe")), ErrorCode::InvalidClientMetadata),
        (with("client_name", &json!("Cla\u{3164}ude\u{e0041}")), ErrorCode::InvalidClientMetadata),
        (with("client_name", &json!(7)), ErrorCode::InvalidClientMetadata),
    ] {
        assert_refused(fixture.register(&metadata).await, code, &metadata.to_string());
    }
    for body in ["", "null", "client_name=x", r#"{"redirect_uris":["a:b"],"redirect_uris":["c:d"]}"#] {
        let outcome = fixture.server.register(body.as_bytes()).await;
        assert_refused(outcome, ErrorCode::InvalidClientMetadata, body);
    }
}

#[tokio::test]
async fn a_flood_of_registrations_signs_nobody_out() {
    let fixture = Fixture::new().await;
    let (in_use, refresh_token) = fixture.signed_in().await;
    let unused = fixture.client().await;

    // Some registrations may have the same millisecond.
    for _ in 0..MAX_CLIENTS + 20 {
        fixture.client().await;
    }

    fixture.refresh(&in_use, &refresh_token, &[]).await.unwrap();
    let outcome = fixture.server.authorize(&request(&unused, &[])).await;
    assert!(matches!(outcome, Err(AuthorizeError::UnknownClient)), "{outcome:?}");
}

#[tokio::test]
async fn clients_and_sign_ins_survive_a_restart() {
    let fixture = Fixture::new().await;
    let (client_id, refresh_token) = fixture.signed_in().await;

    let fixture = fixture.restarted().await;

    fixture.ask(&client_id, &[]).await;
    fixture.refresh(&client_id, &refresh_token, &[]).await.unwrap();
}

#[tokio::test]
async fn no_code_and_no_refresh_token_is_in_the_data_directory() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let code = fixture.code(&client_id, &[]).await;
    let refresh_token = refresh_token(&fixture.redeem(&client_id, &code, &[]).await.unwrap());

    let secret = refresh_token.split_once('.').unwrap().1;
    for file in std::fs::read_dir(fixture.data.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for text in [&code, secret] {
            assert!(!bytes.windows(text.len()).any(|window| window == text.as_bytes()));
        }
    }
}

fn with(name: &str, value: &Value) -> Value {
    json!({ "redirect_uris": [CALLBACK], name: value })
}

fn without_id(mut registration: Value) -> Value {
    let members = registration.as_object_mut().unwrap();
    members.remove("client_id").unwrap();
    assert!(members.remove("client_id_issued_at").unwrap().is_i64());
    registration
}
