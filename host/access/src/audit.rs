//! The audit log, for operators alone.

use kitbag_base::shares::Share;
use kitbag_database::audit::{Act, AuditQuery, AuditReading, AuditRecord};
use kitbag_toolkits::ToolkitError;

use super::{AccessError, Operator};

/// Reads the audit log. Holds a permit to read, which is released on drop.
pub struct AuditReader {
    operator: Operator,
    reading: AuditReading,
    _permit: Share,
}

impl Operator {
    /// Starts to read the audit log. All acts that were committed before are included.
    pub async fn audit(self, query: AuditQuery) -> Result<AuditReader, AccessError> {
        let audit = &self.0.stores().audit;
        let permit =
            if query.follows { audit.follower_permit(self.0.id()) } else { audit.reader_permit(self.0.id()) };
        let permit = permit.ok_or(AccessError::TooManyReaders)?;
        let reading = audit.read(query).await.map_err(AccessError::Records)?;
        Ok(AuditReader { operator: self, reading, _permit: permit })
    }

    /// Records in the audit log that only the owner of the toolkit may do this, or only with the signature of a publisher that the
    /// server knows, if that is why it failed.
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
            // Nothing of the component has been read: not even what it calls itself.
            Err(ToolkitError::UnknownSignature) => None,
            _ => return Ok(outcome?),
        };
        self.note_refused(act, toolkit).await;
        Ok(outcome?)
    }

    /// Records in the audit log that this was refused.
    pub(super) async fn note_refused(&self, act: Act, toolkit: Option<&str>) {
        self.0.stores().audit.refused(&self.0.actor(), act.name(), toolkit).await;
    }
}

impl AuditReader {
    /// Whether there are older entries, beyond the number that was asked for.
    pub fn has_left_out(&self) -> bool {
        self.reading.has_left_out()
    }

    /// The next entries, oldest first; empty if there are no more for now. Fails once the user is no operator any more.
    pub async fn next_page(&mut self) -> Result<Vec<AuditRecord>, AccessError> {
        self.operator.0.operator()?;
        self.reading.next_page().await.map_err(AccessError::Records)
    }

    /// Waits until there may be more.
    pub async fn more(&mut self) {
        self.reading.more().await;
    }
}
