//! Conditions for a component that the server has found by itself, so that no older version can pass for a
//! newer one.

use kitbag_manifest::{Problem, ToolkitDefinition};
use semver::Version;

use super::error::ToolkitError;

/// Requirements for the version that follows a toolkit's live one.
#[derive(Clone, Debug)]
pub(super) struct Successor<'a> {
    /// Id of the toolkit.
    pub(super) id: &'a str,
    /// The live version.
    pub(super) live: &'a str,
    /// The version that the tag names, if it names one.
    pub(super) tagged: Option<Version>,
}

impl Successor<'_> {
    /// Rejects another toolkit, a version that is not later than the live one, and one that differs from its
    /// tag.
    pub(super) fn admit(&self, definition: &ToolkitDefinition) -> Result<(), ToolkitError> {
        let Self { id, live, tagged } = self;
        if definition.id != *id {
            return Err(refused("id", format!("it is {:?}, and not {id}: another toolkit", definition.id)));
        }
        let declared = &definition.version;
        let (Ok(version), Ok(current)) = (declared.parse::<Version>(), live.parse::<Version>()) else {
            return Err(refused(
                "version",
                format!("{declared} cannot be compared with {live}, which is live"),
            ));
        };
        if version.cmp_precedence(&current).is_le() {
            return Err(refused("version", format!("it is {declared}, and {live} is live: it is not later")));
        }
        match tagged {
            Some(tagged) if tagged.cmp_precedence(&version).is_ne() => {
                Err(refused("version", format!("it is {declared}, and not {tagged}, which its tag says")))
            }
            _ => Ok(()),
        }
    }
}

fn refused(path: &str, message: String) -> ToolkitError {
    vec![Problem { path: path.to_owned(), message }].into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn admit(live: &str, tag: &str, (id, version): (&str, &str)) -> Result<(), String> {
        let definition = json!({
            "id": id, "name": "Books", "description": "Finds books.", "icon": "book", "version": version,
            "visibility": "shared", "tools": [],
        });
        let definition = serde_json::from_value(definition).expect("a declaration");
        let successor = Successor { id: "books", live, tagged: tag.parse().ok() };
        successor.admit(&definition).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_but_a_later_version_of_the_same_toolkit_that_is_what_its_tag_says_follows() {
        for (live, tag, version) in [
            ("1.5.0", "stable", "1.6.0"),
            ("1.5.0", "1.10.0", "1.10.0"),
            ("1.5.0-rc.1", "stable", "1.5.0"),
            ("1.5.0", "1.6.0", "1.6.0+build"),
        ] {
            assert_eq!(admit(live, tag, ("books", version)), Ok(()), "{live} {tag} {version}");
        }
        for (live, tag, declared, why) in [
            ("1.5.0", "stable", ("books", "1.2.0"), "it is 1.2.0, and 1.5.0 is live"),
            ("1.5.0", "stable", ("books", "1.5.0"), "it is not later"),
            ("1.5.0", "stable", ("books", "1.5.0+later"), "it is not later"),
            ("1.5.0", "stable", ("books", "1.5.0-rc.1"), "it is not later"),
            ("1.5.0", "9.9.9", ("books", "1.2.0"), "it is not later"),
            ("1.5.0", "9.9.9", ("books", "1.6.0"), "it is 1.6.0, and not 9.9.9"),
            ("1.5.0", "1.6.0", ("books", "9.9.9"), "it is 9.9.9, and not 1.6.0"),
            ("1.5.0", "stable", ("books", "new"), "cannot be compared"),
            ("1.5.0", "stable", ("films", "1.6.0"), "another toolkit"),
        ] {
            let refused = admit(live, tag, declared).expect_err(why);
            assert!(refused.contains(why), "{refused}");
        }
    }
}
