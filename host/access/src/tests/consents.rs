//! Consents of users, and calls that wait for them.

use kitbag_toolkits::dispatch::{Failure, Reply};

use super::*;

/// Returns ana's `books`, with 1.0.0 live. Each version has its own egress host.
async fn books() -> Fixture {
    let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
    give_hosts(&fixture).await;
    activate(&fixture, "1.0.0", None).await;
    fixture
}

async fn give_hosts(fixture: &Fixture) {
    for (version, host) in [("1.0.0", "old.example"), ("2.0.0", "new.example")] {
        let reaches = format!(
            "UPDATE toolkit_versions SET manifest = replace(manifest, '\"secrets\"', '\"egress\":[\"{host}\"],\"secrets\"')
             WHERE version = '{version}'"
        );
        fixture.database.execute(&reaches).await;
    }
}

async fn activate(fixture: &Fixture, version: &str, vouch: Option<&str>) {
    let vouch = vouch.map(|reason| reason.parse().expect("a reason"));
    let wanted = Rollback { vouch, ..Rollback::to(Some(version)) };
    let operator = fixture.user("ana").operator().expect("ana is one");
    operator.roll_back("books", wanted).await.expect("it is ana's");
}

/// Returns the failure of a call that waits for consent. Other calls fail because there is no component.
async fn refusal(user: &User) -> Option<Failure> {
    match user.call("books__find", Map::new(), None).await {
        Ok(Reply::Failure(failure)) if failure.needs_consent => Some(failure),
        Err(CallError::Unavailable(_)) => None,
        other => panic!("{other:?}"),
    }
}

async fn waits(user: &User) -> bool {
    let is_refused = refusal(user).await.is_some();
    let status = status(user).await;
    assert_eq!(is_refused, status.waiting, "{status:?}");
    is_refused
}

async fn status(user: &User) -> ConsentStatus {
    user.toolkit("books").expect("it is shared").consent().await.expect("it is read")
}

async fn agree(user: &User) {
    let digest = status(user).await.digest;
    user.toolkit("books").expect("it is shared").agree(&digest).await.expect("it is what was shown");
}

fn names(items: &[kitbag_toolkits::ReachItem]) -> Vec<&str> {
    items.iter().map(|it| it.name.as_str()).collect()
}

#[tokio::test]
async fn a_further_reach_waits_for_those_who_have_given_something() {
    let fixture = books().await;
    let [una, fay] = ["una", "fay"].map(|name| fixture.user(name));
    set_secret(&una, "books").await.expect("una sees it");
    assert!(!waits(&una).await && !waits(&fay).await);
    let old = status(&una).await.digest;

    activate(&fixture, "2.0.0", None).await;

    let refused = refusal(&una).await.expect("it reaches further");
    assert!(
        !refused.envelope.retryable && refused.envelope.error.contains("network new.example"),
        "{refused:?}"
    );
    assert!(refused.envelope.error.contains("kitbag toolkit agree books"), "{refused:?}");
    assert!(!waits(&fay).await, "fay has given it nothing");
    let shown = status(&una).await;
    assert_eq!((names(&shown.new), names(&shown.gone)), (vec!["new.example"], vec!["old.example"]));
    assert_eq!(shown.agreed_version.as_deref(), Some("1.0.0"));
    // Setting a secret now does not agree to the new version.
    set_secret(&una, "books").await.expect("una sees it");
    assert!(waits(&una).await);
    let stale = una.toolkit("books").expect("it is shared").agree(&old).await;
    assert!(matches!(stale, Err(AccessError::ReachChanged(_))), "{stale:?}");
    assert!(waits(&una).await);

    agree(&una).await;
    assert!(!waits(&una).await);
    let acts: Vec<String> = fixture
        .database
        .column("SELECT act || ' ' || actor || ' ' || version FROM audit WHERE act = 'consent.given'")
        .await;
    assert_eq!(acts, ["consent.given una 2.0.0"]);
    // Consent to the newer version does not cover the older one, whose reach is different.
    activate(&fixture, "1.0.0", None).await;
    assert!(waits(&una).await);
    assert_eq!(names(&status(&una).await.new), ["old.example"]);
}

#[tokio::test]
async fn a_setting_is_given_too_and_less_reach_never_waits() {
    let fixture = books().await;
    let una = fixture.user("una");
    change_settings(&una, "books").await.expect("una sees it");
    fixture
        .database
        .execute(
            "UPDATE toolkit_versions SET manifest = replace(manifest, '\"egress\":[\"new.example\"],', '')",
        )
        .await;

    activate(&fixture, "2.0.0", None).await;
    assert!(!waits(&una).await, "it reaches no host any more");
    // Agreeing to less changes nothing, and does not reduce the earlier consent.
    agree(&una).await;
    activate(&fixture, "1.0.0", None).await;
    assert!(!waits(&una).await);
}

#[tokio::test]
async fn a_vouched_version_asks_nobody_and_the_next_one_asks_again() {
    let fixture = books().await;
    let una = fixture.user("una");
    set_secret(&una, "books").await.expect("una sees it");
    let counted = async |name: &str| {
        fixture.user(name).listed().record("books").await.expect("it is shared").waiting_consents
    };

    activate(&fixture, "2.0.0", Some("Read by two of us.")).await;
    assert!(!waits(&una).await);
    let vouch = status(&una).await.vouched.expect("ana vouches");
    assert_eq!((vouch.by.as_str(), vouch.reason.as_str()), ("ana", "Read by two of us."));
    assert_eq!((counted("ana").await, counted("una").await), (Some(0), None));

    // The same version without a vouch: una's own consent does not cover it.
    activate(&fixture, "2.0.0", None).await;
    assert!(waits(&una).await);
    assert_eq!((counted("ana").await, counted("una").await), (Some(1), None));
    activate(&fixture, "2.0.0", Some("Read again.")).await;
    assert!(!waits(&una).await);
    let acts: Vec<String> =
        fixture.database.column("SELECT name FROM audit WHERE act = 'toolkit.vouched' ORDER BY id").await;
    assert_eq!(acts, ["Read by two of us.", "Read again."]);
}

