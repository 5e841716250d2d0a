//! Redemption of codes and refresh tokens: by the right client, once, and in time.

use super::*;

#[tokio::test]
async fn a_code_gives_tokens_for_the_person_who_agreed() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let code = fixture.code(&client_id, &[]).await;

    let tokens = fixture.redeem(&client_id, &code, &[]).await.unwrap();

    let claims = claims(&tokens);
    assert_eq!(claims["sub"], "ana");
    assert_eq!(claims["aud"], RESOURCE);
    assert_eq!(claims["iss"], BASE_URL);
    assert_eq!(claims["client_id"], *client_id);
    assert_eq!(claims["scope"], "profile email offline_access");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 3600);
    assert_eq!(tokens.expires_in.as_secs(), 3600);
    assert!(tokens.refresh_token.is_some());
}

#[tokio::test]
async fn a_code_is_good_for_the_request_it_was_issued_for_and_nothing_else() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let other = fixture.client().await;
    let wrong_verifier = VERIFIER.replace('d', "e");
    for (changes, error) in [
        (vec![("code_verifier", wrong_verifier.as_str())], ErrorCode::InvalidGrant),
        (vec![("code_verifier", "short")], ErrorCode::InvalidGrant),
        (vec![("code_verifier", "")], ErrorCode::InvalidRequest),
        (vec![("code_verifier", VERIFIER), ("code_verifier", VERIFIER)], ErrorCode::InvalidRequest),
        (vec![("redirect_uri", "http://localhost:6275/callback")], ErrorCode::InvalidGrant),
        (vec![("redirect_uri", "")], ErrorCode::InvalidRequest),
        (vec![("client_id", other.as_str())], ErrorCode::InvalidGrant),
        (vec![("client_id", "guess")], ErrorCode::InvalidClient),
        (vec![("client_id", "")], ErrorCode::InvalidRequest),
        (vec![("resource", "https://other.example/mcp")], ErrorCode::InvalidTarget),
        (vec![("code", "guess")], ErrorCode::InvalidGrant),
        (vec![("code", "")], ErrorCode::InvalidRequest),
        (vec![("grant_type", "")], ErrorCode::InvalidRequest),
        (vec![("grant_type", "password")], ErrorCode::UnsupportedGrantType),
        (vec![("grant_type", "client_credentials")], ErrorCode::UnsupportedGrantType),
    ] {
        let code = fixture.code(&client_id, &[]).await;

        let outcome = fixture.redeem(&client_id, &code, &changes).await;

        assert_refused(outcome, error, &format!("{changes:?}"));
        // A failed attempt spends the code.
        if error == ErrorCode::InvalidGrant && changes[0].0 != "code" {
            let second = fixture.redeem(&client_id, &code, &[]).await;
            assert_refused(second, ErrorCode::InvalidGrant, &format!("again after {changes:?}"));
        }
    }
}

#[tokio::test]
async fn a_code_that_is_presented_again_takes_back_what_it_gave() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let code = fixture.code(&client_id, &[]).await;
    let tokens = fixture.redeem(&client_id, &code, &[]).await.unwrap();

    let replayed = fixture.redeem(&client_id, &code, &[]).await;

    assert_refused(replayed, ErrorCode::InvalidGrant, "replay");
    let refreshed = fixture.refresh(&client_id, &refresh_token(&tokens), &[]).await;
    assert_refused(refreshed, ErrorCode::InvalidGrant, "refresh after replay");
}

#[tokio::test]
async fn an_expired_code_or_refresh_token_is_refused() {
    let fixture = Fixture::with(Lifetimes { code: Duration::ZERO, ..Lifetimes::default() }).await;
    let client_id = fixture.client().await;
    let code = fixture.code(&client_id, &[]).await;
    assert_refused(fixture.redeem(&client_id, &code, &[]).await, ErrorCode::InvalidGrant, "code");

    let fixture = Fixture::with(Lifetimes { refresh_token: Duration::ZERO, ..Lifetimes::default() }).await;
    let (client_id, refresh_token) = fixture.signed_in().await;
    let refreshed = fixture.refresh(&client_id, &refresh_token, &[]).await;
    assert_refused(refreshed, ErrorCode::InvalidGrant, "refresh token");
}

