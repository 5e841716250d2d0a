//! Authorization requests and submitted consent forms of browsers.

use super::*;

#[tokio::test]
async fn the_answer_has_code_state_and_issuer() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let consent = fixture.ask(&client_id, &[]).await;

    let answer = fixture.decide(&fixture.allow(&consent, "ana")).await.unwrap();

    assert!(answer.starts_with("http://localhost:6274/callback?code="), "{answer}");
    assert_eq!(parameter(&answer, "state").as_deref(), Some("s t&a=te"));
    assert_eq!(parameter(&answer, "iss").as_deref(), Some(BASE_URL));
    assert_eq!(parameter(&answer, "error"), None);
}

#[tokio::test]
async fn a_no_is_an_answer_too_and_spends_the_question() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    for decision in ["deny", "Allow", ""] {
        let consent = fixture.ask(&client_id, &[]).await;
        let no = form(&[("request_id", &consent.request_id), ("decision", decision), ("user", "ana")], &[]);

        let answer = fixture.decide(&no).await.unwrap();

        assert_eq!(parameter(&answer, "error").as_deref(), Some("access_denied"), "{decision:?}");
        assert_eq!(parameter(&answer, "state").as_deref(), Some("s t&a=te"));
        assert_eq!(parameter(&answer, "iss").as_deref(), Some(BASE_URL));
        assert_eq!(parameter(&answer, "code"), None);
        let again = fixture.decide(&fixture.allow(&consent, "ana")).await;
        assert!(matches!(again, Err(AuthorizeError::NoSuchRequest)), "{again:?}");
    }
}

#[tokio::test]
async fn nobody_is_sent_to_an_address_that_was_not_registered() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let other = json!({ "redirect_uris": ["https://other.example/cb"] });
    fixture.register(&other).await.unwrap();

    for (changes, case) in [
        (vec![("client_id", "guess")], "unknown client"),
        (vec![("client_id", "")], "no client"),
        (vec![("client_id", &client_id), ("client_id", &client_id)], "repeated client"),
        (vec![("redirect_uri", "")], "no address"),
        (vec![("redirect_uri", CALLBACK), ("redirect_uri", CALLBACK)], "repeated address"),
        (vec![("redirect_uri", CALLBACK), ("redirect_uri", "https://evil.example")], "one of two"),
        (vec![("redirect_uri", "https://evil.example/callback")], "another host"),
        (vec![("redirect_uri", "https://other.example/cb")], "another client's"),
        (vec![("redirect_uri", "http://localhost:6274/callback/../x")], "path climbs"),
        (vec![("redirect_uri", "http://localhost:6274/callback?next=//evil.example")], "query"),
        (vec![("redirect_uri", "http://localhost:6274/callback#")], "fragment"),
        (vec![("redirect_uri", "http://localhost:6274@evil.example/callback")], "user name"),
        (vec![("redirect_uri", "http://127.0.0.1:6274/callback")], "another loopback host"),
        (vec![("redirect_uri", "javascript:alert(1)")], "script"),
    ] {
        // Errors of other parameters must not redirect there either.
        for error in [("scope", "profile"), ("response_type", "token")] {
            let changes: Vec<_> = changes.iter().copied().chain([error]).collect();
            let outcome = fixture.server.authorize(&request(&client_id, &changes)).await;
            assert!(outcome.is_err(), "{case}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_native_client_chooses_its_port_when_it_asks() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let callback = "http://localhost:50123/callback";

    let code = fixture.code(&client_id, &[("redirect_uri", callback)]).await;

    fixture.redeem(&client_id, &code, &[("redirect_uri", callback)]).await.unwrap();
}

#[tokio::test]
async fn requests_that_an_attacker_would_make_go_back_with_an_error() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    for (changes, error) in [
        (vec![("response_type", "token")], "unsupported_response_type"),
        (vec![("response_type", "code token")], "unsupported_response_type"),
        (vec![("response_type", "")], "invalid_request"),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("request", "eyJhbGciOiJub25lIn0..")], "invalid_request"),
        (vec![("request_uri", "https://evil.example/request")], "invalid_request"),
        // PKCE: absent, plain, implied plain, malformed.
        (vec![("code_challenge", ""), ("code_challenge_method", "")], "invalid_request"),
        (vec![("code_challenge", "")], "invalid_request"),
        (vec![("code_challenge_method", "plain")], "invalid_request"),
        (vec![("code_challenge_method", "")], "invalid_request"),
        (vec![("code_challenge_method", "s256")], "invalid_request"),
        (vec![("code_challenge", "short")], "invalid_request"),
        // Tokens for another server.
        (vec![("resource", "https://other.example/mcp")], "invalid_target"),
        (vec![("resource", "http://127.0.0.1:8787.evil.example/mcp")], "invalid_target"),
        (vec![("resource", "http://127.0.0.1:8788/mcp")], "invalid_target"),
        (vec![("resource", "http://localhost:8788/mcp")], "invalid_target"),
        (vec![("resource", "https://localhost:8787/mcp")], "invalid_target"),
        (vec![("resource", "http://localhost.evil.example:8787/mcp")], "invalid_target"),
        (vec![("resource", "http://127.0.0.2:8787/mcp")], "invalid_target"),
        (vec![("resource", "http://127.0.0.1:8787/mcp//")], "invalid_target"),
        (vec![("resource", "http://127.0.0.1:8787/mcp/../other")], "invalid_target"),
        (vec![("resource", RESOURCE), ("resource", "https://other.example")], "invalid_request"),
        // Repeated parameters.
        (vec![("scope", "profile"), ("scope", "email")], "invalid_request"),
        (vec![("code_challenge_method", "S256"), ("code_challenge_method", "plain")], "invalid_request"),
    ] {
        let outcome = fixture.server.authorize(&request(&client_id, &changes)).await.unwrap();

        let Step::Return(url) = outcome else { panic!("{changes:?}: {outcome:?}") };
        assert!(url.starts_with("http://localhost:6274/callback?error="), "{url}");
        assert_eq!(parameter(&url, "error").as_deref(), Some(error), "{changes:?}");
        assert_eq!(parameter(&url, "state").as_deref(), Some("s t&a=te"), "{changes:?}");
        assert_eq!(parameter(&url, "iss").as_deref(), Some(BASE_URL), "{changes:?}");
    }
    let two_states = request(&client_id, &[("state", "a"), ("state", "b")]);
    let outcome = fixture.server.authorize(&two_states).await.unwrap();
    assert!(matches!(&outcome, Step::Return(url) if parameter(url, "state").is_none()), "{outcome:?}");
}

