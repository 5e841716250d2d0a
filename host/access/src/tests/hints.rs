//! Processes that wait for changes of another process: immediate with hints, slower without.

use std::time::Instant;

use kitbag_database::audit::Actor;
use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::*;

/// Time limit of each step, so that a missed change fails the test.
const PATIENCE: Duration = Duration::from_secs(20);
/// Two modes: with hints, and without.
const WAYS: [fn(&Database) -> Hints; 2] = [Hints::start, |_| Hints::off()];

/// Allows for one poll of a process, and for a slow test machine.
fn assert_soon(since: Instant) {
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn whoever_listens_on_one_process_hears_of_a_change_on_the_other() {
    for hints in WAYS {
        let (first, second) = Fixture::with_peer_and(hints).await;
        let una = second.access.request("una").await;
        let mut published = second.access.published();
        assert!(una.toolkit("books").is_ok());

        let begun = Instant::now();
        first.access.operator("ana").await.remove("books").await.expect("it is ana's");
        let hearing = async {
            while una.toolkit("books").is_ok() {
                published.changed().await.expect("it lives");
            }
        };
        timeout(PATIENCE, hearing).await.expect("it hears of it");

        assert_soon(begun);
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_tells_the_others_of_each_change_to_what_is_live() {
    let (first, second) = Fixture::with_peer_and(Hints::start).await;
    let mut listening = second.access.hints().listen();

    let ana = first.access.operator("ana").await;
    let changing = async {
        // Repeats until the second process listens; earlier hints do not reach it.
        for version in ["1.0.0", "2.0.0"].into_iter().cycle() {
            ana.roll_back("books", Rollback::to(Some(version))).await.expect("it is ana's");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let told = async { while listening.next().await != Heard::Hint(Hint::Registry) {} };
    tokio::select! {
        () = changing => {}
        told = timeout(PATIENCE, told) => told.expect("it is told"),
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_link_that_one_process_gave_is_good_once_on_another() {
    let (first, second) = Fixture::with_peer_and(|_| Hints::off()).await;
    let una = first.access.request("una").await;
    let secret = una.secret("books", "KEY").expect("it declares it");
    let id = una.link_to(&secret).await.expect("the database answers");

    let linked = second.access.linked_secret(id.expose_secret(), "books", "KEY").expect("it is good");
    assert_eq!(linked.secret(), &secret);
    assert!(!second.access.is_spent(&linked).await.expect("the database answers"));
    second.access.set_linked_secret(&linked, &"a-secret-value".into()).await.expect("it may be set");

    for access in [&first.access, &second.access] {
        let linked = access.linked_secret(id.expose_secret(), "books", "KEY").expect("it is whole");
        assert!(access.is_spent(&linked).await.expect("the database answers"));
        let again = access.set_linked_secret(&linked, &"another-value".into()).await;
        assert!(matches!(again, Err(AccessError::Secrets(VaultError::LinkSpent))), "{again:?}");
    }
    for (toolkit, name) in [("books", "OTHER"), ("films", "KEY")] {
        assert!(second.access.linked_secret(id.expose_secret(), toolkit, name).is_none());
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_call_that_waits_goes_on_when_another_process_has_set_the_secret_and_sees_it() {
    for hints in WAYS {
        let (first, second) = Fixture::with_peer_and(hints).await;
        let una = first.access.request("una").await;
        let secret = una.secret("books", "KEY").expect("it declares it");
        // Its cached secrets are older than the new one.
        assert!(
            first.access.stores().vault.of_user("una").await.expect("it opens").get("books", "KEY").is_none()
        );
        let of_ben = second.access.request("ben").await;
        let other = of_ben.secret("books", "KEY").expect("it declares it");
        of_ben.set_secret(&other, &"of-another-user".into()).await.expect("it may be set");

        let secrets = [secret.clone()];
        let waiting = async {
            let early = timeout(Duration::from_millis(300), una.until_set(&secrets)).await;
            assert!(early.is_err(), "it is not set yet");
            timeout(PATIENCE, una.until_set(&secrets))
                .await
                .expect("it goes on")
                .expect("the database answers");
        };
        let setting = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let una = second.access.request("una").await;
            una.set_secret(&secret, &"a-secret-value".into()).await.expect("it may be set");
        };
        let begun = Instant::now();
        tokio::join!(waiting, setting);

        assert_soon(begun);
        let value = first.access.stores().vault.of_user("una").await.expect("it opens");
        assert!(value.get("books", "KEY").is_some(), "the call sees it");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn whoever_is_in_the_middle_of_something_on_one_process_hears_of_the_end_of_their_access_on_the_other()
{
    for hints in WAYS {
        let (first, second) = Fixture::with_peer_and(hints).await;
        let [una, ben] = ["una", "ben"].map(|name| Caller {
            user_id: name.to_owned(),
            profile: TokenProfile::Access,
            client_id: None,
            key: None,
            issued_at: 1,
            scopes: Vec::new(),
            toolkits: None,
            groups: Groups::default(),
        });
        for caller in [&una, &ben] {
            second.access.admit(caller).await.expect("both may");
        }

        let begun = Instant::now();
        let ending = async {
            first.access.stores().users.end("una", &Actor::user_only("ana")).await.expect("it ends");
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = ending => {}
            () = second.access.until_ended(&ben) => panic!("his goes on"),
            heard = timeout(PATIENCE, second.access.until_ended(&una)) => heard.expect("it hears of it"),
        }

        assert_soon(begun);
        assert_eq!(second.access.admit(&una).await, Err(NotAdmitted::Ended));
        second.access.admit(&ben).await.expect("he may");
    }
}
