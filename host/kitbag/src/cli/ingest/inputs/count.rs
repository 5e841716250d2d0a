//! Number of documents to ingest, for the progress bar.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::folder::Folder;
use super::{Ingest, Inputs, LeftOut, Source};
use crate::cli::ingest::kinds::extension;
use crate::cli::ingest::mailbox::Mailbox;

impl Inputs<'_> {
    /// Counts the remaining documents; standard input counts as one.
    pub(in crate::cli::ingest) fn total(&self) -> u64 {
        self.waiting.iter().map(|source| self.count_of(source)).sum()
    }

    fn count_of(&self, source: &Source) -> u64 {
        match source {
            Source::Standard | Source::Page(_) => 1,
            Source::File(path, _) => self.command.count_in(path),
            Source::Folder(path) => {
                let Ok(folder) = Folder::open(path, self.command.rules(), &LeftOut::default()) else {
                    return 1;
                };
                let of_entry = |entry: <Folder as Iterator>::Item| match entry {
                    Ok((path, _)) if self.command.wants(&path).is_err() => 0,
                    Ok((path, _)) => self.command.count_in(&path),
                    Err(_) => 1,
                };
                folder.map(of_entry).sum()
            }
        }
    }
}

impl Ingest {
    fn count_in(&self, path: &Path) -> u64 {
        let is_mailbox = extension(path) == "mbox";
        if !self.jsonl && !is_mailbox {
            return 1;
        }
        let Ok(file) = File::open(path) else { return 1 };
        if self.jsonl { count_lines(BufReader::new(file)) } else { count_messages(BufReader::new(file)) }
    }
}

fn count_lines(mut file: impl BufRead) -> u64 {
    let mut count = 0;
    while file.skip_until(b'\n').is_ok_and(|read| read > 0) {
        count += 1;
    }
    count
}

fn count_messages(file: impl BufRead + Send + 'static) -> u64 {
    let mut mailbox = Mailbox::of(file);
    std::iter::from_fn(|| mailbox.next()).count() as u64
}
