use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::sleep;

use super::*;
use crate::{BrowserSessions, KeyError, NewKey, ProgramKeys, SessionLifetime};

/// Ids that look like the one of Ana.
const LOOKALIKES: [&str; 6] = ["anabel", "an", "ana ", "Ana", "group:ana", "group:"];

async fn users() -> (tempfile::TempDir, Database, Users) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(data.path()).await;
    let users = Users::open(database.clone()).await.expect("the database is there");
    (data, database, users)
}

/// Ends of users in the audit log: who ended whose access.
async fn ends(database: &Database) -> Vec<String> {
    let entries = "SELECT actor || ' ' || affected FROM audit WHERE act = 'user.ended' ORDER BY id";
    database.column(entries).await
}

/// Gives a user a key, a session and a grant of a client.
async fn give_access(database: &Database, user: &str) {
    let keys = ProgramKeys::new(database.clone(), "local");
    keys.create(user, key()).await.expect("it is made");
    let lifetime = SessionLifetime::of(Duration::from_hours(1));
    let sessions = BrowserSessions::new(database.clone(), "local", lifetime);
    sessions.begin(user, "Browser").await.expect("it begins");
    if !database.is_exclusive() {
        return;
    }
    database
        .execute(&format!(
            "INSERT INTO oauth_clients VALUES ('client of {user}', NULL, '[]', 1);
             INSERT INTO oauth_grants VALUES ('{user}', 'client of {user}', '{user}', '', x'00', x'00', '[]', 9999999999999)"
        ))
        .await;
}

fn key() -> NewKey {
    NewKey { name: "report".to_owned(), made_by: None, toolkits: None, expires_at: None }
}

/// A user with a token that was issued at this time, in milliseconds since 1970.
fn caller(user: &str, issued_at: i64) -> Caller {
    Caller {
        user_id: user.to_owned(),
        profile: TokenProfile::Access,
        client_id: None,
        key: None,
        scopes: Vec::new(),
        toolkits: None,
        issued_at,
        groups: Groups::default(),
    }
}

