//! Presentation of tokens: `Authorization` header, session cookie, and both.

use http::header::{COOKIE, HeaderName, HeaderValue, ORIGIN};

use super::*;

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let lines = lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name, value);
    }
    headers
}

#[tokio::test]
async fn without_a_credential_there_is_no_caller() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());

    for lines in [
        &[][..],
        &[("cookie", "session=x; __sessionx=y; x__session=z")],
        &[("origin", "https://app.example")],
    ] {
        assert_eq!(identity.authenticate(&headers(lines)).await, Err(AuthError::Missing), "{lines:?}");
    }
    assert_eq!(provider.hits(provider::JWKS), 0);
}

#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    let provider = TestProvider::start().await;
    let token = provider.token("at+jwt", &access_claims(&provider.issuer()));

    for scheme in ["Bearer", "bearer", "bEARER "] {
        let headers = headers(&[("authorization", &format!("{scheme} {token}"))]);
        assert!(provider.identity(settings()).authenticate(&headers).await.is_ok(), "{scheme}");
    }
}

#[tokio::test]
async fn a_token_that_is_too_long_is_refused_before_anything_is_fetched() {
    let provider = TestProvider::start().await;
    let token = "A".repeat(16 * 1024 + 1);

    let outcome = provider.identity(settings()).authenticate(&bearer(&token)).await;

    assert_refused(&outcome, "more than 16 KiB", "long");
    assert!(provider.hits(provider::OPENID) == 0 && provider.hits(provider::JWKS) == 0);
}

#[tokio::test]
async fn a_bad_header_never_falls_back_to_the_cookie() {
    let provider = TestProvider::start().await;
    let cookie = format!("__session={}", provider.token("JWT", &session_claims(&provider.issuer())));

    for value in ["Bearer x", "Basic YTpi", ""] {
        let headers =
            headers(&[("authorization", value), ("cookie", &cookie), ("origin", "https://app.example")]);
        let outcome = provider.identity(settings()).authenticate(&headers).await;
        assert!(matches!(outcome, Err(AuthError::Invalid(_))), "{value:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn the_header_wins_over_the_cookie() {
    let provider = TestProvider::start().await;
    let mut headers = bearer(&provider.token("at+jwt", &access_claims(&provider.issuer())));
    headers.insert(COOKIE, HeaderValue::from_static("__session=x"));
    headers.insert(ORIGIN, HeaderValue::from_static("https://evil.example"));

    assert!(provider.identity(settings()).authenticate(&headers).await.is_ok());
}

#[tokio::test]
async fn a_cookie_needs_an_allowed_origin() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let session = session_claims(&provider.issuer());
    let own = json!("https://kb.example");
    let app = json!("https://app.example");
    let evil = json!("https://evil.example");
    let client = json!("client-1");

    for (origin, azp, site, refusal) in [
        (Some("https://app.example"), json!(null), None, None),
        (Some("https://kb.example"), json!(null), Some("same-origin"), None),
        (Some("https://app.example"), client.clone(), Some("same-site"), None),
        (Some("https://app.example"), app.clone(), None, None),
        (None, app.clone(), None, None),
        (None, own, Some("same-origin"), None),
        (None, json!(null), None, Some("neither Origin nor azp")),
        (None, json!(null), Some("same-origin"), Some("neither Origin nor azp")),
        (None, evil.clone(), None, Some("an azp that is not allowed")),
        (None, client, None, Some("an azp that is not allowed")),
        (Some("https://app.example"), evil, None, Some("an azp that is not allowed")),
        (Some("https://evil.example"), json!(null), None, Some("an Origin that is not allowed")),
        (Some("https://evil.example"), app.clone(), None, Some("an Origin that is not allowed")),
        (Some("null"), app.clone(), None, Some("an Origin that is not allowed")),
        (Some(""), app.clone(), None, Some("an Origin that is not allowed")),
        (Some("https://app.example.evil.example"), app.clone(), None, Some("an Origin that is not allowed")),
        (Some("http://app.example"), app.clone(), None, Some("an Origin that is not allowed")),
        (Some("https://app.example"), app.clone(), Some("cross-site"), Some("a cross-site request")),
        (None, app, Some("Cross-Site"), Some("a cross-site request")),
    ] {
        let token = provider.token("JWT", &with(session.clone(), json!({ "azp": azp })));
        let cookie = format!("theme=dark; __session={token}; lang=en");
        let mut lines = vec![("cookie", cookie.as_str())];
        lines.extend(origin.map(|origin| ("origin", origin)));
        lines.extend(site.map(|site| ("sec-fetch-site", site)));
        let headers = headers(&lines);

        // The second time, the token is cached.
        for time in ["first", "second"] {
            let outcome = identity.authenticate(&headers).await;
            let case = format!("{time} time: Origin {origin:?}, azp {azp}, {site:?}");
            match refusal {
                Some(reason) => assert_refused(&outcome, reason, case),
                None => assert!(outcome.is_ok(), "{case}: {outcome:?}"),
            }
        }
    }
}

#[tokio::test]
async fn an_access_token_in_a_cookie_is_refused_even_when_remembered() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let token = provider.token("at+jwt", &access_claims(&provider.issuer()));
    let cookie = headers(&[("cookie", &format!("__session={token}")), ("origin", "https://app.example")]);

    assert_refused(&identity.authenticate(&cookie).await, "an access token in a cookie", "new");
    assert!(identity.authenticate(&bearer(&token)).await.is_ok());
    assert_refused(&identity.authenticate(&cookie).await, "an access token in a cookie", "remembered");
}

