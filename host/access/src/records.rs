//! Records of a toolkit's calls, as far as a user may see them.

use jiff::Timestamp;
use kitbag_base::shares::Share;
use kitbag_toolkits::ToolkitError;
use kitbag_toolkits::invocations::{Filter, Logged, Query, Reading, Scope, Usage};
use kitbag_toolkits::knowledge_tools;

use super::error::AccessError;
use super::rules;
use super::user::User;

/// Permission to read the records of one toolkit. It is checked again for each page.
pub struct Records {
    user: User,
    toolkit: String,
}

/// Selection of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Earliest time: for own calls the time they ended; for other users' calls the time they started.
    pub since: Option<Timestamp>,
    /// Latest time (exclusive), of the same kind.
    pub until: Option<Timestamp>,
    /// Id of the last record before the range (exclusive).
    pub after: i64,
    /// Id of the first record after the range (exclusive).
    pub before: Option<i64>,
    /// Maximum number of existing records; the newest are returned.
    pub last: Option<u32>,
    /// Filter by tool and outcome.
    pub filter: Filter,
}

/// End of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingMode {
    /// Ends after the existing records.
    Once,
    /// Continues with new records after the existing ones.
    Follow,
}

/// Reader of records. Has a reader permit, which is released on drop.
pub struct Reader {
    records: Records,
    reading: Reading,
    /// Id of the last record to read.
    until: i64,
    _permit: Share,
}

impl User {
    /// Returns access to the records of a toolkit that the user may see. Users can still access their own
    /// calls after they can no longer see the toolkit.
    pub async fn records(&self, toolkit: &str) -> Result<Records, AccessError> {
        let records = Records { user: self.clone(), toolkit: toolkit.to_owned() };
        let invocations = &self.stores().invocations;
        let may_read = records.scope().is_some()
            || invocations.has_records_of(toolkit, self.id()).await.map_err(AccessError::Records)?;
        if may_read { Ok(records) } else { Err(records.unknown()) }
    }
}

impl Records {
    /// Starts to read. Calls that this process answered before are included.
    pub async fn read(self, range: Range, mode: ReadingMode) -> Result<Reader, AccessError> {
        let Range { since, until, after, before, last, filter } = range;
        let since = since.unwrap_or(Timestamp::MIN);
        let until = until.unwrap_or(Timestamp::MAX);
        let toolkit = self.toolkit.clone();
        let viewer = self.user.id().to_owned();
        let invocations = &self.user.stores().invocations;
        let permit = match mode {
            ReadingMode::Once => invocations.reader_permit(&viewer),
            ReadingMode::Follow => invocations.follower_permit(&viewer),
        };
        let permit = permit.ok_or(AccessError::TooManyReaders)?;
        let query = Query { toolkit, viewer, since, until, after, before, last, filter };
        let scope = self.scope().unwrap_or(Scope::Own);
        let reading = invocations.read(query, scope).await.map_err(AccessError::Records)?;
        let until = match mode {
            ReadingMode::Once => reading.newest(),
            ReadingMode::Follow => i64::MAX,
        };
        Ok(Reader { records: self, reading, until, _permit: permit })
    }

    /// Counts the calls of the last day. Calls that this process answered before are included.
    pub async fn usage(&self) -> Result<Usage, AccessError> {
        let scope = self.scope().unwrap_or(Scope::Own);
        let usage = self.user.stores().invocations.usage(&self.toolkit, self.user.id(), scope).await;
        usage.map_err(AccessError::Records)
    }

    /// Returns the scope of calls that the user may see now; `None` if they cannot see the toolkit.
    pub(super) fn scope(&self) -> Option<Scope> {
        if self.toolkit == knowledge_tools::ID {
            return Some(rules::records_of_own_tools_seen(&self.user));
        }
        let registry = self.user.stores().toolkits.registry.load();
        rules::records_seen(&self.user, registry.get(&self.toolkit)?)
    }

    /// Whether the toolkit still exists.
    fn exist(&self) -> bool {
        self.toolkit == knowledge_tools::ID
            || self.user.stores().toolkits.registry.load().get(&self.toolkit).is_some()
    }

    fn unknown(&self) -> AccessError {
        ToolkitError::Unknown(self.toolkit.clone()).into()
    }
}

impl Reader {
    /// Whether there are older records than those that the range's `last` allowed.
    pub fn has_left_out(&self) -> bool {
        self.reading.has_left_out()
    }

    /// Returns the next records, oldest first; empty if there are none for now. Other users' calls are
    /// omitted once the user may no longer see them. Fails once the toolkit is removed.
    pub async fn next_page(&mut self) -> Result<Vec<Logged>, AccessError> {
        if !self.records.exist() {
            return Err(self.records.unknown());
        }
        let scope = self.records.scope().unwrap_or(Scope::Own);
        self.reading.next_page(scope, self.until).await.map_err(AccessError::Records)
    }

    /// Waits until there may be more records; `None` if there will never be more.
    pub async fn more(&mut self) -> Option<()> {
        self.reading.more().await.ok()
    }
}
