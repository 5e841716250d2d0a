//! The audit log, accessible to operators only.

use kitbag_base::shares::Share;
use kitbag_database::audit::{
    Act, AuditQuery, AuditReading, AuditRecord, CallQuery, CallReading, CallRecord, Verification,
};
use kitbag_toolkits::ToolkitError;

use super::error::AccessError;
use super::operator::Operator;

/// Reader of the audit log. Has a reader permit, which is released on drop.
pub struct AuditReader {
    operator: Operator,
    reading: AuditReading,
    _permit: Share,
}

/// Reader of the entries of calls. Has a reader permit, which is released on drop.
pub struct CallReader {
    operator: Operator,
    reading: CallReading,
    _permit: Share,
}

impl Operator {
    /// Starts to read the entries of calls. Those of all calls that this process answered before are included.
    pub async fn calls(self, query: CallQuery) -> Result<CallReader, AccessError> {
        let stores = self.0.stores();
        let permit = self.audit_permit(query.follows)?;
        let audit = &stores.audit;
        // What was recorded while the setting was on can still be read.
        let is_there = audit.keeps_calls_for().is_some()
            || (!query.follows && audit.has_calls().await.map_err(AccessError::Records)?);
        if !is_there {
            return Err(AccessError::CallersNotRecorded);
        }
        stores.invocations.flush().await;
        let reading = audit.read_calls(query).await.map_err(AccessError::Records)?;
        Ok(CallReader { operator: self, reading, _permit: permit })
    }

    fn audit_permit(&self, follows: bool) -> Result<Share, AccessError> {
        let audit = &self.0.stores().audit;
        let permit =
            if follows { audit.follower_permit(self.0.id()) } else { audit.reader_permit(self.0.id()) };
        permit.ok_or(AccessError::TooManyReaders)
    }

    /// Starts to read the audit log. All entries that were committed before are included.
    pub async fn audit(self, query: AuditQuery) -> Result<AuditReader, AccessError> {
        let permit = self.audit_permit(query.follows)?;
        let reading = self.0.stores().audit.read(query).await.map_err(AccessError::Records)?;
        Ok(AuditReader { operator: self, reading, _permit: permit })
    }

    /// Verifies the whole audit log. Only one verification runs at a time.
    pub async fn verify_audit(self) -> Result<Verification, AccessError> {
        let verified = self.0.stores().audit.verify(self.0.id()).await.map_err(AccessError::Records)?;
        verified.ok_or(AccessError::TooManyReaders)
    }

    /// Records a refusal in the audit log if `outcome` failed because the operator does not own the toolkit,
    /// or because the signature of a known publisher is missing.
    pub(super) async fn noting_refusal<T>(
        &self,
        act: Act,
        outcome: Result<T, ToolkitError>,
    ) -> Result<T, AccessError> {
        let toolkit = match &outcome {
            Err(
                ToolkitError::NotOwner { id, .. }
                | ToolkitError::RemovedOfOther { id, .. }
                | ToolkitError::PublisherRemoved { id, .. }
                | ToolkitError::OtherPublisher { id, .. },
            ) => Some(id.as_str()),
            Err(ToolkitError::SignatureRequired(id)) => id.as_deref(),
            // The component was not read, not even its id.
            Err(ToolkitError::UnknownSignature) => None,
            _ => return Ok(outcome?),
        };
        self.note_refused(act, toolkit).await;
        Ok(outcome?)
    }

    /// Records a refused act in the audit log.
    pub(super) async fn note_refused(&self, act: Act, toolkit: Option<&str>) {
        self.0.stores().audit.refused(&self.0.actor(), act.name(), toolkit).await;
    }
}

impl AuditReader {
    /// Whether there are older entries than those that the query's limit allowed.
    pub fn has_left_out(&self) -> bool {
        self.reading.has_left_out()
    }

    /// Returns the next entries, oldest first; empty if there are none for now. Fails once the user is no
    /// longer an operator.
    pub async fn next_page(&mut self) -> Result<Vec<AuditRecord>, AccessError> {
        self.operator.0.operator()?;
        self.reading.next_page().await.map_err(AccessError::Records)
    }

    /// Waits until there may be more entries.
    pub async fn more(&mut self) {
        self.reading.more().await;
    }
}

impl CallReader {
    /// Whether there are older entries than those that the query's limit allowed.
    pub fn has_left_out(&self) -> bool {
        self.reading.has_left_out()
    }

    /// Returns the next entries, oldest first; empty if there are none for now. Fails once the user is no
    /// longer an operator.
    pub async fn next_page(&mut self) -> Result<Vec<CallRecord>, AccessError> {
        self.operator.0.operator()?;
        self.reading.next_page().await.map_err(AccessError::Records)
    }

    /// Waits until there may be more entries.
    pub async fn more(&mut self) {
        self.reading.more().await;
    }
}
