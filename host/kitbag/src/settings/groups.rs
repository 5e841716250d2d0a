//! Groups of the users of local sign-in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

/// Groups of each user: a table of lists in the file, `ana=sales,ana=support` in a flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalGroups(BTreeMap<String, BTreeSet<String>>);

impl LocalGroups {
    /// Iterates over users with the names of their groups.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &BTreeSet<String>)> {
        self.0.iter()
    }

    /// Whether no user is in any group.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for LocalGroups {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut groups = Self::default();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some((user, group)) if !user.is_empty() && !group.is_empty() => {
                    groups.0.entry(user.to_owned()).or_default().insert(group.to_owned());
                }
                _ => return Err("groups are such as ana=sales,ana=support,ben=sales".to_owned()),
            }
        }
        Ok(groups)
    }
}

impl<'de> Deserialize<'de> for LocalGroups {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TableOrText;

        impl<'de> de::Visitor<'de> for TableOrText {
            type Value = LocalGroups;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a table of users with lists of groups, such as { ana = [\"sales\"] }")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<LocalGroups, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut users: A) -> Result<LocalGroups, A::Error> {
                let mut groups = LocalGroups::default();
                while let Some((user, names)) = users.next_entry()? {
                    groups.0.insert(user, names);
                }
                Ok(groups)
            }
        }

        deserializer.deserialize_any(TableOrText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_a_flag_say_the_same() {
        #[derive(Deserialize)]
        struct File {
            groups: LocalGroups,
        }
        let table: File =
            toml::from_str(r#"groups = { ana = ["sales", "support"], ben = ["sales"] }"#).expect("groups");
        let text: File = toml::from_str(r#"groups = "ana=sales, ana=support, ben=sales""#).expect("groups");
        assert_eq!(table.groups, text.groups);
        assert_eq!(table.groups.iter().count(), 2);
        assert!("".parse::<LocalGroups>().expect("no groups").is_empty());
        for malformed in ["ana", "ana=", "=sales", "ana=sales,ben"] {
            assert!(malformed.parse::<LocalGroups>().is_err(), "{malformed}");
        }
        assert!(toml::from_str::<File>(r#"groups = ["sales"]"#).is_err());
        assert!(toml::from_str::<File>(r#"groups = { ana = "sales" }"#).is_err());
    }
}
