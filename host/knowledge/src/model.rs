//! Models that are fetched by name ([`CATALOG`]), checked, and put into the data directory: each into a folder of its
//! own, as sentence-transformers write it.
//!
//! Invariant: the folder of a model is there whole or not at all, and holds what its hashes say.

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

/// The folder of a data directory that has a folder for each model.
const MODELS: &str = "models";

/// The model that a setting or an argument means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its folder, whether it is there or not.
    pub folder: PathBuf,
    /// Its name, if it is a model of the catalogue.
    pub name: Option<&'static str>,
}

impl Located {
    /// Its name, if it is a model of the catalogue that is not in the data directory.
    pub fn not_fetched(&self) -> Option<&'static str> {
        self.name.filter(|_| !self.folder.exists())
    }
}

/// What `named` means: a model of the catalogue by its name, else a folder.
pub fn located(data: &Path, named: &Path) -> Located {
    match catalog::named(named) {
        Some(model) => Located { folder: folder(data, model), name: Some(model.name) },
        None => Located { folder: named.to_owned(), name: None },
    }
}

/// The folder of a model in a data directory, whether it is there or not.
pub fn folder(data: &Path, model: &CatalogModel) -> PathBuf {
    data.join(MODELS).join(model.name)
}

/// The models that a data directory has.
pub fn fetched(data: &Path) -> impl Iterator<Item = &'static CatalogModel> {
    CATALOG.iter().filter(move |model| folder(data, model).exists())
}

/// The folders of all models in a data directory, those included that somebody else has put there.
pub fn folders(data: &Path) -> Vec<PathBuf> {
    let named = fs::read_dir(data.join(MODELS)).into_iter().flatten().flatten().map(|entry| entry.path());
    named.filter(|folder| folder.is_dir()).collect()
}

/// Removes a model of a data directory; says whether there was one.
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
