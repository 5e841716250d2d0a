//! Creates a backup, with or without a running server.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use kitbag_base::folder::Folder;
use kitbag_base::ownership;
use kitbag_database::{Database, FrozenState};
use kitbag_files::stored_files::digest;
use kitbag_knowledge::model;
use kitbag_vault::SecretsCheck;

use super::copier::{Copier, Frozen};
use super::job::Job;
use super::keys;
use super::manifest::StoredFile;
use super::repository::Repository;
use super::{BackupError, DATABASE, Manifest, Progress, Step, store};

/// A completed backup.
#[derive(Debug)]
pub struct Created {
    /// Name of the backup.
    pub name: String,
    /// Folder of the backup.
    pub folder: PathBuf,
    /// Manifest of the backup.
    pub manifest: Manifest,
    /// Number of files that no earlier backup had.
    pub new_files: u64,
    /// Size of those files, in bytes.
    pub new_bytes: u64,
    /// Check of the secrets with the copied keys, if keys are included.
    pub secrets: Option<SecretsCheck>,
    /// Backups that were removed because there were more than `keep`, or the error of the removal.
    pub removed: Result<Vec<String>, BackupError>,
}

/// Creates a backup. Blocks, except while it waits for the database.
pub async fn create(job: &Job, progress: &mut Progress<'_>) -> Result<Created, BackupError> {
    ownership::check_private(&job.data)?;
    let live = open(&job.data).await?;
    let repository = Repository::claim(&job.folder)?;
    let unfinished = repository.begin(Timestamp::now())?;
    let mut copier = Copier::new(job, &repository, &unfinished.folder)?;

    let Frozen { state, keys, at } = copier.copy_and_freeze(job, &live, progress).await?;
    live.close().await;
    let database = copy_database(state, &unfinished.folder, progress)?;
    let copy = Database::open_copy(&unfinished.folder.path().join(DATABASE)).await?;
    let problems = copy.problems().await?;
    if !problems.is_empty() {
        return Err(BackupError::Damaged(problems));
    }
    let foreign = copy.foreign_parts(Database::program_schema()).await?;
    if !foreign.is_empty() {
        return Err(BackupError::ForeignParts(foreign));
    }
    let outcome = copier.finish(&copy).await?;
    let counts = store::counts(&copy).await?;
    let keys = keys::keep(&keys, &unfinished.folder)?;
    let mut master_keys = kitbag_vault::master_key_names(&copy).await?;
    master_keys.extend(copy.audit_key_names().await?);
    master_keys.sort_unstable();
    master_keys.dedup();
    let secrets = keys::check(&copy, &keys, &unfinished.folder).await?;
    copy.close().await;

    let manifest = Manifest {
        format: Manifest::FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: at.to_string(),
        schema: Database::program_schema(),
        database,
        keys,
        master_keys,
        master_key_source: job.master_key_source.clone(),
        had_model: model::fetched(&job.data).next().is_some(),
        counts,
        missing_files: outcome.missing,
    };
    let name = unfinished.finish(&manifest)?;
    let removed = match job.keep {
        Some(keep) => repository.prune(keep).await,
        None => Ok(Vec::new()),
    };
    let folder = job.folder.join(&name);
    let new_files = outcome.new_files;
    let new_bytes = outcome.new_bytes;
    Ok(Created { name, folder, manifest, new_files, new_bytes, secrets, removed })
}

/// Opens the database of a data directory, which must have this program's schema.
async fn open(data: &Path) -> Result<Database, BackupError> {
    if !data.join(DATABASE).exists() {
        return Err(BackupError::NoDatabase(data.to_owned()));
    }
    let database = Database::open_existing(data).await?;
    let found = database.schema().await?;
    let program = Database::program_schema();
    if found == program { Ok(database) } else { Err(BackupError::Schema { found, program }) }
}

/// Copies the database into the folder of a backup, durably.
fn copy_database(
    state: FrozenState,
    folder: &Folder,
    progress: &mut Progress<'_>,
) -> Result<StoredFile, BackupError> {
    let path = folder.path().join(DATABASE);
    let failed = || BackupError::file(&path);
    drop(folder.create_file(DATABASE).map_err(failed())?);
    let copied = state.copy_to(&path, |done, total| progress(Step::CopyDatabase, done, total));
    copied.map_err(BackupError::copy(&path))?;
    let mut file = folder.open_file(DATABASE).map_err(failed())?;
    let (sha256, size) = digest(&mut file).map_err(failed())?;
    file.sync_all().map_err(failed())?;
    Ok(StoredFile { name: DATABASE.to_owned(), size, sha256: hex::encode(sha256) })
}
