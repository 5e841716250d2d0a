//! The four tool annotations (behavioural hints) of the Model Context Protocol, and their defaults.

use serde::{Deserialize, Serialize};

/// Behavioural hints of one tool. `None` means that the author did not set the hint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ToolAnnotations {
    /// The tool is read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling again with the same arguments has no further effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool interacts with external systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// Fills in the defaults. Hints that the author set are never changed.
    ///
    /// A tool is read-only unless it is `mutating` or its toolkit may ingest. A read-only tool is
    /// neither destructive nor open-world by default; a tool that writes has no further defaults.
    #[must_use]
    pub fn resolve(self, mutating: bool, toolkit_may_ingest: bool) -> Self {
        let read_only = self.read_only_hint.unwrap_or(!mutating && !toolkit_may_ingest);
        let default_of_read_only = read_only.then_some(false);
        Self {
            read_only_hint: Some(read_only),
            destructive_hint: self.destructive_hint.or(default_of_read_only),
            idempotent_hint: self.idempotent_hint,
            open_world_hint: self.open_world_hint.or(default_of_read_only),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ToolAnnotations;

    fn hints(read_only: bool, rest: Option<bool>) -> ToolAnnotations {
        ToolAnnotations {
            read_only_hint: Some(read_only),
            destructive_hint: rest,
            idempotent_hint: None,
            open_world_hint: rest,
        }
    }

    #[test]
    fn a_plain_tool_is_read_only_and_harmless() {
        assert_eq!(ToolAnnotations::default().resolve(false, false), hints(true, Some(false)));
    }

    #[test]
    fn a_write_tool_claims_nothing_more() {
        assert_eq!(ToolAnnotations::default().resolve(true, false), hints(false, None));
        assert_eq!(ToolAnnotations::default().resolve(false, true), hints(false, None));
    }

    #[test]
    fn the_author_wins_field_by_field() {
        let declared = ToolAnnotations {
            read_only_hint: Some(true),
            open_world_hint: Some(true),
            ..ToolAnnotations::default()
        };

        let resolved = declared.resolve(true, true);

        assert_eq!(resolved.read_only_hint, Some(true));
        assert_eq!(resolved.open_world_hint, Some(true));
        assert_eq!(resolved.destructive_hint, Some(false));
    }
}
