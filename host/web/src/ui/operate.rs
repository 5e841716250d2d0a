//! Operators' pages: pending uploads, the upload form, and failing toolkits.

pub(super) mod review;

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::values::invocations::Failing;
use kitbag_access::values::toolkits::{Incoming, NewerState, Origin, ToolkitError, Tracked, UploadRecord};
use kitbag_access::{AccessError, Operator};
use kitbag_base::signatures::InvalidSignature;
use kitbag_manifest::Problem;
use serde::Deserialize;

use super::frame::{self, Frame, Section};
use super::{multipart, text};
use crate::authenticate::By;
use crate::documents::declared_length;
use crate::error::WebError;
use crate::state::Shared;

/// Outcome of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Done {
    Discarded,
}

/// Query string of the page.
#[derive(Deserialize)]
pub(super) struct After {
    done: Option<Done>,
}

#[derive(Template)]
#[template(path = "ui/templates/operate.html")]
struct OperatePage {
    frame: Option<Frame>,
    uploads: Vec<UploadRecord>,
    /// Toolkits with a newer version in the registry, or with a problem.
    updates: Vec<Tracked>,
    max_size: String,
    failing: Vec<Failing>,
    /// Reasons why an upload was refused.
    problems: Vec<Problem>,
    is_discarded: bool,
}

/// `GET /ui/operate`
pub(super) async fn show(
    State(shared): State<Shared>,
    By(operator): By<Operator>,
    frame: Frame,
    Query(After { done }): Query<After>,
) -> Result<Response, WebError> {
    let is_discarded = done == Some(Done::Discarded);
    page(&shared, &operator, frame, Vec::new(), is_discarded).await
}

/// `POST /ui/operate/uploads`: a form with an optional `signature` in base64, followed by a component.
pub(super) async fn receive(
    State(shared): State<Shared>,
    By(operator): By<Operator>,
    frame: Frame,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, WebError> {
    let multipart::Upload { form, file } = multipart::read(&headers, body).await?;
    let Some(component) = file else {
        let detail = "Nothing was uploaded: choose a file first.";
        return Err(WebError::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    };
    let signature = Some(form.get("signature").trim()).filter(|text| !text.is_empty());
    let signature = signature.map(str::parse).transpose().map_err(|error: InvalidSignature| {
        WebError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("Nothing was uploaded: what was given is {error}."),
        )
    })?;
    let component = Incoming {
        bytes: component.content,
        // The declared length includes the form's overhead.
        length: declared_length(&headers).map(|length| length.min(shared.component_size)),
        limit: shared.component_size,
        origin: Origin { signature, ..Origin::default() },
    };
    match operator.reviews().upload(component).await {
        Ok(review) => Ok(review::redirect_to(&review.upload.digest).into_response()),
        Err(AccessError::Toolkit(ToolkitError::Refused(problems))) => {
            page(&shared, &operator, frame, problems.0, false).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn page(
    shared: &Shared,
    operator: &Operator,
    frame: Frame,
    problems: Vec<Problem>,
    is_discarded: bool,
) -> Result<Response, WebError> {
    let status = if problems.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let updates = operator.reviews().newer_versions().await?.into_iter();
    let page = OperatePage {
        frame: Some(frame.at(Section::Operate)),
        uploads: operator.reviews().waiting().await?,
        updates: updates.filter(|it| it.newer.is_some() || it.problem.is_some()).collect(),
        max_size: text::size(shared.component_size),
        failing: operator.failing().await?,
        problems,
        is_discarded,
    };
    Ok(frame::page(status, &page))
}

/// Redirects to the page with a notice that an upload was discarded.
fn back_after_discard() -> Redirect {
    Redirect::to("/ui/operate?done=discarded")
}
