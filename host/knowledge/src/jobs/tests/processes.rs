//! Several processes that share jobs, and one that is suspended for too long.

use std::collections::HashSet;
use std::time::Instant;

use kitbag_database::{Database, sql};

use super::*;
use crate::document::Artifact;
use crate::document_file::DocumentFile;
use crate::store::tests::file;
use crate::store::{Failed, NewChunk, Read};

impl Context {
    /// Another process on the same database.
    async fn beside(&self) -> Self {
        let id = format!("process {}", now());
        let insert = sql("INSERT INTO processes (id, job_settings) VALUES ($1, '')").bind(&id);
        self.store.database().write(insert).await;
        Self { me: id.into(), ..self.clone() }
    }

    /// Makes the other processes assume that this one has ended.
    async fn is_given_up(&self) {
        let delete = sql("DELETE FROM processes WHERE id = $1").bind(&*self.me);
        self.store.database().write(delete).await;
    }

    async fn take_one(&self, kind: Kind) -> Job {
        let mut jobs = self.store.take(kind, &self.me, "", 1).await.expect("the database works");
        assert_eq!(jobs.len(), 1, "there is one");
        jobs.remove(0)
    }
}

fn chunk(text: &str) -> NewChunk {
    NewChunk { text: text.to_owned(), terms: Vec::new() }
}

