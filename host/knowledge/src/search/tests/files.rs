//! Indexes that are loaded from files.

use std::fs;
use std::path::PathBuf;

use kitbag_base::private_file;
use kitbag_base::sha256::Sha256;
use kitbag_database::Database;
use tokio::time::sleep;

use super::*;
use crate::embedding::tiny_model;

impl Library {
    pub(super) fn file_of(&self, user: &str) -> PathBuf {
        self.path().join("search").join(hex::encode(Sha256::digest(Holder::user(user).key())))
    }

    /// Searches until the user's file is up to date with the database.
    pub(super) async fn write_file(&self, user: &str) {
        let now = self.knowledge.0.store.revision(&Holder::user(user)).await.expect("the database works");
        let revision = serde_json::to_string(&now).expect("numbers are valid in JSON");
        let has_it = |file: Vec<u8>| String::from_utf8_lossy(&file).contains(&revision);
        while !fs::read(self.file_of(user)).is_ok_and(has_it) {
            self.find(user, "wing").await;
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Overwrites words and vectors in the database, so that only a file has the valid ones.
    async fn spoil_rows(&self) {
        self.database.write(sql("UPDATE chunks SET terms = $1, vector = $1").bind(vec![1_u8])).await;
    }

    /// Replaces the user's file, as another program with write access to the data directory could. The server
    /// may have mapped the previous file, whose bytes must not change.
    fn replace_file(&self, user: &str, bytes: &[u8]) {
        private_file::replace(&self.file_of(user), bytes).expect("it is ours");
    }

    /// Number of chunks in the user's index.
    async fn chunks(&self, user: &str) -> usize {
        self.search().indexes.one(user).await.read().len()
    }
}

fn notes(count: usize) -> Vec<NewDocument> {
    let text = |n: usize| format!("wing {n} flow {} heat {}", "moon ".repeat(n % 7), "cat ".repeat(n % 5));
    (0..count).map(|n| note(&format!("{n}"), &text(n))).collect()
}

fn wings() -> [NewDocument; 3] {
    ["A", "B", "C"].map(|title| note(title, &format!("wing {title}")))
}

/// Titles and scores of the results of some queries.
async fn rankings(library: &Library) -> Vec<(String, f64)> {
    let mut rankings = Vec::new();
    for text in ["moon cat", "heat", "flow of wings", "17", "dog"] {
        let all = Query { limit: 50, ..query(text) };
        let found = library.found("ana", &all).await;
        rankings.extend(found.hits.into_iter().map(|hit| (hit.document.title, hit.score)));
    }
    rankings
}

#[tokio::test]
async fn an_index_from_its_file_ranks_as_the_one_from_the_database() {
    let library = Library::with_files(Some(tiny_embedder().await)).await;
    let ids = library.add_from("user", "ana", notes(120)).await;
    library.find("ana", "wing").await;
    for id in ids.iter().step_by(9) {
        library.remove("ana", id).await;
    }
    library.write_file("ana").await;
    let expected = rankings(&library).await;
    assert!(expected.len() > 100);

    library.spoil_rows().await;
    library.search().indexes.let_go();
    assert_eq!(rankings(&library).await, expected);

    let embedder = library.embedder.clone();
    let library = library.restarted(embedder, MEMORY).await;
    assert_eq!(rankings(&library).await, expected, "after a restart, too");
}

#[tokio::test]
async fn what_has_changed_since_the_file_is_read_from_the_database() {
    let library = Library::with_files(None).await;
    let at = |text: &str| NewDocument { url: Some("https://a.example/".to_owned()), ..note("Page", text) };
    let ids = library.add("ana", [note("Wings", "wing"), note("Lift", "lift"), note("Moon", "moon")]).await;
    library.add("ana", [at("about the slipstream")]).await;
    library.write_file("ana").await;
    library.spoil_rows().await;

    library.remove("ana", &ids[1]).await;
    library.add("ana", [at("about a cat"), note("Dog", "dog")]).await;
    library.search().indexes.let_go();

    assert_eq!(library.find("ana", "wing").await, ["Wings"], "from the file");
    assert_eq!(library.find("ana", "dog").await, ["Dog"]);
    assert_eq!(library.find("ana", "cat").await, ["Page"]);
    assert_eq!(library.find("ana", "slipstream").await, [""; 0]);
    assert_eq!(library.find("ana", "lift").await, [""; 0]);
    assert_eq!(library.chunks("ana").await, 4);
}

#[tokio::test]
async fn what_was_removed_is_in_no_file_once_the_server_has_stopped() {
    let mut library = Library::with_files(None).await;
    let [id, _, _] =
        library.add("ana", [note("Lift", "lift"), note("Wings", "wing"), note("Moon", "moon")]).await;
    library.write_file("ana").await;
    library.add("ben", wings()).await;
    library.write_file("ben").await;
    let of_ana = library.file_of("ana");
    let of_ben = library.file_of("ben");

    library.remove("ana", &id).await;
    library = library.restarted(None, MEMORY).await;

    assert!(!of_ana.exists() && of_ben.exists());
    assert_eq!(library.find("ana", "lift").await, [""; 0]);
    assert_eq!(library.find("ana", "wing").await, ["Wings"]);
}

#[tokio::test]
async fn the_file_of_a_user_with_few_documents_goes_at_the_next_search() {
    let library = Library::with_files(None).await;
    let ids = library.add("ana", wings()).await;
    library.write_file("ana").await;

    for id in ids {
        library.remove("ana", &id).await;
    }

    while library.file_of("ana").exists() {
        // A file that was being written is deleted by a later search.
        assert_eq!(library.find("ana", "wing").await, [""; 0]);
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_index_is_written_again_once_a_tenth_of_it_has_changed() {
    let library = Library::with_files(None).await;
    library.add_from("user", "ana", notes(20)).await;
    library.write_file("ana").await;
    let written = fs::read(library.file_of("ana")).expect("it is there");

    library.add("ana", [note("One", "wing")]).await;
    for _ in 0..10 {
        library.find("ana", "wing").await;
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(fs::read(library.file_of("ana")).expect("it is there"), written);

    library.add("ana", [note("Two", "wing two"), note("Three", "wing three")]).await;
    library.write_file("ana").await;
}

#[tokio::test]
async fn another_users_file_is_refused() {
    let library = Library::with_files(None).await;
    library.add("ana", wings()).await;
    library.add_from("user", "ben", notes(20)).await;
    library.write_file("ben").await;
    library.write_file("ana").await;

    library.replace_file("ana", &fs::read(library.file_of("ben")).expect("it is there"));
    library.search().indexes.let_go();

    assert_eq!(library.chunks("ana").await, 3);
    let entry = library.search().indexes.one("ana").await;
    let words = words::of_query("heat", entry.read().alone().analyzers());
    assert_eq!(bm25::rank(&entry.read().alone(), &words, None, DEPTH).len(), 0, "a word of ben's");
    assert_eq!(library.find("ana", "wing").await.len(), 3);
}

#[tokio::test]
async fn a_damaged_file_is_deleted_and_the_index_comes_from_the_database() {
    let library = Library::with_files(None).await;
    library.add_from("user", "ana", notes(20)).await;
    library.write_file("ana").await;
    let expected = rankings(&library).await;
    let whole = fs::read(library.file_of("ana")).expect("it is there");

    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&flipped[..], &whole[..whole.len() - 1], &whole[..40], &[][..], &[0xff; 4096][..]] {
        library.replace_file("ana", damaged);
        library.search().indexes.let_go();
        assert_eq!(rankings(&library).await, expected, "{} bytes", damaged.len());
        assert_ne!(fs::read(library.file_of("ana")).ok().as_deref(), Some(damaged));
    }
}

#[tokio::test]
async fn vectors_of_another_model_are_in_no_file_that_is_used() {
    let library = Library::with_files(Some(tiny_embedder().await)).await;
    library.add_from("user", "ana", notes(20)).await;
    library.write_file("ana").await;
    let file = library.file_of("ana");
    let other = tempfile::TempDir::new().expect("a scratch folder");
    tiny_model::write_another(other.path(), 2);
    let other = Embedder::open(other.path()).await.expect("the model is whole");

    let library = library.restarted(Some(other), MEMORY).await;

    assert!(!file.exists());
    let embedder = library.embedder.as_ref().expect("there is one");
    while library.knowledge.0.store.models().await.expect("the database works") != [embedder.model()] {
        sleep(Duration::from_millis(5)).await;
    }
    let vector = embedder.query("ana", "cat".to_owned()).await.expect("it runs");
    let entry = library.search().indexes.one("ana").await;
    assert_eq!(entry.read().alone().cosines(&vector, None, 1).nearest.len(), 20);
}

#[tokio::test]
async fn a_folder_that_is_deleted_is_made_again() {
    let library = Library::with_files(None).await;
    library.add("ana", wings()).await;
    library.write_file("ana").await;

    fs::remove_dir_all(library.path().join("search")).expect("it is ours");
    library.search().indexes.let_go();
    library.write_file("ana").await;

    library.spoil_rows().await;
    let library = library.restarted(None, MEMORY).await;
    assert_eq!(library.find("ana", "wing").await.len(), 3, "its history is known, too");
}

#[tokio::test]
async fn where_everything_is_forgotten_no_file_is_left() {
    let library = Library::with_files(None).await;
    if !library.database.is_file() {
        return;
    }
    library.add("ana", wings()).await;
    library.write_file("ana").await;
    library.add("ben", wings()).await;
    library.write_file("ben").await;
    library.spoil_rows().await;

    library.knowledge.forget_indexes();

    assert_eq!(library.find("ana", "wing").await, [""; 0], "what the database has is spoilt");
    assert!(!library.file_of("ben").exists());
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn after_a_failover_files_are_not_used_and_after_a_start_they_are() {
    let mut library = Library::with_files(None).await;
    library.add("ana", wings()).await;
    library.write_file("ana").await;
    library.spoil_rows().await;

    library = library.restarted(None, MEMORY).await;
    // The first response reveals the timeline.
    library.knowledge.forget_indexes();
    assert_eq!(library.find("ana", "wing").await.len(), 3);

    let promoted = "CREATE OR REPLACE FUNCTION timeline() RETURNS TEXT LANGUAGE sql VOLATILE
        AS $$ SELECT '0000002A' $$";
    library.execute(promoted).await;
    library.knowledge.forget_indexes();
    assert_eq!(library.find("ana", "wing").await, [""; 0]);
}

#[tokio::test]
async fn a_file_of_a_revision_that_the_database_lacks_is_not_used() {
    let library = Library::with_files(None).await;
    library.add("ana", wings()).await;
    library.add("ana", [note("Slip", "slipstream")]).await;
    library.write_file("ana").await;
    let file = library.file_of("ana");
    let folder = library.stopped().await;

    // As in a copy of the database from earlier in the same run.
    let database = Database::of_test(folder.path()).await;
    database.execute("DELETE FROM documents WHERE title = 'Slip'").await;
    database.execute("UPDATE knowledge_revisions SET revision = revision - 1").await;
    database.close().await;
    assert!(file.exists());
    let library = Library::with_files_in(folder, None).await;
    assert!(!file.exists());
    library.add("ana", [note("Dog", "dog")]).await;

    assert_eq!(library.find("ana", "slipstream").await, [""; 0]);
    assert_eq!(library.find("ana", "dog").await, ["Dog"]);
}

#[tokio::test]
async fn a_file_is_not_used_with_another_copy_of_the_database_that_has_gone_on_by_itself() {
    let library = Library::with_files(None).await;
    if !library.database.is_file() {
        return;
    }
    library.add("ana", wings()).await;
    library.write_file("ana").await;
    let folder = library.stopped().await;
    let copy = fs::read(folder.path().join(Database::FILE)).expect("there is a database");

    let library = Library::with_files_in(folder, None).await;
    library.add("ana", [note("Slip", "slipstream")]).await;
    library.write_file("ana").await;
    let file = library.file_of("ana");
    let folder = library.stopped().await;
    assert!(file.exists());

    let elsewhere = tempfile::TempDir::new().expect("a scratch folder");
    fs::write(elsewhere.path().join(Database::FILE), copy).expect("it is ours");
    let library = Library::with_files_in(elsewhere, None).await;
    library.add("ana", [note("Dog", "dog")]).await;
    library.add("ana", [note("Cat", "cat")]).await;
    let elsewhere = library.stopped().await;
    fs::copy(elsewhere.path().join(Database::FILE), folder.path().join(Database::FILE)).expect("it is ours");

    let library = Library::with_files_in(folder, None).await;
    assert!(!file.exists());
    assert_eq!(library.find("ana", "slipstream").await, [""; 0], "the id of its chunk is another one's here");
    assert_eq!(library.find("ana", "dog").await, ["Dog"]);
}
