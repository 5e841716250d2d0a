//! A guest on a thread without processor time does not block others, nor does a user who searches
//! continuously.

use std::num::NonZero;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle, available_parallelism};

use futures::future::join_all;
use futures::{FutureExt as _, poll};
use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::Scope;
use super::library::{Library, note, query};
use crate::{Holder, KnowledgeError, Origin};

/// Far longer than the database takes.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(10);

/// Thread that has stopped in the middle of a request.
struct Starved {
    go_on: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Starved {
    /// Polls `asked` until `has` returns true, and no further.
    fn once_it(has: impl Fn() -> bool + Send + 'static, asked: impl Future + Send + 'static) -> Self {
        let (go_on, going_on) = mpsc::channel();
        let (stops, stopped) = mpsc::channel();
        let drive = async move {
            let mut asked = pin!(asked);
            while poll!(&mut asked).is_pending() && !has() {
                yield_now().await;
            }
            stops.send(()).expect("the test waits");
            going_on.recv().expect("the test goes on");
        };
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let thread = thread::spawn(move || runtime.block_on(drive));
        stopped.recv().expect("it stops or ends");
        Self { go_on, thread }
    }

    fn end(self) {
        self.go_on.send(()).expect("the thread waits");
        self.thread.join().expect("no panic");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_guest_that_stops_in_the_middle_of_an_ingest_keeps_nobody_from_writing() {
    let library = Library::without_model().await;
    let of = |user: &str| Origin::own(user, "user");
    let knowledge = library.knowledge.clone();
    let ana = of("ana");
    let documents = (0..500).map(|number| note("A", &format!("text {number}"))).collect();

    let database = library.database.clone();
    let has_writer = move || database.is_being_written();
    let asked = async move { knowledge.ingest(&ana, documents).await.map(drop) };
    let starved = Starved::once_it(has_writer, asked);
    let of_ben = timeout(DEADLINE, library.knowledge.ingest(&of("ben"), vec![note("B", "b")])).await;

    starved.end();
    of_ben.expect("ben waits for a thread that does nothing").expect("it is stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn guests_that_stop_in_the_middle_of_reading_keep_nobody_from_reading() {
    let library = Library::without_model().await;
    let [id] = library.add("ana", [note("A", &"a".repeat(1 << 20))]).await;
    let knowledge = library.knowledge.clone();
    let wanted = id.clone();

    let database = library.database.clone();
    let have_readers = move || database.are_readers_taken();
    let asked = async move {
        let search = async || knowledge.search("ana", vec![Holder::user("ana")], &query("a")).await.map(drop);
        let read = async || knowledge.document(vec![Holder::user("ana")], &wanted).await.map(drop);
        let searches = join_all((0..8).map(|_| search()));
        let all = futures::future::join(searches, join_all((0..8).map(|_| read()))).await;
        all.0.into_iter().chain(all.1).collect::<Result<(), KnowledgeError>>()
    };
    let starved = Starved::once_it(have_readers, asked);
    let of_ana = timeout(DEADLINE, library.knowledge.document(vec![Holder::user("ana")], &id)).await;

    starved.end();
    of_ana.expect("another request waits for a thread that does nothing").expect("it can be read");
}

#[tokio::test]
async fn a_search_waits_for_one_turn_of_each_other_user_however_many_searches_they_have() {
    let library = Library::without_model().await;
    let search = library.search();
    let indexes = vec![search.indexes.one("ana").await];
    let cores = available_parallelism().map_or(1, NonZero::get);
    let (mut end, running): (Vec<_>, Vec<_>) = (0..cores).map(|_| mpsc::channel::<()>()).unzip();
    let mut running: Vec<_> = (0..)
        .zip(running)
        .map(|(number, ended)| {
            let user = format!("user {number}");
            let indexes = indexes.clone();
            Box::pin(async move {
                let scope = Scope { user: &user, holders: &[], indexes };
                search.compute(&scope, move |_| ended.recv().is_err()).await
            })
        })
        .collect();
    for search in &mut running {
        assert!(search.now_or_never().is_none(), "it computes");
    }
    let done = Arc::new(Mutex::new(Vec::new()));
    let note = |user: &'static str| {
        let done = done.clone();
        let indexes = indexes.clone();
        Box::pin(async move {
            let scope = Scope { user, holders: &[], indexes };
            search.compute(&scope, move |_| done.lock().expect("no panic").push(user)).await;
        })
    };
    let mut waiting: Vec<_> = (0..50).map(|_| note("ana")).chain([note("ben")]).collect();
    for search in &mut waiting {
        assert!(search.now_or_never().is_none(), "all turns are taken");
    }

    // Frees only one turn: parallel threads may finish in another order than they started.
    drop(end.pop());
    running.pop().expect("there is a core").await;
    join_all(waiting).await;
    drop(end);
    join_all(running).await;

    let done = done.lock().expect("no panic");
    let of_ben = done.iter().position(|user| *user == "ben").expect("he was served");
    assert!(of_ben <= 1, "{of_ben} of ana's came first");
}
