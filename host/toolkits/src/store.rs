//! All SQL about toolkits, a type for each subject.

mod asked_calls;
mod audience;
mod code_tools;
mod conditions;
mod consents;
mod deploys;
mod hidden;
mod icons;
mod json;
mod limited_calls;
mod live;
mod ownership;
mod publishers;
mod revisions;
mod rollback;
mod updates;
mod uploads;
mod versions;

pub use asked_calls::{AskedCall, AskedCalls};
pub(super) use audience::AudienceStore;
pub use code_tools::CodeTools;
pub use conditions::{Expected, LiveVersion};
pub use consents::FirstAct;
pub(super) use consents::{AgreedReach, ConsentStore, NewConsent, StoredConsent};
pub(super) use deploys::{DeployStore, NewVersion, Recorded};
pub(super) use hidden::HiddenStore;
pub(super) use limited_calls::{CountStore, keys};
pub(super) use live::{LiveRow, LiveState, LiveStore};
pub(super) use ownership::OwnershipStore;
pub use ownership::{Claim, OwnershipRecord, TakenOver};
pub use publishers::Publishers;
pub use rollback::Rollback;
pub(super) use updates::{FoundNewer, TrackedRow, UpdateStore};
pub(super) use uploads::{Compared, LIFETIME, NewUpload, UploadRow, UploadStore};
pub use versions::{ToolkitRecord, Version, VersionRecord, Versions};
