//! Consent page: shows capabilities of a toolkit that the user has not consented to yet.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kitbag_access::{AccessError, ConsentStatus, User, VisibleToolkit};
use kitbag_manifest::ToolkitDefinition;

use super::{Done, back_to};
use crate::authenticate::By;
use crate::error::WebError;
use crate::ui::form::Form;
use crate::ui::frame::{self, Frame, Section};
use crate::ui::icon::Icon;
use crate::ui::text;

#[derive(Template)]
#[template(path = "ui/templates/consent.html")]
struct ConsentPage<'a> {
    frame: Option<Frame>,
    definition: &'a ToolkitDefinition,
    icon: Icon,
    status: ConsentStatus,
    /// Reason why the submitted form had no effect.
    problem: Option<String>,
}

/// `GET /ui/toolkits/{id}/consent`
pub(in crate::ui) async fn show(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    page(frame, &user.toolkit(&id)?, StatusCode::OK, None).await
}

/// `POST /ui/toolkits/{id}/consent`: the field `digest`, of the capabilities that the page showed.
pub(in crate::ui) async fn agree(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let toolkit = user.toolkit(&id)?;
    let form = Form::read(body).await?;
    match toolkit.agree(form.get("digest")).await {
        Ok(()) => Ok(back_to(&id, Done::Agreed).into_response()),
        Err(error @ AccessError::ReachChanged(_)) => {
            page(frame, &toolkit, StatusCode::CONFLICT, Some(error.to_string())).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn page(
    frame: Frame,
    toolkit: &VisibleToolkit,
    status: StatusCode,
    problem: Option<String>,
) -> Result<Response, WebError> {
    let page = ConsentPage {
        frame: Some(frame.at(Section::Directory)),
        definition: toolkit.definition(),
        icon: Icon::of(toolkit.live()),
        status: toolkit.consent().await?,
        problem,
    };
    Ok(frame::page(status, &page))
}
