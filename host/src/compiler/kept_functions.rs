//! Machine code of functions that large components have in common, from one compilation to the next.
//!
//! Toolkits in TypeScript each carry the same JavaScript engine. The compiler process reads what is kept and
//! writes what is to be kept; the file is sealed here, like all other machine code.

use std::fs::File;
use std::io::{self, Seek as _};

use tracing::warn;

use super::protocol::FunctionFiles;
use crate::disk::Disk;
use crate::machine_code::MachineCode;
use crate::tasks::off_thread;

/// Smallest component whose functions are cached, in bytes. A smaller one compiles faster than the cache loads.
const MIN_COMPONENT_BYTES: u64 = 4 << 20;
/// Size of the cache, in bytes.
const MAX_KEPT_BYTES: usize = 256 << 20;
/// Their name among the files of machine code.
const NAME: &str = "functions";

/// Where functions are kept; a clone is the same place.
#[derive(Clone)]
pub struct KeptFunctions {
    files: MachineCode,
    /// Bytes, at most.
    limit: usize,
}

/// Functions for one compilation: those that are known, and a file for those to be kept.
pub(super) struct Kept {
    place: KeptFunctions,
    known: Option<(File, u64)>,
    /// Without a name: another command that opens the same cache sweeps those that have one.
    new: File,
}

impl KeptFunctions {
    /// Keeps functions among these files.
    pub(crate) fn among(files: MachineCode) -> Self {
        Self { files, limit: MAX_KEPT_BYTES }
    }

    /// Whether a component of so many bytes is worth the reading of what is kept.
    pub(super) fn are_of_use_for(component: u64) -> bool {
        component >= MIN_COMPONENT_BYTES
    }

    /// Opens what is kept; where there is nothing, or nothing that can be trusted, begins anew. Blocks.
    pub(super) fn open(self) -> io::Result<Kept> {
        let known = match self.files.sealed(NAME) {
            Ok(sealed) => Some((File::open(sealed.path())?, sealed.size()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                warn!(%error, "the functions that were kept cannot be used");
                None
            }
        };
        let new = self.files.new_file()?.into_file();
        Ok(Kept { place: self, known, new })
    }
}

impl Kept {
    pub(super) fn files(&self) -> FunctionFiles {
        FunctionFiles { known: self.known.as_ref().map(|(_, size)| *size), limit: self.place.limit }
    }

    /// In the order in which the process expects them.
    pub(super) fn descriptors(&self) -> io::Result<Vec<File>> {
        let known = self.known.iter().map(|(known, _)| known);
        std::iter::once(&self.new).chain(known).map(File::try_clone).collect()
    }

    /// Seals what the process has written, and keeps it, where the disk has room for a copy.
    pub(super) async fn replace(mut self, disk: &Disk) -> io::Result<()> {
        let _room = disk.reserve(self.new.metadata()?.len()).map_err(io::Error::other)?;
        off_thread(move || {
            let mut named = self.place.files.new_file()?;
            self.new.rewind()?;
            io::copy(&mut self.new, &mut named)?;
            self.place.files.adopt(NAME, named)
        })
        .await
    }
}
