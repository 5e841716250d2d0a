//! Users who get other ids at another issuer.

use kitbag_database::audit::Actor;
use kitbag_vault::{Account, AccountState, EveryoneOptions, Tokens};

use super::*;
use crate::transfer::store::all_users;

const OTHER: &str = "https://other.example";

fn ids(json: &str) -> UserIds {
    UserIds::parse(json).expect("ids")
}

async fn issuer_of(service: &Service) -> String {
    let last = "SELECT issuer FROM issuers ORDER BY sequence DESC LIMIT 1";
    service.database.column::<String>(last).await.remove(0)
}

#[tokio::test]
async fn another_issuer_is_refused_unless_it_is_said_who_its_users_are() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let mut job = first.job(&second);
    OTHER.clone_into(&mut job.target.issuer);

    let refused = run(&job).await.expect_err("it is another issuer");
    assert!(matches!(refused, TransferError::OtherIssuer { .. }), "{refused}");
    job.users = Some(ids(r#"{"ana": "one"}"#));
    let refused = run(&job).await.expect_err("one has no id");
    assert_eq!(refused.details(), ["ben"], "{refused}");
    job.users = None;
    job.target.issuer_replaces = Some("https://third.example".to_owned());
    assert!(run(&job).await.is_err());
    assert!(second.is_empty().await && second.files().is_empty());

    job.target.issuer_replaces = Some(ISSUER.to_owned());
    let copied = run(&job).await.expect("they are the same people");

    assert!(copied.ended_sessions);
    assert_eq!(issuer_of(&second).await, OTHER);
    let known: Vec<i64> = second.database.column("SELECT count(*) FROM users").await;
    assert_eq!(known, [0], "sign-ins and ends were those of the other issuer's tokens");
    let sessions: Vec<i64> = second
        .database
        .column(
            "SELECT (SELECT count(*) FROM browser_sessions) + (SELECT count(*) FROM browser_session_grants)",
        )
        .await;
    assert_eq!(sessions, [0]);
    let users = "SELECT DISTINCT holder FROM documents ORDER BY holder";
    assert_eq!(second.database.column::<String>(users).await, ["user:ana", "user:ben"]);
}

#[tokio::test]
async fn with_new_ids_everything_belongs_to_those_and_secrets_open_for_them_alone() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let mut job = first.job(&second);
    OTHER.clone_into(&mut job.target.issuer);
    // A new id may be the old id of another user.
    job.users = Some(ids(r#"{"ana": "ben", "ben": "auth0|2"}"#));
    job.target.keys = keys(&[2, 1]);

    let copied = run(&job).await.expect("it can be copied");

    assert_eq!(copied.counts.secrets, 2);
    let users = all_users(&mut second.snapshot().await, |_| true).await.expect("they can be read");
    assert_eq!(users.into_iter().collect::<Vec<_>>(), ["auth0|2", "ben"]);
    assert_eq!(issuer_of(&second).await, OTHER);
    let check = check_secrets(&second.database, &keys(&[2])).await.expect("a key");
    assert_eq!((check.open, check.broken, check.missing_keys.len()), (2, 0, 0), "sealed with the first key");
    let of = async |service: &Service, user: &str| {
        let rows = format!("SELECT id FROM documents WHERE holder = 'user:{user}' ORDER BY id");
        service.database.column::<String>(&rows).await
    };
    assert_eq!(of(&second, "ben").await, of(&first, "ana").await);
    assert_eq!(of(&second, "auth0|2").await, of(&first, "ben").await);
    let usage = "SELECT bytes FROM knowledge_usage WHERE holder = ";
    let before: Vec<i64> = first.database.column(&format!("{usage}'user:ana'")).await;
    assert_eq!(second.database.column::<i64>(&format!("{usage}'user:ben'")).await, before);
    assert_eq!(second.database.column::<String>("SELECT owner FROM toolkits").await, ["auth0|2"]);
}

#[tokio::test]
async fn accounts_and_what_is_for_everyone_are_copied_too() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let open = async |service: &Service| {
        Arc::new(Vault::open(service.database.clone(), keys(&[1])).await.expect("it opens"))
    };
    let vault = open(&first).await;
    let tokens = Tokens {
        access_token: "t0ken".into(),
        refresh_token: None,
        expires_at: None,
        renew_at: None,
        scope: None,
    };
    let account =
        Account { grants: Vec::new(), connected_at: 7, name: None, state: AccountState::Connected(tokens) };
    vault
        .put_account(&Actor::server(), SecretSlot::account("ana", "t", "ben"), &account)
        .await
        .expect("it is stored");
    let [user, toolkit, owner, name] = ["ben", "t", "ben", "OTHER"].map(str::to_owned);
    let slot = SecretSlot { user, toolkit, owner, name };
    let options = EveryoneOptions { only: true, readable: false };
    vault.set_for_everyone(&Actor::server(), slot, &"everyones".into(), options).await.expect("it is set");
    let mut job = first.job(&second);
    job.users = Some(ids(r#"{"ana": "one", "ben": "two", "cleo": "three"}"#));

    run(&job).await.expect("it can be copied");

    let vault = open(&second).await;
    let copied = vault.stored_account("one", "t").await.expect("it is read").expect("it is there");
    assert_eq!(copied.connected_at, 7);
    assert!(vault.stored_account("ana", "t").await.expect("it is read").is_none());
    let secrets = vault.for_call("anybody", "t").await.expect("they open");
    assert!(secrets.get("t", "OTHER").is_some());
    // Renewed tokens are stored, although the toolkit's owner has another id now.
    vault.replace_account("one", "t", &copied, &account).await.expect("it is the same");
}

#[tokio::test]
async fn a_secret_that_does_not_open_does_not_open_for_a_new_id_either() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    first.database.execute("UPDATE secrets SET sealed = x'00' WHERE user_id = 'ben'").await;
    let mut job = first.job(&second);
    job.users = Some(ids(r#"{"ana": "one", "ben": "two", "cleo": "three"}"#));

    let copied = run(&job).await.expect("it can be copied");

    assert_eq!(copied.broken_secrets_count, 1);
    let check = check_secrets(&second.database, &keys(&[1])).await.expect("a key");
    assert_eq!((check.open, check.broken), (1, 1));
    assert_eq!(check.examples, ["API_KEY of the user two for the toolkit t"]);
}
