//! Rows without files, files without rows, and files whose bytes do not match their names.

use std::io;
use std::time::{Duration, SystemTime};

use kitbag_base::folder::Folder;
use kitbag_database::Database;
use kitbag_files::objects::{Location, Objects, ObjectsError};
use kitbag_files::stored_files::{
    FileKind, Named, Names, count, digest, digest_of, is_known, is_named, were_never_named,
};
use kitbag_net::egress::Egress;
use tokio::time::sleep;

use super::{Depth, Examples, Finding, Progress, Report, Step, Subject};

/// Minimum age of a file without a row: a row may soon refer to a younger one.
const MIN_AGE: Duration = Duration::from_hours(1);
/// Maximum time between the removal of a row and of its file by a server.
const REMOVAL_TIME: Duration = Duration::from_secs(1);
/// Number of suspected files that are checked again together.
const BATCH: usize = 1000;

/// Where the files are.
enum Place<'a> {
    Folder(&'a Folder),
    Bucket(&'a Objects),
}

/// State of a file to which a row refers.
enum FileState {
    Whole,
    Damaged,
    Missing,
    Unreadable(String),
}

impl Place<'_> {
    /// Looks at the file of a row; reads it if the check is a full one.
    async fn look_at(&self, named: &Named, depth: Depth) -> FileState {
        let found = match self {
            Self::Folder(folder) => look_in_folder(folder, named, depth),
            Self::Bucket(objects) => look_in_bucket(objects, named, depth).await,
        };
        match found {
            Ok(Some(true)) => FileState::Whole,
            Ok(Some(false)) => FileState::Damaged,
            Ok(None) => FileState::Missing,
            Err(reason) => FileState::Unreadable(reason),
        }
    }
}

