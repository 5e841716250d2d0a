//! What comes too late for a user who was ended.

use super::*;

#[tokio::test]
async fn nothing_that_comes_too_late_is_stored_for_a_user_who_was_ended() {
    let fixture = service().await;
    let una = fixture.user("una");
    let secret = una.secret("books", "KEY").expect("she sees it");
    let toolkit = una.toolkit("books").expect("she sees it");
    end(&fixture.user("ana"), "una", DocumentsFate::Bin).await.expect("she may");
    let before = rows(&fixture.database).await;
    let is_refused = |outcome: Result<(), String>| {
        let words = ["an operator has ended this user", "the access of the user was ended"];
        outcome.is_err_and(|error| words.iter().any(|words| error.contains(words)))
    };

    let own = una.documents().of(None).expect("her own");
    let ingested = own.ingest(vec![note("Late")]).await;
    let restored = own.restore(Chosen::All).await;
    let set = una.set_secret(&secret, &"a-secret-value".into()).await;
    let changed = toolkit.change_settings(&Map::from_iter([("unit".to_owned(), Value::from("late"))])).await;
    let hidden = una.hide("books", None).await;
    let about = Description { name: "Late".to_owned(), description: String::new() };
    let created = una.collections().create("late", &about).await;
    let stores = fixture.access.stores();
    let slot = CacheSlot { user: "una".into(), toolkit: "books".into(), owner: "ana".into() };
    let cached = stores.cache.set(&slot, "key", "late".into(), None).await;
    let claimed = stores.toolkits.asked_calls.claim("una", "late", 60).await;
    let allowed = stores.toolkits.code_tools.allow(&una.actor(), "books", "find").await;
    let renewed = stores.vault.begin_refresh("una", "books", "late", None).await;
    let account = Account {
        grants: Vec::new(),
        connected_at: 1,
        name: None,
        state: AccountState::Ended { reason: String::new() },
    };
    let slot = SecretSlot::account("una", "books", "ana");
    let connected = stores.vault.put_account(&una.actor(), slot, &account).await;

    for outcome in [
        ingested.map(drop).map_err(|it| it.to_string()),
        restored.map(drop).map_err(|it| it.to_string()),
        changed.map_err(|it| it.to_string()),
        created.map_err(|it| it.to_string()),
    ] {
        assert!(is_refused(outcome.clone()), "{outcome:?}");
    }
    assert!(set.is_err() && hidden.is_err() && cached.is_err() && claimed.is_err() && allowed.is_err());
    assert!(renewed.is_err() && connected.is_err());
    assert_eq!(rows(&fixture.database).await, before);
    // Whoever has signed in since is there again.
    fixture.database.execute("UPDATE users SET first_seen_at = 1, signed_in_at = ended_at + 1").await;
    own.ingest(vec![note("Back")]).await.expect("she is back");
}

#[tokio::test]
async fn an_ended_user_changes_no_document_of_others() {
    let fixture = service().await;
    let (una, fay) = (fixture.user("una"), fixture.user("fay"));
    let ours = una.documents().of(Some("handbook")).expect("she keeps it");
    let plans = una.documents().of(Some("plans")).expect("she keeps it");
    let page = |text: &str| NewDocument {
        url: Some("https://example.com/tides".to_owned()),
        ..NewDocument { text: Some(text.to_owned()), ..note("Tides") }
    };
    let of_fay = fay.documents().of(Some("handbook")).expect("she keeps it");
    let tides = of_fay.ingest(vec![page("ebb"), note("Binned")]).await.expect("stored");
    of_fay.ingest(vec![page("flood")]).await.expect("stored");
    of_fay.delete(Chosen::Ids(vec![tides[1].id.clone()])).await.expect("it is there");
    fixture.user("ana").operator().expect("she is one").users().end_access("una").await.expect("she may");
    let state =
        "SELECT title || holder || COALESCE(deleted_by, '') || changed_by FROM documents ORDER BY sequence";
    let before: Vec<String> = fixture.database.column(state).await;
    let stores = fixture.access.stores();
    let (collections, by) = (&stores.collections, una.actor());

    let documents = [
        ("delete", ours.delete(Chosen::All).await.map(drop)),
        ("restore", ours.restore(Chosen::All).await.map(drop)),
        ("purge", ours.purge(Chosen::All).await.map(drop)),
        ("move", ours.move_to(&plans, Chosen::All).await.map(drop)),
        ("restore a version", ours.restore_version(&tides[0].id, 1).await),
        ("purge a collection", stores.knowledge.purge_collection(collections, "plans", &by).await.map(drop)),
    ];
    let about = Description { name: "Late".to_owned(), description: String::new() };
    let of_collections = [
        ("describe", collections.describe("handbook", &about, &by).await),
        ("unshare", collections.unshare("handbook", &Subject::User("fay".to_owned()), &by).await),
        ("delete", collections.delete("handbook", &by).await),
    ];

    for (act, outcome) in documents {
        let refused = match &outcome {
            Err(
                KnowledgeError::Storage(cause) | KnowledgeError::Collection(CollectionError::Storage(cause)),
            ) => cause.is_user_ended(),
            _ => false,
        };
        assert!(refused, "{act}: {outcome:?}");
    }
    for (act, outcome) in of_collections {
        let refused = matches!(&outcome, Err(CollectionError::Storage(cause)) if cause.is_user_ended());
        assert!(refused, "{act} of a collection: {outcome:?}");
    }
    assert_eq!(fixture.database.column::<String>(state).await, before);
    // Whoever is not ended goes on.
    assert_eq!(of_fay.purge(Chosen::All).await.expect("she may"), 1);
}

