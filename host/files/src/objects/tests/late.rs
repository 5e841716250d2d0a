//! In-memory bucket that confirms deletions before it executes them, and that can fail.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::time::sleep;

/// Delay of deletions.
const LATENESS: Duration = Duration::from_millis(4);

/// Bucket for tests. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Late {
    inner: Arc<InMemory>,
    fails: Arc<AtomicBool>,
    pending: Arc<AtomicUsize>,
}

impl Late {
    pub(super) fn new(inner: InMemory) -> Self {
        Self { inner: Arc::new(inner), fails: Arc::default(), pending: Arc::default() }
    }

    /// Makes all requests fail, or succeed again.
    pub(super) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    /// Waits until all deletions are done.
    pub(super) async fn settle(&self) {
        while self.pending.load(Ordering::SeqCst) > 0 {
            sleep(LATENESS).await;
        }
    }

    /// Returns the number of objects.
    pub(super) async fn count(&self) -> usize {
        self.inner.list(None).try_collect::<Vec<_>>().await.expect("it is in memory").len()
    }

    fn check(&self) -> Result<()> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::Generic { store: "late", source: "out of order".into() });
        }
        Ok(())
    }
}

impl fmt::Display for Late {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("late")
    }
}

#[async_trait]
impl ObjectStore for Late {
    async fn put_opts(&self, key: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.check()?;
        self.inner.put_opts(key, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        key: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check()?;
        self.inner.put_multipart_opts(key, options).await
    }

    async fn get_opts(&self, key: &Path, options: GetOptions) -> Result<GetResult> {
        self.check()?;
        self.inner.get_opts(key, options).await
    }

    fn delete_stream(&self, keys: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let bucket = self.clone();
        let answers = keys.map(move |key| {
            let key = key?;
            bucket.check()?;
            let bucket = bucket.clone();
            let late = key.clone();
            bucket.pending.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                sleep(LATENESS).await;
                // The object may already be deleted.
                let _ = bucket.inner.delete(&late).await;
                bucket.pending.fetch_sub(1, Ordering::SeqCst);
            });
            Ok(key)
        });
        answers.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
