//! Settings that are tables of the settings file: `call-time` is `time` in `[call]`.

use serde::Deserialize;

use super::environment::PREFIX;
use super::value::{Endpoint, Maybe, Secret, Size, Span};
use super::{ObjectsLocation, Sources, VARIABLES};

/// The table `[call]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, expecting = "a table, [call], with time and memory")]
pub(super) struct CallTable {
    time: Option<Span>,
    memory: Option<Size>,
}

/// The table `[objects]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a table, [objects], with location, endpoint, region, key-id and secret"
)]
pub(super) struct ObjectsTable {
    location: Option<ObjectsLocation>,
    endpoint: Option<Endpoint>,
    region: Option<String>,
    key_id: Option<Maybe<String>>,
    secret: Option<Maybe<Secret>>,
}

/// Returns the key of a setting in the file: `call-time` is `call.time`, and `objects` is `objects.location`.
pub(super) fn key_of(setting: &str) -> String {
    match setting.split_once('-') {
        None if setting == "objects" => "objects.location".to_owned(),
        Some((table @ ("call" | "objects"), key)) => format!("{table}.{key}"),
        _ => setting.to_owned(),
    }
}

/// Returns what to write instead, for an error about a key that is a setting in a table.
pub(super) fn hint(error: &str) -> Option<String> {
    let key = error.strip_prefix("unknown field `")?.split('`').next()?;
    let variable = format!("{PREFIX}{}", key.replace('-', "_").to_uppercase());
    let in_table = key_of(key);
    (in_table != key && VARIABLES.contains(&&*variable))
        .then(|| format!("`{key}` is `{in_table}` in this file"))
}

impl Sources {
    /// Parses the text of a settings file.
    pub(super) fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        let mut sources: Self = toml::from_str(text)?;
        let CallTable { time, memory } = sources.call_table.take().unwrap_or_default();
        let ObjectsTable { location, endpoint, region, key_id, secret } =
            sources.objects_table.take().unwrap_or_default();
        Ok(Self {
            call_time: time,
            call_memory: memory,
            objects: location,
            objects_endpoint: endpoint,
            objects_region: region,
            objects_key_id: key_id,
            objects_secret: secret,
            ..sources
        })
    }
}
