//! `kitbag toolkit share | unshare`

use std::num::NonZeroU32;

use clap::{ArgGroup, Args};
use http::Method;
use kitbag_identity::Subject;
use kitbag_toolkits::audience::{CallLimits, Grant};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::client::Connection;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;
use crate::cli::whom::{Whom, note_unseen, query_parameter};

/// Share a toolkit with groups or users, and limit their calls; without any, list with whom it is shared.
#[derive(Args, Debug)]
#[command(
    after_help = "Its owner may do this and, of a toolkit that is not private, any operator. Once it is shared with \
                  somebody it is for them and its owner alone. A limit of a group is for all members together, or \
                  with --each for each.\n\n\
                  Examples:\n  kitbag toolkit share weather --group sales --rate 60/m --quota 1000/d\n  \
                  kitbag toolkit share weather --user ana --tool forecast\n  kitbag toolkit share weather"
)]
#[command(group(ArgGroup::new("limits").args(["rate", "quota"]).multiple(true).requires("whom")))]
pub(in crate::cli) struct Share {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    whom: Whom,
    /// Only this tool; may be repeated.
    #[arg(long, value_name = "TOOL", requires = "whom")]
    tool: Vec<String>,
    /// Calls in each minute, such as 60/m; by default any number.
    #[arg(long, value_name = "N/m", value_parser = |text: &str| limit(text, "m"))]
    rate: Option<NonZeroU32>,
    /// Calls in each day (UTC), such as 1000/d.
    #[arg(long, value_name = "N/d", value_parser = |text: &str| limit(text, "d"))]
    quota: Option<NonZeroU32>,
    /// The limits are those of each member of a group.
    #[arg(long, requires = "limits")]
    each: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Share a toolkit no longer with a group, a user or everyone.
#[derive(Args, Debug)]
#[command(
    after_help = "`kitbag toolkit share ID` lists with whom it is shared. The last of them cannot be removed \
                        unless the toolkit is private: it would be for everyone. Share it with everyone first, or with its owner \
                        alone."
)]
pub(in crate::cli) struct Unshare {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    whom: Whom,
    /// Only this tool; by default whatever is shared with them.
    #[arg(long, value_name = "TOOL", requires = "whom")]
    tool: Vec<String>,
    #[command(flatten)]
    connection: Connection,
}

impl Share {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, whom, tool, rate, quota, each, connection } = self;
        let client = connection.open().await?;
        let subjects = whom.subjects();
        let path = path(&id);
        if !subjects.is_empty() {
            let grants = subjects.iter().flat_map(|subject| {
                // `each` has no meaning for a single user.
                let each = each && matches!(subject, Subject::Group(_));
                let limits = CallLimits { per_minute: rate, per_day: quota, each };
                let tools = tools(&tool);
                tools.into_iter().map(move |tool| Grant { subject: subject.clone(), tool, limits })
            });
            let body = json!({ "grants": grants.collect::<Vec<_>>() });
            let shared = client.send(Method::POST, &path, "application/json", body.to_string()).await?;
            note_unseen(&client, &subjects).await;
            return show(&id, &shared);
        }
        show(&id, &client.send(Method::GET, &path, "application/json", "").await?)
    }
}

impl Unshare {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, whom, tool, connection } = self;
        let subjects = whom.removed_subjects()?;
        let client = connection.open().await?;
        for subject in &subjects {
            let whom = query_parameter(subject);
            for tool in tools(&tool) {
                let tool = tool.map(|tool| format!("&tool={}", path_segment(&tool))).unwrap_or_default();
                client.delete(&format!("{}?{whom}{tool}", path(&id))).await?;
            }
        }
        show(&id, &client.send(Method::GET, &path(&id), "application/json", "").await?)
    }
}

/// Named tools; `None`: all tools.
fn tools(named: &[String]) -> Vec<Option<String>> {
    if named.is_empty() { vec![None] } else { named.iter().cloned().map(Some).collect() }
}

fn path(id: &str) -> String {
    format!("/toolkits/{}/audience", path_segment(id))
}

#[derive(Serialize, Deserialize)]
struct Grants {
    grants: Vec<Grant>,
}

fn show(id: &str, listed: &Grants) -> Result<(), CliError> {
    let Grants { grants } = listed;
    report(listed, || {
        if grants.is_empty() {
            say!(
                "{} is shared with nobody by name: for everyone if it is shared, for its owner if it is private.",
                id
            );
            return;
        }
        say!("{} is for its owner and", id);
        for line in grants.iter().map(line) {
            say!("  {}", line);
        }
    })
}

/// Formats a grant as a line, such as `group:sales    all tools       60/m, 1000/d`.
pub(super) fn line(grant: &Grant) -> String {
    let subject = grant.subject.to_string();
    let limits = grant.limits.to_string();
    let tool = grant.tool.as_deref().unwrap_or("all tools");
    format!("{subject:<24} {tool:<24} {limits}").trim_end().to_owned()
}

/// Parses a number of calls such as `60/m`; the unit is optional.
fn limit(text: &str, unit: &str) -> Result<NonZeroU32, String> {
    let number = text.strip_suffix(unit).and_then(|text| text.strip_suffix('/')).unwrap_or(text);
    number.parse().map_err(|_| format!("a number of calls from 1 on, such as 60/{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_with_its_unit_or_without() {
        assert_eq!(limit("60/m", "m").map(NonZeroU32::get), Ok(60));
        assert_eq!(limit("1000", "d").map(NonZeroU32::get), Ok(1000));
        for refused in ["", "0", "0/m", "-1/m", "60/d", "60m", "/m", "1.5/m", "4294967296/m"] {
            assert!(limit(refused, "m").is_err(), "{refused}");
        }
    }
}
