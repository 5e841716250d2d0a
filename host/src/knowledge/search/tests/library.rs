//! Documents in a database, put there as the jobs put them.

use std::path::Path;

use tempfile::TempDir;

use super::super::*;
use crate::knowledge::embedding::tiny_model;
use crate::knowledge::passages::{Splitter, embedded};

pub(super) struct Library {
    pub(super) database: Database,
    pub(super) embedder: Option<Embedder>,
    pub(super) search: Search,
    folder: TempDir,
}

/// A document; what is not said does not matter.
#[derive(Clone, Copy, Default)]
pub(super) struct Text<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    pub(super) source: &'a str,
    pub(super) author: Option<&'a str>,
}

pub(super) const MEMORY: usize = 256 << 20;

impl Library {
    /// Searches by words alone.
    pub(super) async fn without_model() -> Self {
        Self::new(None, MEMORY).await
    }

    /// Searches with the tiny model.
    pub(super) async fn with_model() -> Self {
        let model = TempDir::new().expect("a scratch folder");
        tiny_model::write(model.path());
        Self::with(model.path()).await
    }

    /// Searches with the model in a folder.
    pub(super) async fn with(model: &Path) -> Self {
        Self::new(Some(Embedder::open(model).await.expect("the model is whole")), MEMORY).await
    }

    pub(super) async fn new(embedder: Option<Embedder>, memory: usize) -> Self {
        let folder = TempDir::new().expect("a scratch folder");
        let database = Database::open(&folder.path().join("kitbag.sqlite")).await.expect("a new database");
        let search = Search::new(database.clone(), embedder.clone(), memory);
        Self { database, embedder, search, folder }
    }

    /// Another search over the same database, with nothing in memory.
    pub(super) fn restarted(self, embedder: Option<Embedder>, memory: usize) -> Self {
        let search = Search::new(self.database.clone(), embedder.clone(), memory);
        Self { embedder, search, ..self }
    }

    /// Stores a document with its chunks, and their vectors where there is a model.
    pub(super) async fn add(&self, user_id: &str, document: Text<'_>) -> i64 {
        let sequence = self.add_without_vectors(user_id, document).await;
        if let Some(embedder) = &self.embedder {
            self.embed(user_id, sequence, embedder).await;
        }
        sequence
    }

    pub(super) async fn add_without_vectors(&self, user_id: &str, document: Text<'_>) -> i64 {
        let mut transaction = self.database.writer.begin().await.expect("nobody else writes");
        let source = if document.source.is_empty() { "user" } else { document.source };
        let (sequence,): (i64,) = sqlx::query_as(
            "INSERT INTO documents (id, user_id, source, identity, title, author, author_folded, text, capture_only,
                                    state, revision, created_at, updated_at)
             VALUES (?1 || ' of ' || ?2, ?2, ?3, 'url ' || ?1, ?4, ?5, ?6, ?7, 0, 'ready', 1, 0, 0) RETURNING sequence",
        )
        .bind(document.id)
        .bind(user_id)
        .bind(source)
        .bind(document.title)
        .bind(document.author)
        .bind(document.author.map(str::to_lowercase))
        .bind(document.text)
        .fetch_one(&mut *transaction)
        .await
        .expect("a new document");
        let revision = self.next_revision(&mut transaction, user_id, 0).await;
        let passages = Splitter::new(self.embedder.as_ref()).split(document.title, document.text);
        for (position, passage) in (0_i64..).zip(passages) {
            let (chunk,): (i64,) = sqlx::query_as(
                "INSERT INTO chunks (user_id, document, position, revision, terms) VALUES (?, ?, ?, ?, ?) RETURNING id",
            )
            .bind(user_id)
            .bind(sequence)
            .bind(position)
            .bind(revision)
            .bind(passage.terms)
            .fetch_one(&mut *transaction)
            .await
            .expect("a new chunk");
            sqlx::query("INSERT INTO chunk_texts (chunk, text) VALUES (?, ?)")
                .bind(chunk)
                .bind(passage.text)
                .execute(&mut *transaction)
                .await
                .expect("a new text");
        }
        transaction.commit().await.expect("nobody else writes");
        sequence
    }

    /// Gives the chunks of a document vectors.
    pub(super) async fn embed(&self, user_id: &str, sequence: i64, embedder: &Embedder) {
        let chunks: Vec<(i64, String, String)> = sqlx::query_as(
            "SELECT c.id, d.title, t.text FROM chunks c JOIN chunk_texts t ON t.chunk = c.id
             JOIN documents d ON d.sequence = c.document WHERE d.sequence = ?",
        )
        .bind(sequence)
        .fetch_all(&self.database.readers)
        .await
        .expect("the chunks are there");
        let texts = chunks.iter().map(|(_, title, text)| embedded(title, text)).collect();
        let vectors = embedder.documents(texts).await.expect("the model runs");
        let mut transaction = self.database.writer.begin().await.expect("nobody else writes");
        let revision = self.next_revision(&mut transaction, user_id, 0).await;
        for ((chunk, ..), vector) in chunks.into_iter().zip(vectors) {
            let bytes: Vec<u8> = vector.into_iter().flat_map(f32::to_le_bytes).collect();
            sqlx::query("UPDATE chunks SET vector = ?, model = ?, revision = ? WHERE id = ?")
                .bind(bytes)
                .bind(embedder.model())
                .bind(revision)
                .bind(chunk)
                .execute(&mut *transaction)
                .await
                .expect("the chunk is there");
        }
        transaction.commit().await.expect("nobody else writes");
    }

    pub(super) async fn remove(&self, user_id: &str, sequence: i64) {
        let mut transaction = self.database.writer.begin().await.expect("nobody else writes");
        sqlx::query("DELETE FROM documents WHERE sequence = ?")
            .bind(sequence)
            .execute(&mut *transaction)
            .await
            .expect("it is there");
        self.next_revision(&mut transaction, user_id, 1).await;
        transaction.commit().await.expect("nobody else writes");
    }

    async fn next_revision(
        &self,
        transaction: &mut sqlx::SqliteConnection,
        user_id: &str,
        removals: i64,
    ) -> i64 {
        sqlx::query_scalar(
            "INSERT INTO knowledge_revisions (user_id, revision, removals) VALUES (?1, 1, ?2)
             ON CONFLICT (user_id) DO UPDATE SET revision = revision + 1, removals = removals + ?2 RETURNING revision",
        )
        .bind(user_id)
        .bind(removals)
        .fetch_one(transaction)
        .await
        .expect("a revision")
    }

    /// The ids that a search finds, best first, without the part that names the user.
    pub(super) async fn find(&self, user_id: &str, text: &str) -> Vec<String> {
        let found = self.search.search(user_id, &query(text)).await.expect("a valid query");
        let of_user = format!(" of {user_id}");
        let id = |hit: Hit| hit.document.id.strip_suffix(&of_user).expect("it is the user's").to_owned();
        found.hits.into_iter().map(id).collect()
    }
}

pub(super) fn query(text: &str) -> Query {
    Query { text: text.to_owned(), limit: 10, offset: 0, source: None, author: None }
}
