//! Review of an upload: its changes, and the forms that deploy or discard it.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::values::toolkits::{Claim, DeployTerms, LiveVersion, Review, Reviewed, ToolkitError};
use kitbag_access::{AccessError, Operator};
use kitbag_manifest::{Problem, portability};

use super::back_after_discard;
use crate::authenticate::By;
use crate::error::WebError;
use crate::ui::difference::{self, ShownDifference};
use crate::ui::form::Form;
use crate::ui::frame::{self, Frame, Section};
use crate::ui::text;
use crate::ui::versions::{self, Done};

#[derive(Template)]
#[template(path = "ui/templates/review.html")]
struct ReviewPage {
    frame: Option<Frame>,
    review: Review,
    difference: ShownDifference,
    /// Parts of the upload that some clients refuse.
    warnings: Vec<Problem>,
    size: String,
    /// Whether the toolkit belongs to another operator.
    is_others: bool,
    /// Whether a deploy makes the operator the owner, even without `take-over`.
    changes_owner: bool,
    /// Reason why the submitted form had no effect.
    problem: Option<String>,
}

/// Redirects to the review of an upload.
pub(super) fn redirect_to(digest: &str) -> Redirect {
    Redirect::to(&format!("/ui/operate/uploads/{digest}"))
}

/// `GET /ui/operate/uploads/{digest}`
pub(in crate::ui) async fn show(
    By(operator): By<Operator>,
    frame: Frame,
    Path(digest): Path<String>,
) -> Result<Response, WebError> {
    page(&operator, frame, &digest, StatusCode::OK, None).await
}

/// `POST /ui/operate/uploads/{digest}/deploy`: the reviewed state (`manifest-digest`, and the live version as
/// `live-version` and `live-digest`, empty for none), `read` from the checkbox, `take-over`, and `vouch` with
/// a reason.
pub(in crate::ui) async fn deploy(
    By(operator): By<Operator>,
    frame: Frame,
    Path(digest): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    if form.find("read").is_none() {
        let problem = "Nothing was deployed: confirm that you have read what is new.".to_owned();
        return page(&operator, frame, &digest, StatusCode::UNPROCESSABLE_ENTITY, Some(problem)).await;
    }
    let claim = if form.find("take-over").is_some() { Claim::TakeOver } else { Claim::OwnOnly };
    let vouch = match versions::vouch_of(&form) {
        Ok(vouch) => vouch,
        Err(why) => {
            let problem = format!("Nothing was deployed: {why}.");
            return page(&operator, frame, &digest, StatusCode::UNPROCESSABLE_ENTITY, Some(problem)).await;
        }
    };
    let manifest_digest = form.get("manifest-digest").to_owned();
    let reviewed = Reviewed { live: reviewed_live(&form), manifest_digest };
    match operator.reviews().deploy(&digest, DeployTerms { claim, vouch }, reviewed).await {
        Ok(deployed) => {
            let is_new_owner = deployed.taken_over.is_some();
            let done = if is_new_owner { Done::DeployedAsNewOwner } else { Done::Deployed };
            Ok(versions::back_to(&deployed.id, done).into_response())
        }
        Err(AccessError::Toolkit(
            error @ (ToolkitError::LiveChanged { .. } | ToolkitError::ManifestChanged(_)),
        )) => {
            let problem = format!("Nothing was deployed: {error}. The page shows the new difference.");
            page(&operator, frame, &digest, StatusCode::CONFLICT, Some(problem)).await
        }
        Err(error) => Err(error.into()),
    }
}

/// `POST /ui/operate/uploads/{digest}/discard`
pub(in crate::ui) async fn discard(
    By(operator): By<Operator>,
    Path(digest): Path<String>,
) -> Result<Redirect, WebError> {
    operator.reviews().discard(&digest).await?;
    Ok(back_after_discard())
}

/// Returns the live version in a form; `None` if it is empty.
fn reviewed_live(form: &Form) -> Option<LiveVersion> {
    let version = form.get("live-version").to_owned();
    let digest = form.get("live-digest").to_owned();
    if version.is_empty() { None } else { Some(LiveVersion { version, digest }) }
}

async fn page(
    operator: &Operator,
    frame: Frame,
    digest: &str,
    status: StatusCode,
    problem: Option<String>,
) -> Result<Response, WebError> {
    let mut review = operator.reviews().get(digest).await?;
    let difference = std::mem::take(&mut review.difference);
    let page = ReviewPage {
        is_others: review.owner.as_ref().is_some_and(|owner| *owner != frame.user),
        changes_owner: review.changes_owner(&frame.user),
        frame: Some(frame.at(Section::Operate)),
        difference: ShownDifference::of(difference, &review.secret_users, &review.refused_hosts),
        warnings: portability::warnings(&review.manifest),
        size: text::size(u64::try_from(review.upload.size).unwrap_or_default()),
        review,
        problem,
    };
    Ok(frame::page(status, &page))
}
