//! Versions of a toolkit, for operators: deployers, differences, and rollback.

pub(super) mod change;

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use kitbag_access::values::toolkits::{ToolkitRecord, VersionRecord, VouchReason};
use kitbag_access::{Operator, User};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::difference::{self, ShownDifference};
use super::form::Form;
use super::frame::{self, Frame, Section};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;

/// Outcome of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Done {
    Deployed,
    DeployedAsNewOwner,
    RolledBack,
    RolledBackAsNewOwner,
    Released,
    TakenOver,
}

/// The operator's reason for vouching for a version, in a form; `None` if there is none.
pub(super) fn vouch_of(form: &Form) -> Result<Option<VouchReason>, String> {
    let reason = form.get("vouch").trim();
    if reason.is_empty() { Ok(None) } else { reason.parse().map(Some) }
}

/// Query string of the page: the versions to compare.
#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    done: Option<Done>,
}

#[derive(Template)]
#[template(path = "ui/templates/versions.html")]
struct VersionsPage {
    frame: Option<Frame>,
    record: ToolkitRecord,
    /// Digest of the live version.
    live_digest: String,
    comparison: Option<Comparison>,
    is_own: bool,
    /// Whether the operator may call the toolkit, so that the links to its page work.
    is_callable: bool,
    done: Option<Done>,
    /// Reason why the submitted form had no effect.
    problem: Option<String>,
}

/// Comparison of two versions.
struct Comparison {
    from: String,
    to: String,
    difference: ShownDifference,
    /// Digests of the component of `to` and of its manifest.
    digest: String,
    manifest_digest: String,
    /// Whether a rollback to `to` is possible: only if `from` is live.
    may_go_live: bool,
    /// Whether that rollback makes the operator the owner.
    changes_owner: bool,
}

impl Done {
    fn message(self) -> &'static str {
        match self {
            Self::Deployed => "The version is live. Clients see its tools from now on.",
            Self::DeployedAsNewOwner => {
                "The version is live, and the toolkit is yours now. The secrets and settings that users had set for \
                 it are gone."
            }
            Self::RolledBack => "The version is live again.",
            Self::RolledBackAsNewOwner => {
                "The version is live again, and the toolkit is yours now. The secrets and settings that users had \
                 set for it are gone."
            }
            Self::Released => {
                "The toolkit is released: the next operator who needs to own it becomes its owner."
            }
            Self::TakenOver => {
                "The toolkit is yours. The secrets and settings that users had set for it are gone."
            }
        }
    }
}

/// Redirects to the versions of a toolkit, with a notice of the outcome.
pub(super) fn back_to(toolkit: &str, done: Done) -> Redirect {
    let done = serde_json::to_value(done).expect("a name");
    Redirect::to(&format!("/ui/toolkits/{toolkit}/versions?done={}", done.as_str().unwrap_or_default()))
}

/// `GET /ui/toolkits/{id}/versions?from=…&to=…`
pub(super) async fn show(
    By(user): By<User>,
    By(operator): By<Operator>,
    frame: Frame,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, WebError> {
    page(&user, &operator, frame, &id, &wanted, StatusCode::OK, None).await
}

async fn page(
    user: &User,
    operator: &Operator,
    frame: Frame,
    id: &str,
    wanted: &Wanted,
    status: StatusCode,
    problem: Option<String>,
) -> Result<Response, WebError> {
    let record = user.listed().record(id).await?;
    let is_own = record.owner == frame.user;
    let comparison = match (wanted.from.as_str(), wanted.to.as_str()) {
        ("", _) | (_, "") => None,
        (from, to) => {
            let compared = operator.versions().compare(id, from, to).await?;
            let may_go_live = from == record.live_version && to != record.live_version;
            Some(Comparison {
                from: from.to_owned(),
                to: to.to_owned(),
                difference: ShownDifference::of(
                    compared.difference,
                    &compared.secret_users,
                    &compared.refused_hosts,
                ),
                digest: compared.digest,
                manifest_digest: compared.manifest_digest,
                may_go_live,
                changes_owner: may_go_live && record.released && !is_own && compared.is_private,
            })
        }
    };
    let live = record.versions.iter().find(|version| version.version == record.live_version);
    let page = VersionsPage {
        is_own,
        is_callable: user.toolkit(id).is_ok(),
        frame: Some(frame.at(Section::Operate)),
        live_digest: live.map(|live| live.digest.clone()).unwrap_or_default(),
        comparison,
        record,
        done: wanted.done,
        problem,
    };
    Ok(frame::page(status, &page))
}

impl VersionsPage {
    fn is_live(&self, version: &VersionRecord) -> bool {
        version.version == self.record.live_version
    }

    /// Whether the version is preselected as the first one to compare: that of the shown comparison, or the
    /// live one.
    fn is_from(&self, version: &VersionRecord) -> bool {
        let shown = self.comparison.as_ref().map(|comparison| &comparison.from);
        version.version == *shown.unwrap_or(&self.record.live_version)
    }

    /// Whether the version is preselected as the second one to compare: that of the shown comparison. Without
    /// one, the browser selects the first option, the newest version.
    fn is_to(&self, version: &VersionRecord) -> bool {
        let shown = self.comparison.as_ref().map(|comparison| &comparison.to);
        shown.is_some_and(|shown| version.version == *shown)
    }

    /// Path of the page that compares the live version with another one. Absolute, since the response to a
    /// refused form is this page at another path.
    fn comparison_with(&self, version: &VersionRecord) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let from = encoded(&self.record.live_version);
        let to = encoded(&version.version);
        format!("/ui/toolkits/{}/versions?from={from}&to={to}#comparison", self.record.id)
    }
}
