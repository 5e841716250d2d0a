//! `kitbag toolkit diff`

use std::collections::BTreeMap;

use clap::Args;
use http::Method;
use kitbag_manifest::ToolkitDefinition;
use kitbag_toolkits::{Difference, Side};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::difference;
use crate::cli::client::{Client, Connection};
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Compare two versions of a toolkit.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kitbag toolkit diff weather              # the live version with the one deployed before it\n  \
                  kitbag toolkit diff weather 1.2.0        # from 1.2.0 to the live version\n  \
                  kitbag toolkit diff weather 1.2.0 1.3.0\n\n\
                  `kitbag toolkit deploy --review FILE` compares a component that is not deployed."
)]
pub(in crate::cli) struct Diff {
    /// The toolkit's id.
    id: String,
    /// The older version; by default the one that was deployed before the newer one.
    from: Option<String>,
    /// The newer version; by default the live one.
    to: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Versions in a toolkit's record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    live_version: String,
    /// Deployments, newest first.
    versions: Vec<Deployment>,
}

#[derive(Deserialize)]
struct Deployment {
    version: String,
}

#[derive(Deserialize)]
struct Described {
    manifest: ToolkitDefinition,
    imports: Vec<String>,
}

impl<'a> From<&'a Described> for Side<'a> {
    fn from(Described { manifest, imports }: &'a Described) -> Self {
        Self { manifest, imports }
    }
}

impl Diff {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let (from, to) = match (self.from, self.to) {
            (Some(from), Some(to)) => (from, to),
            (from, to) => {
                let path = format!("/toolkits/{}", self.id);
                let record: Record = client.send(Method::GET, &path, "application/json", "").await?;
                let to = to.unwrap_or(record.live_version);
                let earlier = || before(&record.versions, &to);
                let none = || CliError::new(format!("no version of {} was deployed before {to}", self.id));
                (from.or_else(earlier).ok_or_else(none)?, to)
            }
        };
        let before = described(&client, &self.id, &from).await?;
        let after = described(&client, &self.id, &to).await?;
        let difference = Difference::between(Some(Side::from(&before)), Side::from(&after));
        report(&difference, || {
            say!("{} {} → {}", self.id, from, to);
            difference::print(&difference, &BTreeMap::new());
        })
    }
}

/// Version that was deployed before `version`.
fn before(versions: &[Deployment], version: &str) -> Option<String> {
    let mut later = versions.iter().skip_while(|deployed| deployed.version != version);
    later.nth(1).map(|deployed| deployed.version.clone())
}

async fn described(client: &Client, id: &str, version: &str) -> Result<Described, CliError> {
    client.send(Method::GET, &version_path(id, version), "application/json", "").await
}

/// API path of a deployed version.
pub(super) fn version_path(id: &str, version: &str) -> String {
    format!("/toolkits/{id}/versions/{}", utf8_percent_encode(version, NON_ALPHANUMERIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_before_is_the_one_that_was_deployed_before() {
        let versions: Vec<_> =
            ["2.0.0", "1.1.0", "1.0.0"].map(|version| Deployment { version: version.to_owned() }).into();

        assert_eq!(before(&versions, "2.0.0").as_deref(), Some("1.1.0"));
        assert_eq!(before(&versions, "1.0.0"), None);
        assert_eq!(before(&versions, "3.0.0"), None);
    }
}
