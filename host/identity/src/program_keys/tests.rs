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
