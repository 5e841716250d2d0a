//! Records of a toolkit's calls, as far as a user may see them.

use jiff::Timestamp;

use super::{AccessError, User, rules};
use crate::invocations::{Logged, Query, Reading, Scope};
use crate::shares::Share;
use crate::toolkits::ToolkitError;

/// The right to read records of one toolkit, of which each page is asked for anew.
pub struct Records {
    user: User,
    toolkit: String,
}

/// Which records to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Only own calls that ended at this time or later; of others, calls that began then.
    pub since: Timestamp,
    /// Only records with a greater id.
    pub after: i64,
    /// Only so many of the newest that there are.
    pub last: Option<u32>,
}

/// How far to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingMode {
    /// What there is.
    Once,
    /// What there is, and then what comes.
    Follow,
}

/// A user's place among those who read records; dropped, it is free.
pub struct Reader {
    records: Records,
    reading: Reading,
    /// The last record that may be read.
    until: i64,
    _place: Share,
}

impl User {
    /// The records of a toolkit that the user may see. The calls that somebody made stay theirs when the toolkit is
    /// no longer for them.
    pub async fn records(&self, toolkit: &str) -> Result<Records, AccessError> {
        let records = Records { user: self.clone(), toolkit: toolkit.to_owned() };
        let invocations = &self.stores().invocations;
        let may_read = records.scope().is_some()
            || invocations.has_records_of(toolkit, self.id()).await.map_err(AccessError::Records)?;
        if may_read { Ok(records) } else { Err(records.unknown()) }
    }
}

impl Records {
    /// Starts to read. Every call that was answered before is in what is read.
    pub async fn read(self, range: Range, mode: ReadingMode) -> Result<Reader, AccessError> {
        let Range { since, after, last } = range;
        let (toolkit, viewer) = (self.toolkit.clone(), self.user.id().to_owned());
        let invocations = &self.user.stores().invocations;
        let place = match mode {
            ReadingMode::Once => invocations.reader_permit(&viewer),
            ReadingMode::Follow => invocations.follower_permit(&viewer),
        };
        let place = place.ok_or(AccessError::TooManyReaders)?;
        let query = Query { toolkit, viewer, since, after, last };
        let scope = self.scope().unwrap_or(Scope::Own);
        let reading = invocations.read(query, scope).await.map_err(AccessError::Records)?;
        let until = match mode {
            ReadingMode::Once => reading.newest(),
            ReadingMode::Follow => i64::MAX,
        };
        Ok(Reader { records: self, reading, until, _place: place })
    }

    /// Whose calls the user sees at this moment; nothing where the toolkit does not exist for them.
    pub(super) fn scope(&self) -> Option<Scope> {
        let registry = self.user.stores().toolkits.registry();
        rules::records_seen(&self.user, registry.get(&self.toolkit)?)
    }

    fn unknown(&self) -> AccessError {
        ToolkitError::Unknown(self.toolkit.clone()).into()
    }
}

impl Reader {
    /// The next records, oldest first; none where there are no more for now. Whoever may no longer see the calls of
    /// others stops seeing them; with the toolkit its records are gone.
    pub async fn next_page(&mut self) -> Result<Vec<Logged>, AccessError> {
        let registry = self.records.user.stores().toolkits.registry();
        if registry.get(&self.records.toolkit).is_none() {
            return Err(self.records.unknown());
        }
        let scope = self.records.scope().unwrap_or(Scope::Own);
        self.reading.next_page(scope, self.until).await.map_err(AccessError::Records)
    }

    /// Waits until there may be more; nothing when there never will be.
    pub async fn more(&mut self) -> Option<()> {
        self.reading.more().await.ok()
    }
}
