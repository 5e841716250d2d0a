//! Selection of the files that match the current state of the database.

use std::collections::HashMap;
use std::io;

use kitbag_database::Holder;
use thiserror::Error;

use crate::index::UserIndex;
use crate::index::file::{self, Header};
use crate::index::files::Files;
use crate::store::Revision;

/// Reason why a file is deleted instead of used.
#[derive(Debug, Error)]
pub(super) enum Unusable {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error("it is cut off, changed or of another version")]
    Damaged,
    #[error("it is of another holder, of another model or of another history")]
    Foreign,
}

/// Opens the file of a holder; `None` if there is none, an error if it is unusable.
pub(super) fn load(
    files: &Files,
    holder: &Holder,
    model: Option<&str>,
    now: Revision,
) -> Result<Option<(UserIndex, Revision)>, Unusable> {
    let Some(file) = files.open(holder)? else { return Ok(None) };
    let (header, index) = file::open(&file)?.ok_or(Unusable::Damaged)?;
    let revision = header.revision;
    let is_past = revision == now || (revision.revision < now.revision && revision.removals <= now.removals);
    if header.holder != holder.key() || header.model.as_deref() != model || !is_past {
        return Err(Unusable::Foreign);
    }
    Ok(Some((index, revision)))
}

/// Names of usable files: vectors of the same model, and nothing that the database lacks.
pub(super) fn current(
    headers: &[(String, Option<Header>)],
    model: Option<&str>,
    revisions: &HashMap<Holder, Revision>,
) -> Vec<String> {
    let is_current = |(name, header): &&(String, Option<Header>)| {
        let Some(Header { holder, model: of_file, revision }) = header else { return false };
        let is_past = revisions
            .get(&Holder::from(holder.clone()))
            .is_some_and(|now| revision.revision <= now.revision && revision.removals == now.removals);
        is_past && of_file.as_deref() == model && *name == Files::name_of(&Holder::from(holder.clone()))
    };
    headers.iter().filter(is_current).map(|(name, _)| name.clone()).collect()
}

/// Holders of the files with these headers.
pub(super) fn holders_of(headers: &[(String, Option<Header>)]) -> impl Iterator<Item = Holder> {
    headers.iter().filter_map(|(_, header)| Some(header.as_ref()?.holder.clone().into()))
}
