//! The setting `objects`.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

/// Location of the files that the database refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectsLocation {
    /// Not set: the data directory.
    Default,
    /// The data directory.
    DataDirectory,
    /// Another folder.
    Folder(PathBuf),
    /// Bucket of Amazon S3 or of a service with the same protocol.
    Bucket {
        /// Bucket name.
        name: String,
        /// Prefix of all object names; may be empty.
        prefix: String,
    },
}

impl FromStr for ObjectsLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let location = match text.split_once(':') {
            None if text == "folder" => Some(Self::DataDirectory),
            Some(("folder", path)) if !path.is_empty() => Some(Self::Folder(path.into())),
            Some(("s3", path)) => path.strip_prefix("//").and_then(bucket),
            _ => None,
        };
        location.ok_or_else(|| {
            "objects is folder, for the data directory, folder:PATH, or s3://BUCKET/PREFIX, where BUCKET is 3 to 63 of a-z, \
             0-9, . and -, and each part of PREFIX is of letters, digits, ., _ and -"
                .to_owned()
        })
    }
}

/// Parses `BUCKET` or `BUCKET/PREFIX`.
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html>
fn bucket(path: &str) -> Option<ObjectsLocation> {
    let (name, prefix) = path.split_once('/').unwrap_or((path, ""));
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let is_named = (3..=63).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'))
        && !name.starts_with(['.', '-'])
        && !name.contains("..");
    // Only names that no store or proxy normalizes.
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    let is_prefix = prefix.is_empty() || (prefix.len() <= 256 && prefix.split('/').all(is_part));
    (is_named && is_prefix)
        .then(|| ObjectsLocation::Bucket { name: name.to_owned(), prefix: prefix.to_owned() })
}

/// Same format as the flag.
impl<'de> Deserialize<'de> for ObjectsLocation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_a_name_and_perhaps_a_prefix() {
        let bucket = |name: &str, prefix: &str| {
            Ok(ObjectsLocation::Bucket { name: name.to_owned(), prefix: prefix.to_owned() })
        };
        assert_eq!("s3://files".parse(), bucket("files", ""));
        assert_eq!("s3://files/".parse(), bucket("files", ""));
        assert_eq!("s3://kb.example-1/of/Kitbag_1/".parse(), bucket("kb.example-1", "of/Kitbag_1"));
    }

    #[test]
    fn nothing_else_is_a_place() {
        let long = format!("s3://files/{}", "p".repeat(257));
        for wrong in [
            "",
            "bucket",
            "folder:",
            "s3:files",
            "s3:/files",
            "s3://",
            "s3://ab",
            "s3://Files",
            "s3://-files",
            "s3://a..b",
            "s3://user@files",
            "s3://files:9000",
            "s3://files//a",
            "s3://files/../other",
            "s3://files/a b",
            "s3://files/a?b",
            "s3://files/ä",
            &long,
        ] {
            assert!(wrong.parse::<ObjectsLocation>().is_err(), "{wrong}");
        }
    }
}