#[tokio::test]
async fn a_refresh_token_is_there_only_with_offline_access() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let code = fixture.code(&client_id, &[("scope", "email profile")]).await;

    let tokens = fixture.redeem(&client_id, &code, &[]).await.unwrap();

    assert!(tokens.refresh_token.is_none());
    assert_eq!(claims(&tokens)["scope"], "profile email");
}

#[tokio::test]
async fn each_refresh_gives_a_new_token_and_an_old_one_ends_the_grant() {
    let fixture = Fixture::with(Lifetimes { replaced_token: Duration::ZERO, ..Lifetimes::default() }).await;
    let (client_id, first) = fixture.signed_in().await;

    let second = refresh_token(&fixture.refresh(&client_id, &first, &[]).await.unwrap());
    let tokens = fixture.refresh(&client_id, &second, &[]).await.unwrap();
    let third = refresh_token(&tokens);

    assert_eq!(claims(&tokens)["sub"], "ana");
    assert!(first != second && second != third);
    assert_refused(fixture.refresh(&client_id, &first, &[]).await, ErrorCode::InvalidGrant, "first again");
    assert_refused(fixture.refresh(&client_id, &third, &[]).await, ErrorCode::InvalidGrant, "third");
}

#[tokio::test]
async fn clients_that_share_a_token_and_refresh_it_at_once_get_the_same_next_one() {
    let fixture = Fixture::new().await;
    let (client_id, token) = fixture.signed_in().await;
    let refresh = || fixture.refresh(&client_id, &token, &[]);

    let (one, two, three) = tokio::join!(refresh(), refresh(), refresh());
    // A client that lost the response repeats the request.
    let again = refresh().await;

    let next: Vec<_> = [one, two, three, again].into_iter().map(|it| refresh_token(&it.unwrap())).collect();
    assert!(next.iter().all(|it| *it == next[0] && *it != token), "they differ");
    assert!(fixture.refresh(&client_id, &next[0], &[]).await.is_ok());
}

#[tokio::test]
async fn a_session_that_comes_generations_late_gets_the_newest_token() {
    let fixture = Fixture::new().await;
    let (client_id, first) = fixture.signed_in().await;
    let second = refresh_token(&fixture.refresh(&client_id, &first, &[]).await.unwrap());
    let newest = refresh_token(&fixture.refresh(&client_id, &second, &[]).await.unwrap());

    for late in [&first, &second, &first] {
        let tokens = fixture.refresh(&client_id, late, &[]).await.unwrap();
        assert_eq!((refresh_token(&tokens), &claims(&tokens)["sub"]), (newest.clone(), &json!("ana")));
    }
    assert!(fixture.refresh(&client_id, &newest, &[]).await.is_ok());
}

#[tokio::test]
async fn a_late_session_is_refused_and_ends_the_grant_only_once_the_newest_token_was_used() {
    // The grace period is over at once.
    let fixture = Fixture::with(Lifetimes { replaced_token: Duration::ZERO, ..Lifetimes::default() }).await;
    let (client_id, first) = fixture.signed_in().await;
    let second = refresh_token(&fixture.refresh(&client_id, &first, &[]).await.unwrap());

    for _ in 0..3 {
        assert_refused(fixture.refresh(&client_id, &first, &[]).await, ErrorCode::InvalidGrant, "late");
    }
    let third = refresh_token(&fixture.refresh(&client_id, &second, &[]).await.unwrap());

    assert_refused(fixture.refresh(&client_id, &first, &[]).await, ErrorCode::InvalidGrant, "reused");
    assert_refused(fixture.refresh(&client_id, &third, &[]).await, ErrorCode::InvalidGrant, "its grant");
}

#[tokio::test]
async fn another_client_gets_nothing_for_a_token_that_was_just_replaced() {
    let fixture = Fixture::new().await;
    let (client_id, token) = fixture.signed_in().await;
    let next = refresh_token(&fixture.refresh(&client_id, &token, &[]).await.unwrap());
    let other = fixture.client().await;

    assert_refused(fixture.refresh(&other, &token, &[]).await, ErrorCode::InvalidGrant, "another client");

    assert!(fixture.refresh(&client_id, &next, &[]).await.is_ok());
}