#[tokio::test]
async fn ambiguous_cookies_and_origins_are_refused() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let cookie = format!("__session={}", provider.token("JWT", &session_claims(&provider.issuer())));
    let app = ("origin", "https://app.example");

    let in_one_line = format!("{cookie}; __session=x");
    for lines in
        [vec![("cookie", in_one_line.as_str()), app], vec![("cookie", &cookie), ("cookie", &cookie), app]]
    {
        assert_refused(
            &identity.authenticate(&headers(&lines)).await,
            "more than one session cookie",
            lines.len(),
        );
    }
    let two_origins = [("cookie", cookie.as_str()), app, ("origin", "https://evil.example")];
    assert_refused(
        &identity.authenticate(&headers(&two_origins)).await,
        "more than one Origin header",
        "origins",
    );
    let beside_others = [("cookie", "a=b"), ("cookie", &cookie), app];
    assert!(identity.authenticate(&headers(&beside_others)).await.is_ok());
}

#[tokio::test]
async fn an_absent_audience_passes_only_where_the_operator_says_so() {
    let provider = TestProvider::start().await;
    let strict = provider.identity(settings());
    let lenient =
        provider.identity(IdentitySettings { session_audience: SessionAudience::Optional, ..settings() });
    let session = |changes| provider.token("JWT", &with(session_claims(&provider.issuer()), changes));

    let without = bearer(&session(json!({ "aud": null })));
    assert_refused(&strict.authenticate(&without).await, "no aud", "strict");
    assert!(lenient.authenticate(&without).await.is_ok());

    let ours = bearer(&session(json!({ "aud": null, "azp": "https://app.example" })));
    assert!(lenient.authenticate(&ours).await.is_ok());
    let foreign = bearer(&session(json!({ "aud": null, "azp": "https://other.example" })));
    assert_refused(&lenient.authenticate(&foreign).await, "an azp that is not allowed", "foreign azp");
    let wrong = bearer(&session(json!({ "aud": "https://other.example" })));
    assert_refused(&lenient.authenticate(&wrong).await, "another audience", "wrong aud");
}

#[tokio::test]
async fn a_visitor_is_known_by_the_session_cookie_alone() {
    let provider = TestProvider::start().await;
    let identity = provider.identity(settings());
    let session = session_claims(&provider.issuer());
    let cookie = |typ: &str, claims: &Value| format!("__session={}", provider.token(typ, claims));
    let good = cookie("JWT", &session);

    for lines in [
        &[("cookie", good.as_str())][..],
        &[("cookie", good.as_str()), ("sec-fetch-site", "cross-site")],
        &[("cookie", good.as_str()), ("authorization", "Bearer x")],
    ] {
        let visitor = identity.recognise_visitor(&headers(lines)).await;
        assert_eq!(visitor.map(|visitor| visitor.user_id.clone()), Ok("ana".to_owned()), "{lines:?}");
    }

    let sibling = cookie("JWT", &with(session, json!({ "azp": "https://sibling.example" })));
    let access = cookie("at+jwt", &access_claims(&provider.issuer()));
    for (bad, reason) in [(sibling, "azp that is not allowed"), (access, "access token in a cookie")] {
        let outcome = identity.recognise_visitor(&headers(&[("cookie", &bad)])).await;
        assert_refused(&outcome, reason, &bad);
    }
    let token = provider.token("JWT", &session_claims(&provider.issuer()));
    assert_eq!(identity.recognise_visitor(&bearer(&token)).await, Err(AuthError::Missing));
}
