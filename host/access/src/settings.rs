//! A user's own settings for a toolkit.

use std::collections::BTreeMap;

use kitbag_manifest::{ConfigField, config};
use kitbag_toolkits::user_config::{OwnedToolkit, UserConfigError};
use serde_json::{Map, Value};

use super::error::AccessError;
use super::toolkits::VisibleToolkit;

/// A declared setting with the user's value.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The toolkit's declaration.
    pub definition: ConfigField,
    /// The user's value.
    pub value: Option<Value>,
    /// Value that calls receive: the user's, or the declared default.
    pub effective: Option<Value>,
    /// Whether the setting is required and has no value.
    pub missing: bool,
}

impl VisibleToolkit {
    /// Returns all declared settings with the user's values.
    pub async fn settings(&self) -> Result<BTreeMap<String, Setting>, AccessError> {
        let declared = &self.definition().config;
        let stored = &self.user.stores().user_config;
        let mut values = stored.values(self.user.id(), &self.definition().id).await?;
        let mut effective = config::effective(declared, &values);
        let settings = declared.iter().map(|(key, definition)| {
            let effective = effective.remove(key);
            let missing = definition.required && effective.is_none();
            let definition = definition.clone();
            (key.clone(), Setting { definition, value: values.remove(key), effective, missing })
        });
        Ok(settings.collect())
    }

    /// Sets values, and removes those that are `null`. All changes are applied or none, and only if the
    /// toolkit's owner is unchanged.
    pub async fn change_settings(&self, changes: &Map<String, Value>) -> Result<(), AccessError> {
        let stores = self.user.stores();
        stores.disk.room_for_a_little()?;
        if !self.agree_first().await? {
            return Err(UserConfigError::ToolkitChanged.into());
        }
        let definition = self.definition();
        let toolkit = OwnedToolkit { id: &definition.id, owner: self.owner() };
        Ok(stores.user_config.change(self.user.id(), toolkit, &definition.config, changes).await?)
    }
}
