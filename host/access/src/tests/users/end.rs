//! What the end of a user does with each table, to its end also after a crash.

use super::*;

#[tokio::test]
async fn each_column_that_names_a_user_has_its_fate() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::open(folder.path()).await.expect("a database");

    for table in kitbag_database::TABLES {
        let holder: &[&str] = if table.has_holders { &["holder"] } else { &[] };
        for column in table.users.iter().chain(holder) {
            let column = format!("{}.{column}", table.name);
            assert!(AFTER_END.iter().any(|(name, _)| *name == column), "{column}");
        }
    }
    let listed: Vec<_> = AFTER_END.iter().map(|(column, _)| (*column).to_owned()).collect();
    assert_eq!(listed, database.column::<String>(NAMING).await, "what does the end of a user do with it?");
    for (column, fate) in AFTER_END {
        assert!(!matches!(fate, Stays("")), "{column}");
    }
}

#[tokio::test]
async fn the_end_of_a_user_does_with_each_table_what_the_list_says() {
    let fixture = service().await;
    let before = rows(&fixture.database).await;
    let ana = fixture.user("ana");

    let done = end(&ana, "una", DocumentsFate::Bin).await.expect("she may");

    assert!(done.is_finished, "{done:?}");
    let after = rows(&fixture.database).await;
    for (column, fate) in AFTER_END {
        let (Some(&before), Some(&after)) = (before.get(column), after.get(column)) else { continue };
        match fate {
            Removed | Passed => assert!(before > 0 && after == 0, "{column}: {before}, then {after}"),
            // Jobs may have ended, and feeds and passages are none here.
            Binned => assert_eq!(after, 0, "{column}"),
            // Her own membership has gone, and those that she gave stay.
            Stays(_)
                if ["users.user_id", "toolkit_ownership.owner_before", "collection_grants.shared_by"]
                    .contains(column) =>
            {
                assert!(after > 0, "{column}");
            }
            // Counts of changes, which the end itself makes, too.
            Stays(_) if *fate == NUMBER => assert!(after >= before, "{column}"),
            Stays(_) => assert_eq!(after, before, "{column}"),
        }
    }
    let clients = u64::from(fixture.database.is_file());
    assert_eq!((done.keys, done.sessions, done.clients, done.accounts), (1, 1, clients, 1));
    assert_eq!((done.secrets, done.cached, done.documents), (1, 1, 2));
    assert_eq!(done.toolkits, ["hers"]);
    assert_eq!(
        (done.collections, done.passed_collections),
        (vec!["handbook".into(), "plans".into()], vec!["plans".into()])
    );
    assert_eq!(done.not_revoked, [""; 0], "an account that had ended needs no revocation");
    assert_eq!(done.forgotten.settings + done.forgotten.hidden_tools + done.forgotten.code_tools, 3);
    let usage = fixture.access.stores().knowledge.usage(&Holder::user("una")).await.expect("it is counted").0;
    assert_eq!(usage.documents, 3, "they are in the bin");

    let again = end(&ana, "una", DocumentsFate::Bin).await.expect("she may");
    assert_eq!(again, UserEnd { is_finished: true, ..UserEnd::default() }, "nothing is left");
    let acts: Vec<String> = fixture
        .database
        .column("SELECT act FROM audit WHERE affected = 'una' AND act LIKE 'user.%' ORDER BY id")
        .await;
    assert_eq!(acts, ["user.ended", "user.cleared"], "the second time records nothing");
}

#[tokio::test]
async fn a_toolkit_passes_on_with_everything_that_its_users_have_given_it() {
    let fixture = service().await;
    let fay = fixture.user("fay");
    let before = fay.toolkit("hers").expect("she sees it").consent().await.expect("it can be read");
    assert!(before.agreed_version.is_some(), "she has agreed by giving something");

    end(&fixture.user("ana"), "una", DocumentsFate::Bin).await.expect("she may");

    let toolkit = fay.toolkit("hers").expect("she still sees it");
    assert_eq!(toolkit.owner(), "ana");
    assert_eq!(toolkit.live().taken_over.as_ref().map(|it| it.from.as_str()), Some("una"), "users see it");
    assert!(fay.stored_for("hers").secrets().await.expect("they can be read")[0].set);
    let settings = toolkit.settings().await.expect("they can be read");
    assert!(format!("{settings:?}").contains("metric"), "{settings:?}");
    let after = toolkit.consent().await.expect("it can be read");
    assert_eq!((after.waiting, after.agreed_version), (false, before.agreed_version));
    let event: Vec<String> =
        fixture.database.column("SELECT event FROM toolkit_ownership WHERE toolkit_id = 'hers'").await;
    assert_eq!(event, ["passed"]);
    // A take-over from then on clears, as ever.
    let taken = fixture.user("ben").operator().expect("he is one").take_over("hers").await.expect("he may");
    assert_eq!((taken.from.as_str(), taken.removed_secrets), ("ana", 1));
}