#[tokio::test]
async fn a_refresh_token_is_good_for_its_client_its_scopes_and_this_server() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let code = fixture.code(&client_id, &[("scope", "profile offline_access")]).await;
    let token = refresh_token(&fixture.redeem(&client_id, &code, &[]).await.unwrap());
    let other = fixture.client().await;
    let id = token.split_once('.').unwrap().0;

    for (changes, error) in [
        (vec![("client_id", other.as_str())], ErrorCode::InvalidGrant),
        (vec![("scope", "profile email offline_access")], ErrorCode::InvalidScope),
        (vec![("resource", "https://other.example/mcp")], ErrorCode::InvalidTarget),
        (vec![("refresh_token", "")], ErrorCode::InvalidRequest),
        (vec![("refresh_token", id)], ErrorCode::InvalidGrant),
        (vec![("refresh_token", "guess.guess")], ErrorCode::InvalidGrant),
        (vec![("refresh_token", &token), ("refresh_token", &token)], ErrorCode::InvalidRequest),
    ] {
        let outcome = fixture.refresh(&client_id, &token, &changes).await;
        assert_refused(outcome, error, &format!("{changes:?}"));
    }
    let tokens = fixture.refresh(&client_id, &token, &[("scope", "profile")]).await.unwrap();
    assert_eq!(claims(&tokens)["scope"], "profile");
    // Scopes that were not requested this time are still granted.
    let tokens = fixture.refresh(&client_id, &refresh_token(&tokens), &[]).await.unwrap();
    assert_eq!(claims(&tokens)["scope"], "profile offline_access");
}

#[tokio::test]
async fn a_revoked_refresh_token_is_good_for_nothing() {
    let fixture = Fixture::new().await;
    let (client_id, refresh_token) = fixture.signed_in().await;

    fixture.revoke(&client_id, &refresh_token).await.unwrap();

    let outcome = fixture.refresh(&client_id, &refresh_token, &[]).await;
    assert_refused(outcome, ErrorCode::InvalidGrant, "revoked");
    // Revoking twice is not an error.
    fixture.revoke(&client_id, &refresh_token).await.unwrap();
}

#[tokio::test]
async fn only_its_own_client_with_the_whole_token_revokes_it() {
    let fixture = Fixture::new().await;
    let (client_id, refresh_token) = fixture.signed_in().await;
    let (grant_id, _) = refresh_token.split_once('.').unwrap();
    let other = fixture.client().await;
    let guess = format!("{grant_id}.guess");

    for (client_id, token) in [(&other, &refresh_token), (&client_id, &guess), (&client_id, &other)] {
        fixture.revoke(client_id, token).await.unwrap();
    }

    assert!(fixture.refresh(&client_id, &refresh_token, &[]).await.is_ok());
}

#[tokio::test]
async fn what_cannot_be_revoked_is_said_to_be_so() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let code = fixture.code(&client_id, &[]).await;
    let tokens = fixture.redeem(&client_id, &code, &[]).await.unwrap();
    let access_token = tokens.access_token.expose_secret();

    let outcome = fixture.revoke(&client_id, access_token).await;
    assert_refused(outcome, ErrorCode::UnsupportedTokenType, "an access token");
    assert_refused(fixture.revoke(&client_id, "").await, ErrorCode::InvalidRequest, "no token");
    assert_refused(fixture.revoke("", "a.b").await, ErrorCode::InvalidRequest, "no client");
}

#[tokio::test]
async fn neither_a_code_nor_a_refresh_token_from_before_the_end_of_a_user_gives_tokens() {
    let fixture = Fixture::new().await;
    let users = crate::Users::open(Database::open(fixture.data.path()).await.unwrap()).await.unwrap();
    let operator = kitbag_database::audit::Actor::user_only("olga");
    let end = async |user: &str| users.end(user, &operator).await.unwrap();
    let (client_id, refresh_token) = fixture.signed_in().await;
    let [online, offline] = ["profile", "profile offline_access"];

    for scope in [online, offline] {
        let code = fixture.code(&client_id, &[("scope", scope)]).await;
        end("ana").await;
        assert_refused(fixture.redeem(&client_id, &code, &[]).await, ErrorCode::InvalidGrant, scope);
    }
    let refreshed = fixture.refresh(&client_id, &refresh_token, &[]).await;
    assert_refused(refreshed, ErrorCode::InvalidGrant, "refresh");

    // Ends of others do not count.
    let code = fixture.code(&client_id, &[]).await;
    for other in ["anabel", "an", "group:ana"] {
        end(other).await;
    }
    fixture.redeem(&client_id, &code, &[]).await.unwrap();
}
