//! Consent requires the sign-in code, or a ticket made with it.

use super::*;

#[tokio::test]
async fn nobody_agrees_without_the_code_and_a_slip_can_be_put_right() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let consent = fixture.ask(&client_id, &[]).await;
    assert_eq!(consent.code, CodePrompt::Asked);
    let right = fixture.sign_in_code();
    let right = right.reveal().expose_secret();
    let without = form(&[("request_id", &consent.request_id), ("decision", "allow"), ("user", "ana")], &[]);

    for (answer, prompt) in [
        (without, CodePrompt::Missing),
        (allow_with(&consent, "ana", ""), CodePrompt::Missing),
        (allow_with(&consent, "ana", " "), CodePrompt::Missing),
        (allow_with(&consent, "ana", "guess"), CodePrompt::Wrong),
        (allow_with(&consent, "ana", &right[1..]), CodePrompt::Wrong),
        (allow_with(&consent, "ana", &format!("{right}0")), CodePrompt::Wrong),
        (
            allow_with(&consent, "ana", &right.to_uppercase().replace(char::is_numeric, "0")),
            CodePrompt::Wrong,
        ),
        (allow_with(&consent, "ana", &"a".repeat(10_000)), CodePrompt::Wrong),
    ] {
        let Step::Ask(again) = fixture.server.decide(&answer).await.unwrap() else { panic!("{answer}") };
        assert_eq!((again.code, &again.request_id), (prompt, &consent.request_id), "{answer}");
        assert_eq!(again.redirect_uri.as_str(), CALLBACK);
    }
    let twice = format!("{}&code={right}", allow_with(&consent, "ana", right));
    assert!(matches!(fixture.server.decide(&twice).await, Err(AuthorizeError::Malformed)));

    let answer = fixture.decide(&fixture.allow(&consent, "ana")).await.unwrap();
    assert!(parameter(&answer, "code").is_some(), "{answer}");
}

#[tokio::test]
async fn wrong_codes_of_strangers_do_not_keep_the_owner_out() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    for _ in 0..100 {
        let consent = fixture.ask(&client_id, &[]).await;
        let outcome = fixture.server.decide(&allow_with(&consent, "ana", "guess")).await.unwrap();
        assert!(matches!(&outcome, Step::Ask(again) if again.code == CodePrompt::Wrong), "{outcome:?}");
    }

    let consent = fixture.ask(&client_id, &[]).await;
    fixture.decide(&fixture.allow(&consent, "ana")).await.unwrap();
    // A denial requires no code; a ticket replaces the code.
    let consent = fixture.ask(&client_id, &[]).await;
    let no = form(&[("request_id", &consent.request_id), ("decision", "deny")], &[]);
    fixture.decide(&no).await.unwrap();
    let consent = fixture.ask(&client_id, &[("ticket", &ticket(&fixture, &client_id))]).await;
    fixture.decide(&allow_with(&consent, "ana", "")).await.unwrap();
}

#[tokio::test]
async fn a_ticket_stands_for_the_code_once() {
    let fixture = Fixture::new().await;
    let client_id = fixture.client().await;
    let ticket = ticket(&fixture, &client_id);
    // A page may be opened twice; only one of the two can be approved with the ticket.
    let first = fixture.ask(&client_id, &[("ticket", &ticket)]).await;
    let second = fixture.ask(&client_id, &[("ticket", &ticket)]).await;
    assert_eq!((first.code, second.code), (CodePrompt::Unneeded, CodePrompt::Unneeded));

    let answer = fixture.decide(&allow_with(&second, "ana", "")).await.unwrap();
    assert!(parameter(&answer, "code").is_some(), "{answer}");

    let outcome = fixture.server.decide(&allow_with(&first, "ana", "")).await.unwrap();
    assert!(matches!(&outcome, Step::Ask(again) if again.code == CodePrompt::Missing), "{outcome:?}");
    fixture.decide(&fixture.allow(&first, "ana")).await.unwrap();
}

#[tokio::test]
async fn a_ticket_is_of_no_use_to_another_client_or_another_challenge() {
    let fixture = Fixture::new().await;
    let own = fixture.client().await;
    let other = fixture.client().await;
    let ticket = ticket(&fixture, &own);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest("of another verifier"));

    for (client_id, changes) in [
        (&other, vec![("ticket", ticket.as_str())]),
        (&own, vec![("ticket", &ticket), ("code_challenge", &challenge)]),
        (&own, vec![("ticket", &ticket), ("ticket", &ticket)]),
        (&own, vec![("ticket", "0.AAAA")]),
        (&own, vec![("ticket", fixture.sign_in_code().reveal().expose_secret())]),
        (&own, vec![]),
    ] {
        let consent = fixture.ask(client_id, &changes).await;
        assert_eq!(consent.code, CodePrompt::Asked, "{changes:?}");
        let outcome = fixture.server.decide(&allow_with(&consent, "ana", "")).await.unwrap();
        assert!(matches!(outcome, Step::Ask(_)), "{changes:?}");
    }
}

/// Replaces the code file with `text`; `None` deletes it.
fn change_code(fixture: &Fixture, text: Option<&str>) {
    let path = fixture.data.path().join("sign-in-code");
    match text {
        Some(text) => std::fs::write(path, text).unwrap(),
        None => std::fs::remove_file(path).unwrap(),
    }
}

#[tokio::test]
async fn a_code_lasts_and_another_one_ends_all_that_was_granted_under_it() {
    let another = "0123456789abcdef0123456789abcdef\n";
    for text in [None, Some(another)] {
        let fixture = Fixture::new().await;
        let (client_id, refresh_token) = fixture.signed_in().await;
        let before = fixture.sign_in_code();
        let key_before = fixture.server.issuer().jwks();
        let fixture = fixture.restarted().await;
        assert_eq!(fixture.sign_in_code().reveal().expose_secret(), before.reveal().expose_secret());
        assert_eq!(fixture.server.issuer().jwks(), key_before, "access tokens are still good");
        let tokens = fixture.refresh(&client_id, &refresh_token, &[]).await.unwrap();
        let refresh_token = super::refresh_token(&tokens);

        change_code(&fixture, text);
        let fixture = fixture.restarted().await;

        assert_ne!(fixture.sign_in_code().reveal().expose_secret(), before.reveal().expose_secret());
        assert_ne!(fixture.server.issuer().jwks(), key_before, "no access token from before is good");
        let refused = fixture.refresh(&client_id, &refresh_token, &[]).await;
        assert_refused(refused, ErrorCode::InvalidGrant, "a grant from before");
        let consent = fixture.ask(&client_id, &[]).await;
        let old = allow_with(&consent, "ana", before.reveal().expose_secret());
        assert!(matches!(fixture.server.decide(&old).await.unwrap(), Step::Ask(_)));
        let key = fixture.server.issuer().jwks();
        assert_eq!(fixture.restarted().await.server.issuer().jwks(), key, "it ends once");
    }
}

/// Creates a ticket for the PKCE challenge of the requests in these tests.
fn ticket(fixture: &Fixture, client_id: &str) -> String {
    let code_challenge = &URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    fixture.sign_in_code().ticket(&TicketRequest { issuer: BASE_URL, client_id, code_challenge })
}