#[tokio::test]
async fn the_last_grant_of_a_shared_toolkit_does_not_open_it_to_everyone() {
    let fixture =
        Fixture::with(&[("books".to_owned(), "shared", "ana"), ("mine".to_owned(), "shared", "una")]).await;
    let ana = fixture.user("ana");
    for id in ["books", "mine"] {
        let operator = ana.operator().expect("she is one");
        operator
            .audiences()
            .share(id, vec![audience::grant(json!({ "user": "una", "tool": "find" }))])
            .await
            .expect("shared");
    }
    assert!(fixture.user("eve").toolkit("books").is_err());

    let done = end(&fixture.user("ben"), "una", DocumentsFate::Bin).await.expect("he may");

    assert_eq!(done.forgotten.grants, 2);
    assert!(fixture.user("eve").toolkit("books").is_err() && fixture.user("eve").toolkit("mine").is_err());
    assert!(ana.toolkit("books").is_ok(), "its owner");
    assert!(fixture.user("ben").toolkit("mine").is_ok(), "it passed to him");
}

#[tokio::test]
async fn documents_move_to_a_collection_with_ids_and_attribution_and_leave_out_what_is_there() {
    let fixture = service().await;
    let fay = fixture.user("fay");
    let handbook = fay.documents().of(Some("handbook")).expect("she keeps it");
    let there = handbook.ingest(vec![note("Two")]).await.expect("stored").remove(0).id;
    let una = fixture.user("una").documents().of(None).expect("her own");
    let own = una.list(&Listing { limit: 10, ..Listing::default() }).await.expect("they can be listed");
    let id_of = |title: &str| {
        let found = own.documents.iter().find(|(_, it)| it.title == title);
        found.expect("it is there").1.id.clone()
    };
    let ana = fixture.user("ana");
    let nowhere = end(&ana, "una", DocumentsFate::Collection("nowhere".to_owned())).await;
    assert!(matches!(nowhere, Err(AccessError::Collection(_))), "{nowhere:?}");
    assert!(
        fixture.database.column::<String>("SELECT user_id FROM users WHERE ended_at > 0").await.is_empty()
    );

    let done = end(&ana, "una", DocumentsFate::Collection("handbook".to_owned())).await.expect("she may");

    assert_eq!((done.moved, done.documents), (1, 1), "one moved, and one is in the bin");
    assert_eq!(done.conflicts.len(), 1);
    assert_eq!((&done.conflicts[0].id, &done.conflicts[0].existing), (&id_of("Two"), &Some(there)));
    let moved = fay.documents().summary(&id_of("One")).await.expect("fay reads it now");
    assert_eq!((moved.holder, moved.added_by.as_str()), (Holder::collection("handbook"), "una"));
}

#[tokio::test]
async fn an_erasure_leaves_neither_documents_nor_records() {
    let fixture = service().await;
    let before = mentions(&fixture.database).await;
    for (column, fate) in AFTER_END {
        // There are no feeds here, and jobs may have ended.
        let is_without = [
            "chunks.holder",
            "feeds.holder",
            "knowledge_jobs.holder",
            "knowledge_jobs.taken_by",
            "users.ended_by",
        ];
        let is_missing = !fixture.database.is_file() && column.starts_with("oauth_grants.");
        let named = before.iter().any(|it| it == column) || is_without.contains(column) || is_missing;
        assert!(named || matches!(fate, Stays(_)), "{column} in {before:?}");
    }

    let done = end(&fixture.user("ana"), "una", DocumentsFate::Erased).await.expect("she may");

    assert!(done.is_finished && done.mentions > 0, "{done:?}");
    assert_eq!((done.documents, done.records), (3, 1), "the bin, too");
    for (table, column) in [("documents", "holder"), ("chunks", "holder"), ("knowledge_jobs", "holder")] {
        let left = format!("SELECT COUNT(*) FROM {table} WHERE {column} LIKE '%user:una'");
        assert_eq!(fixture.database.column::<i64>(&left).await, [0], "{table}");
    }
    let records = "SELECT (SELECT COUNT(*) FROM invocations) + (SELECT COUNT(*) FROM toolkit_users)";
    assert_eq!(fixture.database.column::<i64>(records).await, [0]);
    let ours = fixture.database.column::<String>("SELECT added_by FROM documents").await;
    assert_eq!(ours, ["(erased)"], "what she has added to a collection stays, without her name");
    let left = mentions(&fixture.database).await;
    let listed: Vec<_> = AFTER_ERASURE.iter().map(|(column, _)| *column).collect();
    assert_eq!(left, listed, "what else names a user who was erased?");
    let again = end(&fixture.user("ben"), "una", DocumentsFate::Erased).await.expect("he may");
    assert_eq!(again, UserEnd { is_finished: true, ..UserEnd::default() }, "nothing is left");
    let shown = fixture.user("fay").toolkit("hers").expect("she sees it");
    assert_eq!(shown.live().taken_over.as_ref().map(|it| it.from.as_str()), Some("(erased)"));
    let collections = fixture.access.stores().collections.directory();
    assert_eq!(collections.get("plans").expect("it is there").created_by, "(erased)");
}