#[tokio::test]
async fn another_owner_waits_whatever_was_vouched_for_and_however_the_toolkit_came_to_them() {
    let fixture = books().await;
    let una = fixture.user("una");
    set_secret(&una, "books").await.expect("una sees it");
    activate(&fixture, "1.0.0", Some("It is mine.")).await;
    assert!(!waits(&una).await);

    let ben = fixture.user("ben").operator().expect("ben is one");
    ben.take_over("books").await.expect("it is ana's");

    let shown = status(&una).await;
    assert_eq!((names(&shown.new), names(&shown.gone), &shown.vouched), (vec!["ben"], vec![], &None));
    assert!(waits(&una).await);
    agree(&una).await;
    assert!(!waits(&una).await);

    // The toolkit is removed and deployed again with a larger reach.
    ben.remove("books").await.expect("it is ben's");
    insert(&fixture.database, "books", "shared", "ben").await;
    give_hosts(&fixture).await;
    ben.roll_back("books", Rollback::to(Some("2.0.0"))).await.expect("it is ben's");
    assert!(waits(&una).await, "what was agreed to was not this");
}

#[tokio::test]
async fn the_first_call_of_a_toolkit_that_takes_documents_agrees_and_the_next_version_asks() {
    let fixture = books().await;
    let [una, fay] = ["una", "fay"].map(|name| fixture.user(name));
    let scopes = "UPDATE toolkit_versions
        SET manifest = replace(manifest, '\"secrets\"', '\"scopes\":[\"svc:search\"],\"secrets\"')";
    fixture.database.execute(scopes).await;
    // A call while somebody vouches counts as a first call.
    activate(&fixture, "1.0.0", Some("Read.")).await;
    assert!(!waits(&una).await);

    activate(&fixture, "2.0.0", None).await;

    assert!(waits(&una).await);
    assert!(!waits(&fay).await, "it is fay's first call");
    activate(&fixture, "1.0.0", None).await;
    assert!(!waits(&una).await && waits(&fay).await);
}

#[tokio::test]
async fn a_version_that_newly_takes_documents_waits_for_who_has_only_called_it() {
    let fixture = books().await;
    let [una, fay] = ["una", "fay"].map(|name| fixture.user(name));
    assert!(!waits(&una).await);
    let takes_documents = "UPDATE toolkit_versions
        SET manifest = replace(manifest, '\"secrets\"', '\"scopes\":[\"svc:search\"],\"secrets\"') WHERE version = '2.0.0'";
    fixture.database.execute(takes_documents).await;

    activate(&fixture, "2.0.0", None).await;

    assert!(waits(&una).await, "her call was of a version that took nothing");
    assert_eq!(names(&status(&una).await.new), ["new.example", "svc:search"]);
    assert!(!waits(&fay).await, "fay's first call is of this one");
    agree(&una).await;
    assert!(!waits(&una).await);
}

#[tokio::test]
async fn what_is_given_after_a_call_is_given_to_the_version_of_that_moment() {
    let fixture = books().await;
    let una = fixture.user("una");
    assert!(!waits(&una).await);
    activate(&fixture, "2.0.0", None).await;
    assert!(!waits(&una).await, "she has given it nothing");

    set_secret(&una, "books").await.expect("una sees it");

    assert!(!waits(&una).await, "it was this version that she gave it to");
    activate(&fixture, "1.0.0", None).await;
    assert!(waits(&una).await, "which reaches something else");
}

#[tokio::test]
async fn a_program_cannot_agree_for_its_user() {
    let fixture = books().await;
    set_secret(&fixture.user("una"), "books").await.expect("una sees it");
    activate(&fixture, "2.0.0", None).await;
    let program = fixture.program("una");

    let digest = status(&program).await.digest;
    let refused = program.toolkit("books").expect("it is shared").agree(&digest).await;

    assert!(matches!(refused, Err(AccessError::ProgramsCannotAgree)), "{refused:?}");
    assert!(waits(&program).await && waits(&fixture.user("una")).await);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_consent_given_to_one_process_is_seen_by_the_next_call_on_the_other() {
    let (first, second) = Fixture::with_peer().await;
    give_hosts(&first).await;
    activate(&first, "1.0.0", None).await;
    let other = async |name: &str| second.access.request(name).await;
    set_secret(&other("una").await, "books").await.expect("una sees it");
    // Both processes have cached una's consent to this version.
    assert!(!waits(&first.access.request("una").await).await && !waits(&other("una").await).await);

    for round in 0..10 {
        let version = if round % 2 == 0 { "2.0.0" } else { "1.0.0" };
        activate(&first, version, None).await;
        assert!(waits(&other("una").await).await, "round {round}");
        assert!(waits(&first.access.request("una").await).await, "round {round}");
        let (agreeing, calling) = if round % 3 == 0 {
            (first.access.request("una").await, other("una").await)
        } else {
            (other("una").await, first.access.request("una").await)
        };

        agree(&agreeing).await;

        assert!(!waits(&calling).await && !waits(&agreeing).await, "round {round}");
    }
}
