//! Checks a backup, and restores it to a data directory.

use std::io;
use std::path::PathBuf;

use kitbag_base::folder::Folder;
use kitbag_database::Database;
use kitbag_files::stored_files::{self, Named, Names, count};

use super::files::{Copied, Files, copy};
use super::manifest::StoredFile;
use super::repository::Repository;
use super::target::Target;
use super::{BackupError, DATABASE, KEYS, Manifest, Progress, Step, require_room, store};

/// Temporary name of the database.
const INCOMING: &str = "restore-incoming";
/// Maximum number of damaged files that errors list.
const MAX_EXAMPLES: usize = 20;

/// Options of a restore.
#[derive(Clone, Debug)]
pub struct RestoreJob {
    /// Folder with all backups.
    pub folder: PathBuf,
    /// Name of the backup; `None` for the newest complete one.
    pub name: Option<String>,
    /// Whether the backup is only checked.
    pub purpose: Purpose,
    /// Policy for missing or damaged files of the backup.
    pub damaged: Damaged,
}

/// Purpose of reading a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The backup is only checked.
    Check,
    /// The backup is checked, and restored to this data directory.
    Restore(PathBuf),
}

/// Policy for missing or damaged files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// The restore fails.
    Refused,
    /// All other files are restored.
    LeftOut,
}

/// A restored or checked backup.
#[derive(Debug)]
pub struct Restored {
    /// Name of the backup.
    pub name: String,
    /// Manifest of the backup.
    pub manifest: Manifest,
    /// Newer backups that cannot be used, each with the reason.
    pub passed_over: Vec<(String, BackupError)>,
    /// Number of files that were left out because they are missing or damaged.
    pub left_out: u64,
}

/// Restores a backup, or only checks it. Blocks, except while it waits for the database.
pub async fn restore(job: &RestoreJob, progress: &mut Progress<'_>) -> Result<Restored, BackupError> {
    let repository = Repository::open(&job.folder)?;
    let Chosen { name, manifest, passed_over } = choose(&repository, job)?;
    // Opened before the long checks, so that a wrong directory is reported at once.
    let target = match &job.purpose {
        Purpose::Restore(data) => Some(Target::open(data)?),
        Purpose::Check => None,
    };
    let backup = Backup {
        folder: repository.backup(&name)?,
        files: Files::open(&repository.folder)?,
        name: &name,
        manifest: &manifest,
    };
    let database = backup.check_database().await?;
    backup.check_keys()?;
    let FilesCheck { damaged, bytes } = backup.check_files(&database, progress).await?;
    if damaged.count > 0 && job.damaged == Damaged::Refused {
        return Err(BackupError::DamagedFiles { name, count: damaged.count, examples: damaged.examples });
    }
    if let Some(target) = target {
        require_room(&target.folder, bytes.saturating_add(manifest.database.size))?;
        let _lock = target.claim()?;
        backup.place_files(&database, &target, job.damaged, progress).await?;
        backup.place_keys(&target)?;
        backup.place_database(&target)?;
    }
    database.close().await;
    Ok(Restored { name, manifest, passed_over, left_out: damaged.count })
}

/// The backup to restore, and newer ones that cannot be used.
struct Chosen {
    name: String,
    manifest: Manifest,
    passed_over: Vec<(String, BackupError)>,
}

fn choose(repository: &Repository, job: &RestoreJob) -> Result<Chosen, BackupError> {
    let mut passed_over = Vec::new();
    if let Some(name) = job.name.clone() {
        let manifest = Manifest::read(&repository.backup(&name)?, &name)?;
        return Ok(Chosen { name, manifest, passed_over });
    }
    for found in repository.backups()? {
        match found.manifest {
            Ok(manifest) => return Ok(Chosen { name: found.name, manifest, passed_over }),
            Err(error) => passed_over.push((found.name, error)),
        }
    }
    Err(BackupError::NoBackup(job.folder.clone()))
}

/// A complete backup.
struct Backup<'a> {
    folder: Folder,
    files: Files,
    name: &'a str,
    manifest: &'a Manifest,
}

/// Files of a backup that are missing or damaged.
#[derive(Default)]
struct DamagedFiles {
    count: u64,
    examples: Vec<String>,
}

/// The result of checking all files.
struct FilesCheck {
    damaged: DamagedFiles,
    /// Total size of the undamaged files, in bytes.
    bytes: u64,
}