#[tokio::test]
async fn an_end_and_an_erasure_can_follow_each_other_and_a_crash_after_each_step() {
    for fate in [DocumentsFate::Bin, DocumentsFate::Collection("handbook".to_owned()), DocumentsFate::Erased]
    {
        for steps in 0..=crate::users::STEPS {
            let fixture = service().await;
            let ben = fixture.user("ben").operator().expect("he is one");
            let crashed = ben.users().end_until_crash("una", fate.clone(), steps).await.expect("he may");
            assert!(crashed.is_finished, "of these steps");

            let done = end(&fixture.user("ana"), "una", fate.clone()).await.expect("she may");

            assert!(done.is_finished, "{fate:?} after {steps}: {done:?}");
            let after = rows(&fixture.database).await;
            for (column, _) in AFTER_END.iter().filter(|(_, it)| matches!(it, Removed | Passed | Binned)) {
                assert_eq!(after.get(column).unwrap_or(&0), &0, "{fate:?} after {steps}: {column}");
            }
            end(&fixture.user("ana"), "una", DocumentsFate::Erased).await.expect("she may");
            let left = mentions(&fixture.database).await;
            let allowed = |column: &String| AFTER_ERASURE.iter().any(|(name, _)| name == column);
            assert!(left.iter().all(allowed), "{fate:?} after {steps}: {left:?}");
        }
    }
}

#[tokio::test]
async fn an_end_that_was_interrupted_is_finished_by_the_next_one() {
    let fixture = service().await;
    let ana = fixture.user("ana");
    let stores = fixture.access.stores();
    // As a crash leaves it: some steps are done, and one of them half.
    stores.users.end("una", &ana.actor()).await.expect("it is ended");
    stores.vault.unset(&ana.actor(), "una", "books", "KEY").await.expect("it is there");
    stores.toolkits.leaving.pass_toolkits("una", &ana.actor()).await.expect("it passes");

    let done = end(&ana, "una", DocumentsFate::Bin).await.expect("she may");

    assert!(done.is_finished && done.keys == 0 && done.secrets == 0 && done.toolkits.is_empty(), "{done:?}");
    let after = rows(&fixture.database).await;
    for (column, _) in AFTER_END.iter().filter(|(_, fate)| matches!(fate, Removed | Passed | Binned)) {
        assert_eq!(after.get(column).unwrap_or(&0), &0, "{column}");
    }
}

#[tokio::test]
async fn of_two_operators_who_end_each_other_one_stays() {
    for _ in 0..5 {
        let fixture =
            Fixture::with(&[("anas".to_owned(), "private", "ana"), ("bens".to_owned(), "private", "ben")])
                .await;
        let (ana, ben) = (fixture.user("ana"), fixture.user("ben"));

        let (by_ana, by_ben) =
            tokio::join!(end(&ana, "ben", DocumentsFate::Bin), end(&ben, "ana", DocumentsFate::Bin));

        let owners: Vec<String> = fixture.database.column("SELECT DISTINCT owner FROM toolkits").await;
        match (by_ana, by_ben) {
            (Ok(_), Err(AccessError::UserEnd(EndUserError::ActorEnded))) => assert_eq!(owners, ["ana"]),
            (Err(AccessError::UserEnd(EndUserError::ActorEnded)), Ok(_)) => assert_eq!(owners, ["ben"]),
            both => panic!("{both:?}"),
        }
    }
}

#[tokio::test]
async fn who_is_only_mentioned_can_be_erased() {
    let fixture = service().await;
    fixture.database.execute("UPDATE documents SET added_by = 'zoe' WHERE title = 'Ours'").await;
    let ana = fixture.user("ana");

    let done = end(&ana, "zoe", DocumentsFate::Erased).await.expect("she may");

    assert!(done.is_finished && done.mentions == 1, "{done:?}");
    let left = fixture.database.column::<i64>("SELECT COUNT(*) FROM documents WHERE added_by = 'zoe'").await;
    assert_eq!(left, [0]);
    // Each column whose rows stay, with the user's id, counts as a mention.
    let mut columns: Vec<_> = crate::users::MENTIONS
        .iter()
        .flat_map(|(table, columns)| columns.iter().map(move |column| format!("{table}.{column}")))
        .filter(|column| column != "consents.owner")
        .collect();
    // Gone with the records.
    columns.extend(["running_calls.user_id".to_owned(), "toolkit_users.user_id".to_owned()]);
    columns.sort();
    let stays = AFTER_END.iter().filter(|(_, fate)| [ATTRIBUTION, HISTORY, RECORDS].contains(fate));
    assert_eq!(columns, stays.map(|(column, _)| (*column).to_owned()).collect::<Vec<_>>());
}
