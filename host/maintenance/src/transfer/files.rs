//! Copies the files to which rows refer.

use futures::{StreamExt, stream};
use kitbag_database::Transaction;
use kitbag_files::objects::{ObjectsError, Sent};
use kitbag_files::stored_files::{self, Named, Names};

use super::{Progress, Source, Step, Target, TransferError};

/// Maximum number of files that are copied concurrently, because buckets have a high latency.
const MAX_AT_ONCE: usize = 8;
/// Maximum number of missing files that are listed.
const MAX_EXAMPLES: usize = 20;

/// Result of copying files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesCopied {
    /// Number of files that were written.
    pub written: u64,
    /// Size of the written files, in bytes.
    pub bytes: u64,
    /// Number of files that the target already had.
    pub already_there: u64,
    /// Number of files that are missing or damaged in the source.
    pub missing_count: u64,
    /// Examples of those files, each with the problem.
    pub missing: Vec<String>,
}

/// Copies all files to which rows of the source refer in this state.
pub(super) async fn copy(
    source: &Source,
    target: &Target,
    state: &mut Transaction,
    progress: &mut Progress<'_>,
) -> Result<FilesCopied, TransferError> {
    let mut done = 0;
    let total = stored_files::count(&source.database).await?;
    let mut copied = FilesCopied::default();
    let mut pages = Names::default();
    while let Some(named) = pages.next_page(state).await? {
        let sending = named.into_iter().map(async |file| {
            let sent = send(source, target, &file).await;
            (file.path(), sent)
        });
        let mut ended = stream::iter(sending).buffer_unordered(MAX_AT_ONCE);
        while let Some((object, sent)) = ended.next().await {
            match sent {
                Ok(sent) => copied.count(&object, sent),
                Err(cause) => return Err(TransferError::Objects { object, cause }),
            }
            done += 1;
            progress(Step::CopyFiles, done, total.max(done));
        }
    }
    copied.missing.sort_unstable();
    Ok(copied)
}

async fn send(source: &Source, target: &Target, file: &Named) -> Result<Sent, ObjectsError> {
    match file.object() {
        Some(object) => source.objects.send(object, &file.digest, &target.objects).await,
        None => Ok(Sent::Unusable("no row says where it is".to_owned())),
    }
}

impl FilesCopied {
    fn count(&mut self, object: &str, sent: Sent) {
        match sent {
            Sent::Written { bytes } => {
                self.written += 1;
                self.bytes += bytes;
            }
            Sent::AlreadyThere => self.already_there += 1,
            Sent::Unusable(reason) => {
                self.missing_count += 1;
                if self.missing.len() < MAX_EXAMPLES {
                    self.missing.push(format!("{object}: {reason}"));
                }
            }
        }
    }
}