impl Backup<'_> {
    fn unusable(&self, reason: impl Into<String>) -> BackupError {
        BackupError::Unusable { name: self.name.to_owned(), reason: reason.into() }
    }

    /// Checks the database against the manifest, and opens it.
    async fn check_database(&self) -> Result<Database, BackupError> {
        let found = self.manifest.schema;
        let program = Database::program_schema();
        if found > program {
            return Err(BackupError::Newer { name: self.name.to_owned(), found, program });
        }
        self.check_file(&self.folder, &self.manifest.database)?;
        let database = Database::open_copy(&self.folder.path().join(DATABASE)).await?;
        let another = || self.unusable("its manifest describes another database");
        if database.schema().await? != found {
            return Err(another());
        }
        // Checked before rows are read: a view could replace a table.
        let foreign = database.foreign_parts(found).await?;
        if !foreign.is_empty() {
            let reason =
                format!("no version of this program has made this in its database: {}", foreign.join(", "));
            return Err(self.unusable(reason));
        }
        if found == program && store::counts(&database).await? != self.manifest.counts {
            return Err(another());
        }
        Ok(database)
    }

    fn check_keys(&self) -> Result<(), BackupError> {
        if self.manifest.keys.is_empty() {
            return Ok(());
        }
        let folder =
            self.folder.subfolder(KEYS).map_err(|error| self.unusable(format!("{KEYS}: {error}")))?;
        self.manifest.keys.iter().try_for_each(|key| self.check_file(&folder, key))
    }

    /// Checks a file of this backup against the manifest.
    fn check_file(&self, folder: &Folder, expected: &StoredFile) -> Result<(), BackupError> {
        let name = &expected.name;
        let digest = folder.open_file(name).and_then(|mut file| stored_files::digest(&mut file));
        let (sha256, size) = digest.map_err(|error| self.unusable(format!("{name}: {error}")))?;
        if (hex::encode(sha256), size) == (expected.sha256.clone(), expected.size) {
            Ok(())
        } else {
            Err(self.unusable(format!("{name} is damaged: its bytes are not those that were backed up")))
        }
    }

    /// Checks every file to which a row of the database refers.
    async fn check_files(
        &self,
        database: &Database,
        progress: &mut Progress<'_>,
    ) -> Result<FilesCheck, BackupError> {
        let mut damaged = DamagedFiles::default();
        let mut bytes = 0_u64;
        self.for_each_file(database, Step::CheckFiles, progress, |file| {
            match self.files.check(&file.digest) {
                Ok(size) => bytes = bytes.saturating_add(size),
                Err(reason) => {
                    damaged.count += 1;
                    if damaged.examples.len() < MAX_EXAMPLES {
                        damaged.examples.push(format!("{}: {reason}", file.path()));
                    }
                }
            }
            Ok(())
        })
        .await?;
        Ok(FilesCheck { damaged, bytes })
    }

    /// Copies each file to which a row of the database refers.
    async fn place_files(
        &self,
        database: &Database,
        target: &Target,
        damaged: Damaged,
        progress: &mut Progress<'_>,
    ) -> Result<(), BackupError> {
        self.for_each_file(database, Step::PlaceFiles, progress, |named| {
            let place = || {
                let (folder, file) = named.make_place(&target.folder)?;
                folder.remove_file(&file)?;
                let copied = match self.files.read(&named.digest) {
                    Ok(source) => copy(source, &mut folder.create_file(&file)?, &named.digest)?,
                    Err(error) => Copied::DamagedSource(error.to_string()),
                };
                match (copied, damaged) {
                    (Copied::Whole { .. }, _) => Ok(()),
                    (Copied::DamagedSource(_), Damaged::LeftOut) => folder.remove_file(&file).map(drop),
                    // It was undamaged when it was checked.
                    (Copied::DamagedSource(reason), Damaged::Refused) => Err(io::Error::other(reason)),
                }
            };
            place().map_err(BackupError::file(&target.folder.path().join(named.path())))
        })
        .await
    }

    /// Calls `act` with each file to which a row refers, except those that were missing when the backup was
    /// made.
    async fn for_each_file(
        &self,
        database: &Database,
        step: Step,
        progress: &mut Progress<'_>,
        mut act: impl FnMut(&Named) -> Result<(), BackupError>,
    ) -> Result<(), BackupError> {
        let mut done = 0;
        let total = count(database).await?;
        let mut pages = Names::default();
        while let Some(named) = pages.next_page_of(database).await? {
            for file in &named {
                if self.manifest.missing_files.binary_search(&file.path()).is_err() {
                    act(file)?;
                }
                done += 1;
                progress(step, done, total);
            }
        }
        Ok(())
    }

    fn place_keys(&self, target: &Target) -> Result<(), BackupError> {
        for key in &self.manifest.keys {
            let source = self.folder.subfolder(KEYS).and_then(|folder| folder.open_file(&key.name));
            let source = source.map_err(BackupError::file(&self.folder.path().join(KEYS).join(&key.name)))?;
            target.place(source, &key.name, &key.name, key)?;
        }
        Ok(())
    }

    /// Puts the database in place, after all other files are durable.
    fn place_database(&self, target: &Target) -> Result<(), BackupError> {
        let expected = &self.manifest.database;
        let source = self.folder.open_file(DATABASE);
        let source = source.map_err(BackupError::file(&self.folder.path().join(DATABASE)))?;
        // Syncs all files at once: syncing each would take far longer.
        rustix::fs::sync();
        target.place(source, INCOMING, DATABASE, expected)?;
        target.finish()
    }
}