/// Indexes documents until none are left. Returns their sequence numbers.
async fn work(context: Context) -> Vec<i64> {
    let mut done = Vec::new();
    let mut last_holder = String::new();
    loop {
        let jobs = context.take(Kind::Index, &last_holder, 64).await.expect("the database works");
        let Some(last) = jobs.last() else { return done };
        last.holder.key().clone_into(&mut last_holder);
        done.extend(jobs.iter().map(|job| job.document));
        // Lets the other process run between claiming and writing.
        tokio::task::yield_now().await;
        let documents: Vec<_> = jobs.into_iter().map(|job| (job, vec![chunk("a passage")])).collect();
        context.store.put_chunks(&documents, None).await.expect("the database works");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_share_all_jobs_and_none_is_done_twice() {
    let (context, _data) = context().await;
    for user in 0..20 {
        context.ingest(&format!("user{user:02}"), notes("n", 100)).await;
    }
    let other = context.beside().await;
    let (mine, others) = tokio::join!(tokio::spawn(work(context.clone())), tokio::spawn(work(other)));
    let mine = mine.expect("no panic");
    let others = others.expect("no panic");

    let distinct: HashSet<_> = mine.iter().chain(&others).collect();
    assert_eq!((mine.len() + others.len(), distinct.len()), (2_000, 2_000));
    assert!(!mine.is_empty() && !others.is_empty(), "{} and {}", mine.len(), others.len());
    assert_eq!(context.store.count("chunks").await, 2_000);
    assert_eq!(context.store.count("knowledge_jobs").await, 0);
}

/// Context that indexes due documents, with or without notifications from other processes.
async fn indexing_beside(context: &Context, hints: fn(&Database) -> Hints) -> (Context, JoinHandle<()>) {
    let wakes = Arc::new(Wakes::new(hints(context.store.database())));
    let other = Context { wakes, ..context.beside().await };
    let running = other.clone();
    let running = tokio::spawn(async move {
        let hearing = running.wakes.hear();
        tokio::join!(hearing, indexing::run(running.clone(), Splitter::new(None), None));
    });
    (other, running)
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_takes_jobs_of_another_one_at_once_and_without_hints_after_its_poll() {
    for (hints, at_most) in [(Hints::start as fn(&Database) -> Hints, 3), (|_| Hints::off(), 10)] {
        let (context, _data) = context().await;
        let (_other, running) = indexing_beside(&context, hints).await;
        // By now it waits for notifications.
        sleep(Duration::from_secs(1)).await;

        let me = Context { wakes: Arc::new(Wakes::new(hints(context.store.database()))), ..context.clone() };
        me.ingest("ana", notes("a", 3)).await;
        me.wakes.wake(Kind::Index);
        let begun = Instant::now();
        while context.store.count("knowledge_jobs").await > 0 {
            assert!(begun.elapsed() < Duration::from_secs(at_most), "{:?}", begun.elapsed());
            sleep(Duration::from_millis(20)).await;
        }

        assert_eq!(context.store.count("chunks").await, 3);
        running.abort();
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_hint_wakes_the_task_of_its_kind_alone() {
    let (context, _data) = context().await;
    let database = context.store.database();
    let one = Wakes::new(Hints::start(database));
    let other = Arc::new(Wakes::new(Hints::start(database)));
    let hearing = other.clone();
    let hearing = tokio::spawn(async move { hearing.hear().await });
    let patience = Duration::from_secs(20);
    for kind in [Kind::Capture, Kind::Index, Kind::Embed] {
        timeout(patience, other.of(kind).notified())
            .await
            .expect("what was missed before it listened counts");
    }

    one.wake(Kind::Index);
    timeout(patience, other.index.notified()).await.expect("it hears of it");

    for kind in [Kind::Capture, Kind::Embed] {
        assert!(timeout(Duration::from_millis(50), other.of(kind).notified()).await.is_err(), "{kind:?}");
    }
    hearing.abort();
}

#[tokio::test]
async fn what_a_process_has_taken_is_free_once_it_has_gone_and_no_sooner() {
    let (context, _data) = context().await;
    context.ingest("ana", notes("a", 3)).await;
    let other = context.beside().await;
    let taken = context.store.take(Kind::Index, &context.me, "", 9).await.expect("the database works");
    assert_eq!(taken.len(), 3);
    assert!(other.store.take(Kind::Index, &other.me, "", 9).await.expect("the database works").is_empty());
    assert_eq!(other.store.next_due(Kind::Index, 0).await.expect("the database works"), None);

    context.is_given_up().await;

    assert_eq!(other.store.take(Kind::Index, &other.me, "", 9).await.expect("the database works").len(), 3);
}

#[tokio::test]
async fn a_process_that_was_given_up_takes_nothing() {
    let (context, _data) = context().await;
    context.ingest("ana", notes("a", 1)).await;
    context.ingest("ana", vec![file("Talk", "https://a.example/talk.mp3")]).await;
    let mut capture = context.store.due(Kind::Capture, "", 1).await.expect("the database works").remove(0);
    context.is_given_up().await;

    assert!(context.store.take(Kind::Index, &context.me, "", 9).await.is_err());
    assert!(context.store.begin_try(Kind::Capture, &mut capture, &context.me).await.is_err());

    assert_eq!(context.store.count("knowledge_jobs WHERE taken_by IS NOT NULL OR tries > 0").await, 0);
}

#[tokio::test]
async fn a_capture_is_begun_by_one_of_those_who_see_it() {
    let (context, _data) = context().await;
    context.ingest("ana", vec![file("Talk", "https://a.example/talk.mp3")]).await;
    let other = context.beside().await;
    let seen = context.store.due(Kind::Capture, "", 1).await.expect("the database works").remove(0);
    let begin = async |context: &Context| {
        let begun = context.store.begin_try(Kind::Capture, &mut seen.clone(), &context.me).await;
        begun.expect("the database works")
    };

    let (first, second) = tokio::join!(begin(&context), begin(&other));

    assert!(first ^ second, "{first} and {second}");
    assert_eq!(context.store.count("knowledge_jobs WHERE tries = 1").await, 1);
}

/// All state that a job can change.
async fn state(context: &Context) -> Vec<String> {
    let mut state = Vec::new();
    for lines in [
        "SELECT sequence || ' ' || state || ' ' || title || ' ' || revision || ' ' || COALESCE(captured, '-') || ' '
             || COALESCE(artifact, '-') || ' ' || COALESCE(reason, '-') FROM documents ORDER BY sequence",
        "SELECT document || ' ' || kind || ' ' || tries || ' ' || COALESCE(taken_by, '-') FROM knowledge_jobs
             ORDER BY document",
        "SELECT id || ' ' || document || ' ' || COALESCE(model, '-') FROM chunks ORDER BY id",
    ] {
        state.extend(context.store.database().column::<String>(lines).await);
    }
    state
}

#[tokio::test]
async fn a_process_that_slept_through_its_lease_writes_nothing() {
    let (sleeper, _data) = context().await;
    sleeper.ingest("ana", notes("a", 4)).await;
    sleeper.ingest("ben", vec![file("Talk", "https://a.example/talk.mp3")]).await;
    // One document waits for its embedding, with a chunk.
    let embedded = sleeper.take_one(Kind::Index).await;
    let indexed = vec![(embedded, vec![chunk("to be embedded")])];
    sleeper.store.put_chunks(&indexed, Some(Kind::Embed)).await.expect("the database works");
    let index = sleeper.store.take(Kind::Index, &sleeper.me, "", 9).await.expect("the database works");
    let embed = sleeper.take_one(Kind::Embed).await;
    let mut capture = sleeper.store.due(Kind::Capture, "", 1).await.expect("the database works").remove(0);
    assert!(
        sleeper.store.begin_try(Kind::Capture, &mut capture, &sleeper.me).await.expect("the database works")
    );
    let chunk_of_it: i64 = sleeper.store.database().column("SELECT id FROM chunks").await[0];

    sleeper.is_given_up().await;
    let other = sleeper.beside().await;
    let theirs = other.store.take(Kind::Index, &other.me, "", 9).await.expect("the database works");
    assert_eq!(theirs.len(), 3);
    let before = state(&sleeper).await;

    let store = &sleeper.store;
    let chunks = index[..1].iter().map(|job| (job.clone(), vec![chunk("too late")])).collect::<Vec<_>>();
    store.put_chunks(&chunks, None).await.expect("the database works");
    store
        .put_vectors(MODEL, &[(embed.clone(), vec![(chunk_of_it, vec![1.0])])])
        .await
        .expect("the database works");
    let pdf = Artifact { digest: "d".repeat(64), size: 3, media_type: "application/pdf".to_owned() };
    let pdf = DocumentFile::of_document(pdf);
    let kept = store.keep_captured(&capture, &pdf, &Read::titled("Too late", "too late")).await;
    assert_eq!(kept.expect("the database works"), Ok(false));
    assert!(!store.put_off_capture(&capture, Some(&pdf), 0).await.expect("the database works"));
    for (kind, job) in [(Kind::Index, &index[1]), (Kind::Embed, &embed), (Kind::Capture, &capture)] {
        store.put_off(kind, &[(job.clone(), 7)], 0).await.expect("the database works");
        let failed = Failed { reason: "too late", file: Some(&pdf), ..Failed::default() };
        assert!(!store.give_up(kind, job, failed).await.expect("the database works"), "{kind:?}");
    }
    store.give_back(Kind::Index, &sleeper.me, &[], 0).await.expect("the database works");

    assert_eq!(state(&sleeper).await, before);
    let chunks: Vec<_> = theirs.into_iter().map(|job| (job, vec![chunk("in time")])).collect();
    other.store.put_chunks(&chunks, None).await.expect("the database works");
    assert_eq!(other.store.count("chunk_texts WHERE text = 'in time'").await, 3);
}

#[tokio::test]
async fn an_update_takes_the_job_from_whoever_does_it() {
    let (context, _data) = context().await;
    context.ingest("ana", vec![page("A", "https://a.example/", "old")]).await;
    let other = context.beside().await;
    let old = context.take_one(Kind::Index).await;

    context.ingest("ana", vec![page("A", "https://a.example/", "new")]).await;
    let new = other.take_one(Kind::Index).await;
    context.store.put_chunks(&[(old, vec![chunk("old")])], None).await.expect("the database works");
    other.store.put_chunks(&[(new, vec![chunk("new")])], None).await.expect("the database works");

    let texts: Vec<String> = context.store.database().column("SELECT text FROM chunk_texts").await;
    assert_eq!(texts, ["new"]);
}

#[tokio::test]
async fn what_a_round_has_left_is_done_in_the_next_one() {
    let (context, _data) = context().await;
    context.ingest("ana", notes("a", 5)).await;
    context.store.take(Kind::Index, &context.me, "", 9).await.expect("the database works");

    assert_eq!(context.index(None).await, 5);

    assert_eq!(context.store.count("knowledge_jobs").await, 0);
}