/// Waits until the recorded sign-ins of a user are as `expected`.
async fn recorded(users: &Users, user: &str, expected: impl Fn(&SignIns) -> bool) -> SignIns {
    loop {
        let known = users.get(user).await.expect("it is read");
        if let Some(sign_ins) = known.and_then(|user| user.sign_ins).filter(&expected) {
            return sign_ins;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn ending_a_user_deletes_what_gives_access_of_that_user_alone_once() {
    let (_data, database, users) = users().await;
    let operator = Actor::user_only("olga");
    for user in ["ana", "anabel", "group:ana"] {
        give_access(&database, user).await;
    }

    let ended = users.end("ana", &operator).await.expect("it ends");
    let again = users.end("ana", &operator).await.expect("it has ended");

    let clients = u64::from(database.is_exclusive());
    assert_eq!(ended, EndedAccess { keys: 1, sessions: 1, clients });
    assert_eq!(again, EndedAccess::default());
    assert_eq!(ends(&database).await, ["olga ana"]);
    let tables = ["program_keys", "browser_sessions", "oauth_grants"];
    for table in tables.iter().take(if database.is_exclusive() { 3 } else { 2 }) {
        let left: Vec<String> =
            database.column(&format!("SELECT user_id FROM {table} ORDER BY user_id")).await;
        assert_eq!(left, ["anabel", "group:ana"], "{table}");
    }
    let ana = users.get("ana").await.expect("it is read").expect("she is known");
    assert!(ana.is_ended() && ana.sign_ins.is_none());
    assert_eq!(ana.ended.expect("it was ended").by, "olga");
    assert!(users.get("group:ana").await.expect("it is read").is_none_or(|user| !user.is_ended()));
}

#[tokio::test]
async fn what_was_issued_before_the_end_is_refused_and_what_comes_later_begins_anew() {
    let (_data, database, users) = users().await;
    let keys = ProgramKeys::new(database.clone(), "local");
    let before = caller("ana", now());
    users.admit(&before).await.expect("she may");

    users.end("ana", &Actor::user_only("olga")).await.expect("it ends");

    let end = users.get("ana").await.expect("it is read").expect("she is known").ended.expect("it was ended");
    let ended = end.at.as_millisecond();
    for issued in [i64::MIN, before.issued_at, ended - 1, ended] {
        assert_eq!(users.admit(&caller("ana", issued)).await, Err(Unadmitted::Ended), "{issued}");
    }
    let key_of_then = Caller { profile: TokenProfile::Key, ..before.clone() };
    assert_eq!(users.admit(&key_of_then).await, Err(Unadmitted::Ended));
    for other in LOOKALIKES {
        users.admit(&caller(other, 1)).await.expect("another user");
    }
    assert!(matches!(keys.create("ana", key()).await, Err(KeyError::UserEnded)));

    let later = caller("ana", ended + 1);
    users.admit(&later).await.expect("the provider let her sign in again");

    assert_eq!(users.admit(&before).await, Err(Unadmitted::Ended), "it does not revive");
    let ana = users.get("ana").await.expect("it is read").expect("she is known");
    assert!(!ana.is_ended() && ana.ended == Some(end), "{ana:?}");
    keys.create("ana", key()).await.expect("she may have keys again");
    // A process that starts now knows the same.
    let restarted = Users::open(database).await.expect("the database is there");
    assert_eq!(restarted.admit(&before).await, Err(Unadmitted::Ended));
    restarted.admit(&later).await.expect("she may");
}

#[tokio::test]
async fn whoever_is_in_the_middle_of_something_is_told_of_the_end_on_each_process() {
    let (_data, database, users) = users().await;
    let other_process = Users::open(database).await.expect("the database is there");
    let (ana, ben) = (caller("ana", now()), caller("ben", now()));
    assert!(!users.are_followed());
    let (mut here, mut there) =
        (Box::pin(users.until_ended(&ana)), Box::pin(other_process.until_ended(&ana)));
    let mut of_ben = Box::pin(users.until_ended(&ben));
    assert!((&mut here).now_or_never().is_none() && (&mut there).now_or_never().is_none());
    assert!((&mut of_ben).now_or_never().is_none());
    assert!(users.are_followed() && other_process.are_followed());

    users.end("ana", &Actor::user_only("olga")).await.expect("it ends");

    assert!(here.now_or_never().is_some());
    assert!((&mut there).now_or_never().is_none(), "it has not heard of it");
    other_process.catch_up(1).await.expect("it is read");
    assert!(there.now_or_never().is_some());
    assert!(of_ben.now_or_never().is_none(), "his goes on");
    assert_eq!(other_process.admit(&ana).await, Err(Unadmitted::Ended));
}

#[tokio::test]
async fn an_end_that_is_stored_takes_effect_whatever_fails_then() {
    let (_data, database, users) = users().await;
    let ana = caller("ana", now());
    users.admit(&ana).await.expect("she may");
    recorded(&users, "ana", |_| true).await;
    let changed = users.changed();
    // What the act writes last breaks whatever reads all ends.
    let broken = if database.is_exclusive() {
        "CREATE TRIGGER breaks AFTER INSERT ON audit BEGIN DELETE FROM registry; END"
    } else {
        "CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN DELETE FROM registry; RETURN NEW; END $$;
         CREATE TRIGGER breaks AFTER INSERT ON audit FOR EACH ROW EXECUTE FUNCTION breaks()"
    };
    database.execute(broken).await;

    users.end("ana", &Actor::user_only("olga")).await.expect("it ends");

    assert_eq!(users.admit(&ana).await, Err(Unadmitted::Ended));
    assert!(changed.has_changed().expect("it is there"));
    assert!(users.publish().await.is_err(), "it is broken");
}

#[tokio::test]
async fn the_time_of_an_end_never_moves_back() {
    let (_data, database, users) = users().await;
    let operator = Actor::user_only("olga");
    users.end("ana", &operator).await.expect("it ends");
    // Of a process whose clock is ahead.
    let ahead = now() + 3_600_000;
    database.execute(&format!("UPDATE users SET ended_at = {ahead}")).await;

    users.end("ana", &operator).await.expect("it has ended");

    let ended = database.column::<i64>("SELECT ended_at FROM users").await;
    assert_eq!(ended, [ahead]);
    assert_eq!(users.admit(&caller("ana", ahead)).await, Err(Unadmitted::Ended));
}

#[tokio::test]
async fn of_two_operators_who_end_each_other_one_does() {
    let (_data, _database, users) = users().await;
    let (ana, olga) = (Actor::user_only("ana"), Actor::user_only("olga"));

    let (first, second) = tokio::join!(users.end("ana", &olga), users.end("olga", &ana));

    let refused = [&first, &second].into_iter().filter(|end| matches!(end, Err(EndUserError::ActorEnded)));
    assert_eq!(refused.count(), 1, "{first:?} {second:?}");
    for id in ["", "a\0b", &"x".repeat(MAX_SUBJECT_BYTES + 1)] {
        assert!(matches!(users.end(id, &olga).await, Err(EndUserError::InvalidId)), "{id:?}");
    }
}

#[tokio::test]
async fn sign_ins_are_recorded_with_the_groups_of_the_last_one() {
    let (_data, _database, users) = users().await;
    let in_sales =
        |issued_at| Caller { groups: Groups::from_iter(["sales".to_owned()]), ..caller("ana", issued_at) };

    users.admit(&caller("ana", 1)).await.expect("she may");
    let first = recorded(&users, "ana", |_| true).await;
    users.admit(&in_sales(2)).await.expect("she may");
    let moved = recorded(&users, "ana", |sign_ins| sign_ins.groups.contains("sales")).await;

    assert_eq!((first.first, &first.groups), (first.last, &Groups::default()));
    assert_eq!(moved.first, first.first);
    assert_eq!(moved.groups, in_sales(2).groups);
    // An older token, and a key, do not count.
    users.admit(&caller("ana", 1)).await.expect("she may");
    users.admit(&Caller { profile: TokenProfile::Key, ..caller("ben", 1) }).await.expect("he may");
    users.admit(&caller("fay", 1)).await.expect("she may");
    recorded(&users, "fay", |_| true).await;
    assert_eq!(recorded(&users, "ana", |_| true).await, moved);
    let listed = users.list("", 10).await.expect("they are read");
    assert_eq!(listed.iter().map(|user| user.id.as_str()).collect::<Vec<_>>(), ["ana", "fay"]);
    assert_eq!(users.list("ana", 1).await.expect("they are read")[0].id, "fay");
}

#[tokio::test]
async fn a_key_or_session_that_is_made_while_its_user_is_ended_does_not_stay() {
    let (_data, database, users) = users().await;
    let keys = ProgramKeys::new(database.clone(), "local");
    let sessions =
        BrowserSessions::new(database.clone(), "local", SessionLifetime::of(Duration::from_hours(1)));
    let operator = Actor::user_only("olga");

    for round in 0..20 {
        let user = format!("user {round}");
        let start = Timestamp::now();
        let grant = |_: &str| Grant { expires_at: start, groups: Groups::default(), refresh_token: None };
        let making = async { tokio::join!(keys.create(&user, key()), sessions.begin(&user, "Browser")) };
        let (made, ended) = if round % 2 == 0 {
            let (ended, made) = tokio::join!(users.end(&user, &operator), making);
            (made, ended)
        } else {
            tokio::join!(making, users.end(&user, &operator))
        };
        ended.expect("it ends");
        assert!(matches!(made.0, Ok(_) | Err(KeyError::UserEnded)), "{:?}", made.0);
        // A sign-in at a provider that began before the end.
        let begun =
            sessions.begin_granted(&user, "Browser", start, grant).await.expect("the database is there");
        assert!(begun.is_none());

        let left = "SELECT (SELECT count(*) FROM program_keys) + (SELECT count(*) FROM browser_sessions)";
        assert_eq!(database.column::<i64>(left).await, [0], "round {round}");
        sleep(Duration::from_millis(2)).await;
        let now = Timestamp::now();
        let begun =
            sessions.begin_granted(&user, "Browser", now, grant).await.expect("the database is there");
        assert!(begun.is_some(), "a sign-in that began later");
        sessions.end_all(&user).await.expect("the database is there");
    }
}
