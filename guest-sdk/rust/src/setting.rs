//! Settings that a user fills in on the toolkit's page.

use kitbag_manifest::{ConfigField, ConfigKind};
use serde_json::Value;

/// One setting: its type, label, help text and default.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// Toolkit::new("weather", "Weather")
///     .config("units", Setting::select("Units", ["metric", "imperial"]).default("metric"))
///     .config("days", Setting::number("Days ahead").description("1 to 16").default(3));
/// ```
#[derive(Clone, Debug)]
pub struct Setting(ConfigField);

impl Setting {
    /// Creates a setting for free text.
    pub fn string(label: impl Into<String>) -> Self {
        Self::of(ConfigKind::String, label.into())
    }

    /// Creates a setting for any JSON number.
    pub fn number(label: impl Into<String>) -> Self {
        Self::of(ConfigKind::Number, label.into())
    }

    /// Creates a setting that is on or off.
    pub fn boolean(label: impl Into<String>) -> Self {
        Self::of(ConfigKind::Boolean, label.into())
    }

    /// Creates a setting whose value is one of `options`.
    pub fn select<O: Into<String>>(label: impl Into<String>, options: impl IntoIterator<Item = O>) -> Self {
        let mut setting = Self::of(ConfigKind::Select, label.into());
        setting.0.options = options.into_iter().map(Into::into).collect();
        setting
    }

    /// Sets the help text.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.0.description = Some(text.into());
        self
    }

    /// Sets the default value, used if the user sets none.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.0.default = Some(value.into());
        self
    }

    /// Marks the setting as required.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.0.required = true;
        self
    }

    pub(crate) fn into_field(self) -> ConfigField {
        self.0
    }

    fn of(kind: ConfigKind, label: String) -> Self {
        Self(ConfigField { kind, label, ..ConfigField::default() })
    }
}