/// Returns whether the file has the bytes that its name says; `None` if it does not exist.
fn look_in_folder(folder: &Folder, named: &Named, depth: Depth) -> Result<Option<bool>, String> {
    let opened = match named.open(folder) {
        Ok(opened) if depth == Depth::Full => opened,
        Ok(_) => return Ok(Some(true)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let (found, _) = digest(&mut { opened }).map_err(|error| error.to_string())?;
    Ok(Some(Some(found) == digest_of(&named.digest)))
}

/// As [`look_in_folder`].
async fn look_in_bucket(objects: &Objects, named: &Named, depth: Depth) -> Result<Option<bool>, String> {
    let Some(object) = named.object() else { return Ok(None) };
    if depth == Depth::Quick {
        let size = objects.size(object).await.map_err(|error| error.to_string())?;
        return Ok(size.map(|_| true));
    }
    let found = objects.digest(object).await.map_err(|error| error.to_string())?;
    Ok(found.map(|found| found == named.digest))
}

pub(super) async fn check(
    subject: &Subject,
    database: &Database,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> kitbag_database::Result<()> {
    let depth = subject.depth;
    match &subject.files {
        Location::Folder(path) => match Folder::open(path) {
            Ok(folder) => {
                check_named(&Place::Folder(&folder), depth, database, report, progress).await?;
                check_strays(&folder, database, report, progress).await?;
            }
            Err(error) => report.findings.push(unreachable(&format!("folder cannot be opened: {error}"))),
        },
        location @ Location::Bucket(_) => match bucket(location, &subject.egress, database).await {
            Ok(objects) => {
                check_named(&Place::Bucket(&objects), depth, database, report, progress).await?;
                let note = "files without rows were not looked for: the bucket may have files of others";
                report.notes.push(note.to_owned());
            }
            Err(error) => report.findings.push(unreachable(&format!("bucket does not answer: {error}"))),
        },
    }
    Ok(())
}

/// Opens the bucket, and asks it about an object, so that one that is out of reach is not asked for each file.
async fn bucket(location: &Location, egress: &Egress, database: &Database) -> Result<Objects, ObjectsError> {
    let objects = Objects::as_it_is(database.clone(), location, egress)?;
    objects.size("any").await?;
    Ok(objects)
}

fn unreachable(what: &str) -> Finding {
    Finding::new(
        format!("components and captured files cannot be checked: their {what}"),
        "give this command the server's setting (objects); if they are lost, restore the last backup",
    )
}

/// Checks the file of each row.
async fn check_named(
    place: &Place<'_>,
    depth: Depth,
    database: &Database,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> kitbag_database::Result<()> {
    let mut missing = Examples::default();
    let mut unreadable = Examples::default();
    let mut damaged = Examples::default();
    let mut done = 0;
    let total = count(database).await?;
    let mut pages = Names::default();
    while let Some(named) = pages.next_page_of(database).await? {
        for named in named {
            done += 1;
            progress(Step::Files, done, total.max(done));
            let path = named.path();
            match place.look_at(&named, depth).await {
                FileState::Whole => {}
                FileState::Damaged => damaged.push(path),
                FileState::Unreadable(reason) => unreadable.push(format!("{path}: {reason}")),
                FileState::Missing => {
                    // The server may have removed the row and the file since the page was read.
                    let is_named = is_still_named(database, &named).await?;
                    if is_named && matches!(place.look_at(&named, depth).await, FileState::Missing) {
                        missing.push(path);
                    }
                }
            }
        }
    }
    let bad = missing.count() + unreadable.count() + damaged.count();
    if bad == 0 {
        let checked = if depth == Depth::Full { "have the bytes that their names say" } else { "are there" };
        report.notes.push(format!("the files of all rows {checked} ({total})"));
    }
    let restore = "take them from a backup: in its folder `files` each is under the SHA-256 with which its name begins; \
                   or deploy the toolkit or ingest the document again";
    report.add(missing, "files to which rows refer are missing", restore);
    report.add(unreadable, "files to which rows refer cannot be read", restore);
    report.add(damaged, "files have other bytes than those that were stored", restore);
    Ok(())
}

/// Searches for files to which no row refers.
async fn check_strays(
    data: &Folder,
    database: &Database,
    report: &mut Report,
    progress: &mut Progress<'_>,
) -> kitbag_database::Result<()> {
    let mut seen = 0;
    for kind in FileKind::ALL {
        let mut strays = Strays { data, database, kind, suspects: Vec::new(), found: Examples::default() };
        // A folder that does not exist yet has no files.
        let Ok(folder) = data.subfolder(kind.folder()) else { continue };
        let Ok(names) = folder.names() else { continue };
        for name in names.filter_map(Result::ok) {
            if kind == FileKind::Component {
                seen += 1;
                progress(Step::Strays, seen, 0);
                strays.look_at(&folder, &name).await?;
                continue;
            }
            let Ok(inner) = folder.subfolder(&name) else { continue };
            let Ok(names) = inner.names() else { continue };
            for name in names.filter_map(Result::ok) {
                seen += 1;
                progress(Step::Strays, seen, 0);
                strays.look_at(&inner, &name).await?;
            }
        }
        strays.look_again().await?;
        let mut transaction = database.snapshot().await?;
        let remedy = if were_never_named(&mut transaction, kind).await? {
            "the database has no row that ever referred to such files, and so may have replaced a lost one: find out \
             before you delete anything; `kitbag restore` brings back the last backup"
        } else {
            "no server needs them: make a backup, and delete them"
        };
        transaction.roll_back().await?;
        let what = match kind {
            FileKind::Component => "components belong to no version of a toolkit",
            FileKind::Artifact => "captured files belong to no document",
        };
        report.add(strays.found, what, remedy);
    }
    Ok(())
}

/// Files of one kind to which no row seems to refer.
struct Strays<'a> {
    data: &'a Folder,
    database: &'a Database,
    kind: FileKind,
    /// Objects to check again.
    suspects: Vec<String>,
    found: Examples,
}

impl Strays<'_> {
    async fn look_at(&mut self, folder: &Folder, file: &str) -> kitbag_database::Result<()> {
        let object = match self.kind {
            FileKind::Component => format!("{}/{file}", self.kind.folder()),
            FileKind::Artifact => {
                format!("{}/{}/{file}", self.kind.folder(), file.get(..2).unwrap_or_default())
            }
        };
        if self.kind.digest_in(&object).is_none() || self.is_known(&object).await? || !is_old(folder, file) {
            return Ok(());
        }
        self.suspects.push(object);
        if self.suspects.len() >= BATCH {
            self.look_again().await?;
        }
        Ok(())
    }

    async fn look_again(&mut self) -> kitbag_database::Result<()> {
        if self.suspects.is_empty() {
            return Ok(());
        }
        sleep(REMOVAL_TIME).await;
        for object in std::mem::take(&mut self.suspects) {
            if self.kind.open(self.data, &object).is_ok() && !self.is_known(&object).await? {
                self.found.push(object);
            }
        }
        Ok(())
    }

    /// Whether the table `files` has the object.
    async fn is_known(&self, object: &str) -> kitbag_database::Result<bool> {
        let mut transaction = self.database.snapshot().await?;
        let known = is_known(&mut transaction, object).await?;
        transaction.roll_back().await?;
        Ok(known)
    }
}

async fn is_still_named(database: &Database, file: &Named) -> kitbag_database::Result<bool> {
    let mut transaction = database.snapshot().await?;
    let named = is_named(&mut transaction, file.kind, &file.digest).await?;
    transaction.roll_back().await?;
    Ok(named)
}

fn is_old(folder: &Folder, file: &str) -> bool {
    let age = |modified| SystemTime::now().duration_since(modified).unwrap_or_default();
    folder.status(file).is_ok_and(|status| age(status.modified) >= MIN_AGE)
}
