use super::*;

async fn keys() -> (tempfile::TempDir, Database, ProgramKeys) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(data.path()).await;
    let keys = ProgramKeys::new(database.clone(), "local");
    (data, database, keys)
}

fn named(name: &str) -> NewKey {
    NewKey { name: name.to_owned(), made_by: None, toolkits: None, expires_at: None }
}

#[tokio::test]
async fn a_key_is_its_users_until_it_is_revoked_and_the_database_does_not_have_it() {
    let (_data, database, keys) = keys().await;
    let toolkits = Some(BTreeSet::from(["notes".to_owned(), "weather".to_owned()]));
    let (key, made) = keys
        .create("ana", NewKey { toolkits: toolkits.clone(), ..named("report") })
        .await
        .expect("it is made");
    let key = key.expose_secret();
    assert!(key.starts_with("kbk_") && key.len() == 4 + 43, "{}", key.len());

    let caller = keys.caller(key).await.expect("it is good");
    assert_eq!((caller.user_id.as_str(), caller.profile), ("ana", TokenProfile::Key));
    assert_eq!(caller.toolkits.as_deref(), toolkits.as_ref());
    while keys.of_user("ana").await.expect("they are read")[0].used_at.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let stored: Vec<Vec<u8>> = database.column("SELECT digest FROM program_keys").await;
    assert_eq!(stored, [Sha256::digest(key).to_vec()]);

    assert!(!keys.revoke(&Actor::user_only("ben"), &made.id).await.expect("it is read"), "another user's");
    assert!(keys.caller(key).await.is_ok());
    assert!(keys.revoke(&Actor::user_only("ana"), &made.id).await.expect("it is read"));
    assert!(matches!(keys.caller(key).await, Err(AuthError::Invalid(_))));
}

#[tokio::test]
async fn a_key_that_has_expired_or_is_another_issuers_is_good_for_nothing() {
    let (_data, database, keys) = keys().await;
    let soon = Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let (expiring, _) =
        keys.create("ana", NewKey { expires_at: Some(soon), ..named("a") }).await.expect("it is made");
    let (other, _) = keys.create("ana", named("b")).await.expect("it is made");
    assert!(keys.caller(expiring.expose_secret()).await.is_ok());

    database.execute("UPDATE program_keys SET expires_at = 1 WHERE name = 'a'").await;
    database.execute("UPDATE program_keys SET issuer = 'https://other.example' WHERE name = 'b'").await;

    for key in [expiring.expose_secret(), other.expose_secret(), "kbk_", "kbk_AAAA"] {
        assert!(matches!(keys.caller(key).await, Err(AuthError::Invalid(_))), "{key}");
    }
    assert!(keys.of_user("ana").await.expect("they are read").is_empty());
    keys.create("ana", named("a")).await.expect("the name is free again");
}

#[tokio::test]
async fn names_are_taken_once_by_each_user_and_keys_are_bounded() {
    let (_data, _database, keys) = keys().await;
    keys.create("ana", named("report")).await.expect("it is made");
    assert!(matches!(keys.create("ana", named("report")).await, Err(KeyError::NameTaken(_))));
    keys.create("ben", named("report")).await.expect("it is another user");

    for n in 1..MAX_KEYS_OF_USER {
        keys.create("ana", named(&n.to_string())).await.expect("it is made");
    }
    assert!(matches!(keys.create("ana", named("more")).await, Err(KeyError::TooMany)));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let (_data, _database, keys) = keys().await;
    let of = |ids: &[&str]| Some(ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>());
    for new in [
        named(" "),
        named("a\nb"),
        named(&"x".repeat(101)),
        NewKey { toolkits: of(&[]), ..named("a") },
        NewKey { toolkits: of(&["a b"]), ..named("a") },
        NewKey { toolkits: of(&[""]), ..named("a") },
        NewKey { toolkits: of(&[&"x".repeat(129)]), ..named("a") },
        NewKey { expires_at: Some(Timestamp::UNIX_EPOCH), ..named("a") },
    ] {
        let refused = keys.create("ana", new.clone()).await;
        assert!(matches!(refused, Err(KeyError::Refused(_))), "{new:?}");
    }
}

#[tokio::test]
async fn keys_go_with_the_client_that_they_were_made_with() {
    let (_data, database, keys) = keys().await;
    let made_by = |client: &str| Some(client.to_owned());
    let (one, _) =
        keys.create("ana", NewKey { made_by: made_by("c"), ..named("a") }).await.expect("it is made");
    let (other, _) =
        keys.create("ana", NewKey { made_by: made_by("d"), ..named("b") }).await.expect("it is made");
    let (bens, _) =
        keys.create("ben", NewKey { made_by: made_by("c"), ..named("a") }).await.expect("it is made");

    let mut transaction =
        database.begin(kitbag_database::Scope::Sessions).await.expect("the database is there");
    revoke_keys_made_by(&mut transaction, "ana", "c").await.expect("they go");
    transaction.commit().await.expect("the database is there");

    assert!(keys.caller(one.expose_secret()).await.is_err());
    assert!(
        keys.caller(other.expose_secret()).await.is_ok() && keys.caller(bens.expose_secret()).await.is_ok()
    );
}

