//! Models that are downloaded by name ([`CATALOG`]), verified, and stored in the data directory, each in a
//! folder of its own in the format of sentence-transformers.
//!
//! Invariant: the folder of a model is complete or absent, and its contents match the pinned hashes.

mod catalog;
mod download;
mod fetch;
mod settings_files;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use self::catalog::{CATALOG, CatalogModel, DEFAULT_NAME, default_model, named, names};
pub use self::fetch::{DownloadError, FetchError, Fetched, Origin, fetch};

/// Folder in the data directory that has one folder for each model.
const MODELS: &str = "models";

/// Location of a model that a setting or an argument refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Folder of the model; may not exist.
    pub folder: PathBuf,
    /// Name of the model, if it is in the catalogue.
    pub name: Option<&'static str>,
}

impl Located {
    /// Name of the model, if it is in the catalogue but not in the data directory.
    pub fn not_fetched(&self) -> Option<&'static str> {
        self.name.filter(|_| !self.folder.exists())
    }
}

/// Resolves a setting: a model of the catalogue by its name, or else a folder.
pub fn located(data: &Path, named: &Path) -> Located {
    match catalog::named(named) {
        Some(model) => Located { folder: folder(data, model), name: Some(model.name) },
        None => Located { folder: named.to_owned(), name: None },
    }
}

/// Folder of a model in a data directory; may not exist.
pub fn folder(data: &Path, model: &CatalogModel) -> PathBuf {
    data.join(MODELS).join(model.name)
}

/// Models of the catalogue that are in a data directory.
pub fn fetched(data: &Path) -> impl Iterator<Item = &'static CatalogModel> {
    CATALOG.iter().filter(move |model| folder(data, model).exists())
}

/// Removes a model from a data directory. Returns whether it was there.
pub fn remove(data: &Path, model: &CatalogModel) -> Result<bool, FetchError> {
    let place = folder(data, model);
    let is_there = place.exists();
    remove_folder(&place)?;
    Ok(is_there)
}

fn remove_folder(path: &Path) -> Result<(), FetchError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FetchError::File { path: path.to_owned(), cause: error })
        }
        _ => Ok(()),
    }
}
