//! Documents, as stored in the database.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx_macros::FromRow;
use tokio::time::{Instant, sleep};
use url::Url;

use super::database::Database;
use super::{Kitbag, User};

/// Time limit for a capture. It may include compiling an extractor, at the lowest priority.
const SETTLE_TIMEOUT: Duration = Duration::from_mins(4);

/// Document with a captured file.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct Stored {
    pub(crate) title: String,
    pub(crate) state: String,
    pub(crate) reason: Option<String>,
    pub(crate) artifact: Option<String>,
    pub(crate) artifact_size: Option<i64>,
    pub(crate) artifact_type: Option<String>,
    /// Text extracted from the file.
    pub(crate) captured: Option<String>,
}

impl User {
    /// Ingests a document through the probe, with its file's URL and further members.
    pub(crate) async fn ingest_file(&self, url: &str, more: Value) {
        let mut document = json!({ "title": url, "fileUrl": url });
        document.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let ingested = self.call("probe__ingest", json!({ "documents": [document] })).await;
        assert!(ingested.text().contains('1'), "{}", ingested.raw());
    }
}

impl Kitbag {
    /// Waits until the document with this file is no longer pending, and returns it.
    pub(crate) async fn settled(&self, url: &str) -> Stored {
        let url = Url::parse(url).map_or(url.to_owned(), Into::into);
        let mut database = Database::of(self.data()).await;
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        loop {
            let sql = "SELECT title, state, reason, artifact, artifact_size, artifact_type, captured
                 FROM documents WHERE file_url = $1";
            let found: Option<Stored> = database.rows(sql, &[&url]).await.pop();
            let found = found.unwrap_or_else(|| panic!("there is no document with {url}"));
            if found.state != "pending" {
                return found;
            }
            assert!(Instant::now() < deadline, "{url} is still pending: {found:?}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Kitbag {
    /// Waits until no document is pending, even if extractors must be compiled first.
    pub(crate) async fn all_settled(&self) {
        let mut database = Database::of(self.data()).await;
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        loop {
            let pending: Vec<(String,)> =
                database.rows("SELECT title FROM documents WHERE state = $1", &["pending"]).await;
            if pending.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "still pending: {pending:?}");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Stored {
    /// Asserts that the document is ready, and returns the text of its file.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        assert_eq!((self.state.as_str(), &self.reason), ("ready", &None), "{self:?}");
        self.captured.as_deref().unwrap_or_default()
    }

    /// Asserts that processing failed for a reason containing `words`.
    #[track_caller]
    pub(crate) fn assert_failed(&self, words: &str) {
        let reason = self.reason.as_deref().unwrap_or_default();
        assert_eq!(self.state, "failed", "{self:.300?}");
        assert!(reason.contains(words), "no {words:?} in {reason:?}");
    }
}