const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn a_key_lasts_no_longer_than_the_maximum_whenever_it_was_made() {
    let (_data, database, endless) = keys().await;
    let limits = KeyLimits { lifetime: Some(90 * DAY), without_sign_in: None };
    let keys = endless.clone().limited(limits);
    let until = |days: i64| Some(Timestamp::now() + jiff::SignedDuration::from_hours(24 * days));

    for expires_at in [None, until(91)] {
        let refused =
            keys.create("ana", NewKey { expires_at, ..named("a") }).await.expect_err("it is too long");
        assert!(matches!(refused, KeyError::TooLong(_)), "{refused:?}");
        for words in ["lasts 90 days at most", "setting key-lifetime", "choose a shorter time"] {
            assert!(refused.to_string().contains(words), "{refused}");
        }
    }
    keys.create("ana", NewKey { expires_at: until(90), ..named("b") }).await.expect("it is short enough");

    let (early, made) = endless.create("ana", named("early")).await.expect("there was no maximum");
    assert_eq!(made.expires_at, None);
    let listed = keys.of_user("ana").await.expect("they are read");
    let listed = listed.iter().find(|key| key.name == "early").expect("it is listed");
    assert_eq!(listed.expires_at, Some(made.created_at + jiff::SignedDuration::from_hours(24 * 90)));
    keys.caller(early.expose_secret()).await.expect("it is good");
    let made_before = |days: i64| {
        let at = Timestamp::now().as_millisecond() - days * 86_400_000;
        format!("UPDATE program_keys SET created_at = {at} WHERE name = 'early'")
    };
    database.execute(&made_before(89)).await;
    keys.caller(early.expose_secret()).await.expect("it is good for another day");
    database.execute(&made_before(91)).await;
    assert!(matches!(keys.caller(early.expose_secret()).await, Err(AuthError::Invalid(_))));
    assert!(keys.of_user("ana").await.expect("they are read").iter().all(|key| key.name != "early"));
    endless.caller(early.expose_secret()).await.expect("a server without a maximum takes it");
}

#[tokio::test]
async fn a_key_pauses_when_its_user_does_not_sign_in_and_goes_on_when_they_do() {
    let (_data, database, unlimited) = keys().await;
    let keys = unlimited.clone().limited(KeyLimits { lifetime: None, without_sign_in: Some(30 * DAY) });
    let ago = |days: i64| Timestamp::now().as_millisecond() - days * 86_400_000;
    let signed_in = async |user: &str, days: i64| {
        let at = ago(days);
        database
            .execute(&format!(
                "INSERT INTO users (user_id, first_seen_at, signed_in_at, groups) VALUES ('{user}', {at}, {at}, '[]')
                 ON CONFLICT (user_id) DO UPDATE SET signed_in_at = {at}"
            ))
            .await;
    };
    let (key, _) = keys.create("ana", named("a")).await.expect("it is made");
    let key = key.expose_secret();
    keys.caller(key).await.expect("whoever makes a key is signed in");

    database.execute(&format!("UPDATE program_keys SET created_at = {}", ago(60))).await;
    // Others sign in.
    for other in ["anabel", "an", "group:ana"] {
        signed_in(other, 0).await;
    }
    for last in [None, Some(31)] {
        if let Some(days) = last {
            signed_in("ana", days).await;
        }
        let refused = keys.caller(key).await.expect_err("it is paused");
        assert_eq!(refused, AuthError::KeyPaused(30 * DAY));
        for words in
            ["has not signed in for 30 days", "setting keys-without-sign-in", "as soon as they sign in"]
        {
            assert!(refused.to_string().contains(words), "{refused}");
        }
        let listed = keys.of_user("ana").await.expect("they are read");
        assert!(listed[0].pauses_at.is_some_and(|at| at < Timestamp::now()));
        unlimited.caller(key).await.expect("a server without the limit takes it");
    }

    signed_in("ana", 29).await;
    keys.caller(key).await.expect("she has signed in");
    let listed = keys.of_user("ana").await.expect("they are read");
    let pause = listed[0].pauses_at.expect("there is a limit").as_millisecond();
    let left = pause - Timestamp::now().as_millisecond();
    assert!((left - 86_400_000).abs() < 60_000, "a day: {left} ms");
    assert!(unlimited.of_user("ana").await.expect("they are read")[0].pauses_at.is_none());
}

#[test]
fn times_are_shown_in_their_largest_whole_unit() {
    for (seconds, shown) in [
        (90 * 86_400, "90 days"),
        (86_400, "1 day"),
        (36 * 3600, "36 hours"),
        (90, "90 seconds"),
        (120, "2 minutes"),
        (1, "1 second"),
        (0, "0 seconds"),
    ] {
        assert_eq!(shown_time(Duration::from_secs(seconds)), shown);
    }
}
