//! Copies the files of a data directory to the shared folder of all backups, and freezes the matching
//! database.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use jiff::Timestamp;
use kitbag_base::folder::Folder;
use kitbag_base::sha256::Digest;
use kitbag_database::{Database, FrozenState, Scope, Transaction};
use kitbag_files::stored_files::{Named, Names, count, digest_of};
use tracing::warn;

use super::files::{Copied, Files};
use super::job::Job;
use super::keys::{self, Key};
use super::repository::Repository;
use super::{BackupError, Progress, Step, require_room};

/// Maximum number of missing files when the database is frozen, because all of them are open at once.
const MAX_OPEN: usize = 256;
/// Maximum number of rounds of copying, if more than `MAX_OPEN` files are missing after each.
const MAX_ROUNDS: usize = 20;

/// Copies the files of a data directory.
pub(super) struct Copier<'a> {
    /// The data directory.
    data: Folder,
    /// The folder with components and captured files; `None` if it does not exist.
    source: Option<Folder>,
    files: Files,
    unfinished: &'a Folder,
    /// Files that the repository already contains.
    known: HashSet<Digest>,
    /// Paths of files that cannot be copied: missing, unreadable or damaged.
    unobtainable: HashSet<String>,
    new_files: u64,
    new_bytes: u64,
}

/// Consistent state of a data directory.
pub(super) struct Frozen {
    pub(super) state: FrozenState,
    pub(super) keys: Vec<Key>,
    pub(super) at: Timestamp,
}

/// Result of copying.
pub(super) struct CopiedFiles {
    /// Paths of files that are missing, unreadable or damaged in the data directory, sorted.
    pub(super) missing: Vec<String>,
    pub(super) new_files: u64,
    pub(super) new_bytes: u64,
}

impl<'a> Copier<'a> {
    /// Copies from the data directory of `job` to the shared folder of all backups. Incomplete files are in
    /// the folder `unfinished`.
    pub(super) fn new(
        job: &Job,
        repository: &Repository,
        unfinished: &'a Folder,
    ) -> Result<Self, BackupError> {
        Ok(Self {
            data: Folder::open(&job.data).map_err(BackupError::file(&job.data))?,
            source: match Folder::open(&job.files) {
                Ok(folder) => Some(folder),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(BackupError::file(&job.files)(error)),
            },
            files: Files::make(&repository.folder)?,
            unfinished,
            known: HashSet::new(),
            unobtainable: HashSet::new(),
            new_files: 0,
            new_bytes: 0,
        })
    }

    /// Copies all files to which rows refer, and returns the matching state of the database.
    pub(super) async fn copy_and_freeze(
        &mut self,
        job: &Job,
        live: &Database,
        progress: &mut Progress<'_>,
    ) -> Result<Frozen, BackupError> {
        for _ in 0..MAX_ROUNDS {
            self.copy_named(live, progress).await?;
            // Nothing is written during this transaction: neither rows nor the files that they name
            // disappear.
            let mut lock = live.begin(Scope::AllHolders).await?;
            let missing = self.missing(&mut lock).await?;
            if missing.len() > MAX_OPEN {
                lock.roll_back().await?;
                continue;
            }
            let at = Timestamp::now();
            let state = FrozenState::of(&job.data).map_err(BackupError::Copy)?;
            let opened: Vec<_> = missing.into_iter().map(|file| (self.open(&file), file)).collect();
            // A rotation of the master key needs the same lock: these keys decrypt the secrets of this state.
            let keys = keys::read(job, &self.data)?;
            lock.roll_back().await?;

            require_room(self.unfinished, state.size().map_err(BackupError::Copy)?)?;
            for (opened, file) in opened {
                match opened {
                    Ok(source) => self.copy(source, &file)?,
                    Err(error) => self.leave_out(&file, &error.to_string()),
                }
            }
            return Ok(Frozen { state, keys, at });
        }
        Err(BackupError::TooBusy)
    }

    /// Fails if a row of the copied database refers to a file that is neither copied nor listed as missing.
    /// Makes the copies durable.
    pub(super) async fn finish(self, copy: &Database) -> Result<CopiedFiles, BackupError> {
        let mut missing = Vec::new();
        let mut pages = Names::default();
        while let Some(named) = pages.next_page_of(copy).await? {
            for file in named {
                if self.is_unobtainable(&file) {
                    missing.push(file.path());
                } else if !self.is_known(&file) {
                    return Err(BackupError::Incomplete(file.digest));
                }
            }
        }
        missing.sort_unstable();
        self.files.sync()?;
        Ok(CopiedFiles { missing, new_files: self.new_files, new_bytes: self.new_bytes })
    }

    /// Copies the files to which rows refer now.
    async fn copy_named(&mut self, live: &Database, progress: &mut Progress<'_>) -> Result<(), BackupError> {
        let mut done = 0;
        let total = count(live).await?;
        let mut pages = Names::default();
        while let Some(named) = pages.next_page_of(live).await? {
            for file in named {
                done += 1;
                progress(Step::CopyFiles, done, total.max(done));
                if self.is_settled(&file) {
                    continue;
                }
                match self.open(&file) {
                    Ok(source) => self.copy(source, &file)?,
                    // Removed since its name was read, or missing; `copy_and_freeze` decides which.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => self.leave_out(&file, &error.to_string()),
                }
            }
        }
        Ok(())
    }

    /// Returns the files to which rows refer and that were not copied.
    async fn missing(&self, transaction: &mut Transaction) -> Result<Vec<Named>, BackupError> {
        let mut missing = Vec::new();
        let mut pages = Names::default();
        while let Some(named) = pages.next_page(transaction).await? {
            let files = named.into_iter();
            missing.extend(files.filter(|file| !self.is_known(file) && !self.is_unobtainable(file)));
        }
        Ok(missing)
    }

    fn open(&self, file: &Named) -> io::Result<File> {
        match &self.source {
            Some(folder) => file.open(folder),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Whether nothing is left to do for a file. Records a file of an earlier backup as known.
    fn is_settled(&mut self, file: &Named) -> bool {
        let Some(digest) = digest_of(&file.digest) else { return self.is_unobtainable(file) };
        if self.is_unobtainable(file) || self.known.contains(&digest) {
            return true;
        }
        let has = self.files.has(&file.digest);
        if has {
            self.known.insert(digest);
        }
        has
    }

    fn is_known(&self, file: &Named) -> bool {
        digest_of(&file.digest).is_some_and(|digest| self.known.contains(&digest))
    }

    fn is_unobtainable(&self, file: &Named) -> bool {
        self.unobtainable.contains(&file.path())
    }

    fn copy(&mut self, source: File, file: &Named) -> Result<(), BackupError> {
        match self.files.add(source, &file.digest, self.unfinished)? {
            Copied::Whole { bytes } => {
                self.known.extend(digest_of(&file.digest));
                self.new_files += 1;
                self.new_bytes += bytes;
            }
            Copied::DamagedSource(reason) => self.leave_out(file, &reason),
        }
        Ok(())
    }

    fn leave_out(&mut self, file: &Named, reason: &str) {
        let path = file.path();
        warn!(path, reason, "a file cannot be backed up");
        self.unobtainable.insert(path);
    }
}