#[tokio::test]
async fn what_is_not_committed_yet_when_a_user_is_ended_does_not_outlast_it() {
    let handbook = Holder::collection("handbook");
    let late = [
        (
            Scope::Collections,
            "INSERT INTO collection_grants (collection, user_id, group_name, role, shared_by, shared_at)
             VALUES ('late', 'una', '', 'reader', 'fay', 1)",
        ),
        (
            Scope::Secrets,
            "INSERT INTO secrets SELECT user_id, 'hers', name, master_key, wrapped_key, sealed, updated_at, overrides,
                 readable FROM secrets WHERE user_id = 'una' AND name = '@account'",
        ),
        (Scope::Holders(&[&handbook]), "UPDATE documents SET changed_by = 'una' WHERE title = 'Late'"),
        (Scope::Toolkits, "UPDATE toolkits SET owner = 'una' WHERE id = 'books'"),
    ];
    for (scope, statement) in late {
        let fixture = service().await;
        let fay = fixture.user("fay");
        let about = Description { name: "Late".to_owned(), description: String::new() };
        fay.collections().create("late", &about).await.expect("it is new");
        let ours = fay.documents().of(Some("handbook")).expect("she keeps it");
        ours.ingest(vec![note("Late")]).await.expect("stored");
        let mut writer = fixture.database.begin(scope).await.expect("it begins");
        refuse_ended(&mut writer, "una").await.expect("she is here");
        assert_eq!(sql(statement).execute(&mut writer).await.expect("it is written"), 1, "{statement}");

        let ana = fixture.user("ana");
        let ending = tokio::spawn(async move { end(&ana, "una", DocumentsFate::Erased).await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        writer.commit().await.expect("nothing contradicts it");
        let done = ending.await.expect("no panic").expect("she may");

        assert!(done.is_finished, "{done:?}");
        let left = mentions(&fixture.database).await;
        let listed: Vec<_> = AFTER_ERASURE.iter().map(|(column, _)| *column).collect();
        assert_eq!(left, listed, "{statement}");
    }
}

#[tokio::test]
async fn what_a_user_stores_while_they_are_ended_does_not_outlast_it() {
    let fixture = service().await;
    let una = fixture.user("una");
    let writers: Vec<_> = (0..8)
        .map(|nth| {
            let una = una.clone();
            tokio::spawn(async move {
                for round in 0.. {
                    let own = una.documents().of(None).expect("her own");
                    let stored = own.ingest(vec![note(&format!("{nth} {round}"))]).await;
                    let hidden = una.hide("books", Some(if round % 2 == 0 { "find" } else { "list" })).await;
                    if stored.is_err() && hidden.is_err() {
                        return round;
                    }
                }
                0
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;

    let done = end(&fixture.user("ana"), "una", DocumentsFate::Bin).await.expect("she may");

    let mut rounds = 0;
    for writer in writers {
        rounds += writer.await.expect("it ends");
    }
    assert!(done.is_finished && rounds > 0, "{done:?}");
    let after = rows(&fixture.database).await;
    for (column, fate) in AFTER_END.iter().filter(|(_, fate)| matches!(fate, Removed | Passed | Binned)) {
        assert_eq!(after.get(column).unwrap_or(&0), &0, "{column}: {fate:?}");
    }
}