#[tokio::test]
async fn scopes_and_resource_may_be_left_out() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    for resource in [
        "",
        BASE_URL,
        "http://127.0.0.1:8787/",
        RESOURCE,
        "http://127.0.0.1:8787/mcp/",
        // The same server by its other names.
        "http://localhost:8787/mcp",
        "http://[::1]:8787",
    ] {
        let consent = fixture.ask(&client_id, &[("resource", resource), ("scope", "")]).await;

        assert_eq!(consent.scopes.to_string(), "profile email offline_access");
    }
}

#[tokio::test]
async fn an_answer_counts_once_in_time_and_for_a_user_that_can_be_shown() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let consent = fixture.ask(&client_id, &[]).await;

    for user in ["", "   ", "two\nlines", "an\u{202e}a", "an\u{fe00}a", "an\u{115f}a", &"a".repeat(65)] {
        let outcome = fixture.decide(&fixture.allow(&consent, user)).await;
        assert!(matches!(outcome, Err(AuthorizeError::UserName)), "{user:?}: {outcome:?}");
    }
    for form in ["", "decision=allow&user=ana", "request_id=a&request_id=b&decision=allow&user=ana"] {
        let outcome = fixture.decide(form).await;
        assert!(matches!(outcome, Err(AuthorizeError::Malformed)), "{form}: {outcome:?}");
    }
    fixture.decide(&fixture.allow(&consent, "ana")).await.unwrap();
    let again = fixture.decide(&fixture.allow(&consent, "ana")).await;
    assert!(matches!(again, Err(AuthorizeError::NoSuchRequest)), "{again:?}");

    let fixture = Fixture::with(Lifetimes { consent: Duration::ZERO, ..Lifetimes::default() }).await;
    let consent = fixture.ask(&fixture.client().await, &[]).await;
    let late = fixture.decide(&fixture.allow(&consent, "ana")).await;
    assert!(matches!(late, Err(AuthorizeError::NoSuchRequest)), "{late:?}");
}

#[tokio::test]
async fn scopes_that_are_not_known_are_ignored_and_the_client_is_told_what_it_got() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;

    for (asked, granted) in [
        ("openid profile email", "profile email"),
        ("offline_access openid", "offline_access"),
        ("profile admin", "profile"),
        ("openid", "profile"),
        ("profile\temail", "profile"),
    ] {
        let code = fixture.code(&client_id, &[("scope", asked)]).await;
        let tokens = fixture.redeem(&client_id, &code, &[]).await.unwrap();
        assert_eq!(tokens.scopes.to_string(), granted, "{asked:?}");
        assert_eq!(claims(&tokens)["scope"], granted, "{asked:?}");
    }
    // A refresh with the originally requested scopes, unknown ones included, succeeds too.
    let (client_id, token) = fixture.signed_in().await;
    let tokens = fixture.refresh(&client_id, &token, &[("scope", "openid profile")]).await.unwrap();
    assert_eq!(tokens.scopes.to_string(), "profile");
}
