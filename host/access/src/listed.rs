//! Toolkits that a user can list: all for operators, otherwise those that the user may call.

use std::sync::Arc;

use kitbag_manifest::ToolkitDefinition;
use kitbag_toolkits::{Live, Picture, ToolkitError, ToolkitRecord};

use super::error::AccessError;
use super::user::User;

/// The toolkits that a user may list.
#[derive(Clone, Copy)]
pub struct ListedToolkits<'a> {
    user: &'a User,
}

/// A live toolkit that the user may list, with the tools that the user may list.
#[derive(Clone)]
pub struct ListedToolkit {
    /// Live version.
    pub live: Arc<Live>,
    /// Declaration, reduced to the tools that the user may list.
    pub definition: Arc<ToolkitDefinition>,
}

impl<'a> ListedToolkits<'a> {
    pub(super) fn of(user: &'a User) -> Self {
        Self { user }
    }

    /// Returns the toolkits, sorted by id.
    pub fn all(&self) -> Vec<ListedToolkit> {
        let registry = self.user.stores().toolkits.registry.load();
        let is_operator = self.user.is_operator();
        let listed = |live: &Arc<Live>| {
            let definition =
                if is_operator { live.definition.clone() } else { self.user.visible(live)?.definition };
            Some(ListedToolkit { live: live.clone(), definition })
        };
        registry.all().filter_map(listed).collect()
    }

    /// Returns the record of a toolkit.
    pub async fn record(&self, id: &str) -> Result<ToolkitRecord, AccessError> {
        if self.user.is_operator() {
            return self.recorded(id).await;
        }
        let visible = self.user.toolkit(id)?;
        let record = self.recorded(id).await?;
        Ok(if visible.is_whole() { record } else { record.narrowed_to(visible.definition()) })
    }

    async fn recorded(&self, id: &str) -> Result<ToolkitRecord, AccessError> {
        let toolkits = &self.user.stores().toolkits;
        let mut record = toolkits.versions.record(id).await?;
        if let Some(live) = toolkits.registry.load().get(id) {
            record.vouched.clone_from(&live.vouch);
            if self.user.is_operator() {
                record.waiting_consents = Some(toolkits.consents.waiting(live).await?);
            }
        }
        Ok(record)
    }

    /// Returns the picture of a toolkit, by the SHA-256 of its content.
    pub async fn picture(&self, digest: &str) -> Result<Picture, AccessError> {
        let listing = self.all();
        let toolkit = listing.iter().find(|listed| listed.live.picture.as_deref() == Some(digest));
        let toolkit = toolkit.ok_or(ToolkitError::UnknownPicture)?;
        let id = &toolkit.definition.id;
        let version = &toolkit.definition.version;
        let picture = self.user.stores().toolkits.versions.picture(id, version).await?;
        // The picture may have been replaced meanwhile.
        let picture = picture.filter(|picture| picture.digest() == digest);
        Ok(picture.ok_or(ToolkitError::UnknownPicture)?)
    }
}
