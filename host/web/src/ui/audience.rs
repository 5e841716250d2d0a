//! Audience page of a toolkit, for operators: grants with their limits, and the forms that change them.

use std::num::NonZeroU32;

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::values::toolkits::ToolkitError;
use kitbag_access::values::toolkits::audience::{CallLimits, Grant};
use kitbag_access::{AccessError, ListedToolkit, Operator, User};
use kitbag_manifest::Visibility;
use serde::Deserialize;

use super::form::Form;
use super::frame::{self, Frame, Section};
use super::subject::{KnownGroups, SubjectRow, subject};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;

/// Query string of the page.
#[derive(Deserialize)]
pub(super) struct After {
    #[serde(default)]
    done: bool,
}

#[derive(Template)]
#[template(path = "ui/templates/audience.html")]
struct AudiencePage {
    frame: Option<Frame>,
    toolkit: ListedToolkit,
    grants: Vec<Row>,
    /// Names of groups to suggest.
    groups: Vec<String>,
    is_private: bool,
    is_callable: bool,
    is_done: bool,
    /// Reason why the submitted form had no effect.
    problem: Option<String>,
    /// The submitted form, to show its values again.
    typed: Form,
}

/// A grant, with the form fields that identify it.
struct Row {
    subject: SubjectRow,
    grant: Grant,
}

/// `GET /ui/toolkits/{id}/audience`
pub(super) async fn show(
    By(user): By<User>,
    _: By<Operator>,
    frame: Frame,
    Path(id): Path<String>,
    Query(After { done }): Query<After>,
) -> Result<Response, WebError> {
    page(&user, frame, &id, done, None).await
}

/// `POST /ui/toolkits/{id}/audience`: the fields `kind` and `name` (of the subject), `tool`, `rate`, `quota`
/// and `each`.
pub(super) async fn share(
    By(user): By<User>,
    By(operator): By<Operator>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let grant = match grant(&form) {
        Ok(grant) => grant,
        Err(problem) => return page(&user, frame, &id, false, Some((problem, form))).await,
    };
    match operator.audiences().share(&id, vec![grant]).await {
        Err(
            refused @ (AccessError::NoSuchTool { .. } | AccessError::Toolkit(ToolkitError::TooManyGrants)),
        ) => page(&user, frame, &id, false, Some((refused.to_string(), form))).await,
        shared => shared.map(|()| back(&id).into_response()).map_err(WebError::from),
    }
}

/// `POST /ui/toolkits/{id}/audience/unshare`: the fields `kind` and `name`, and `tool` for the grants of one
/// tool.
pub(super) async fn unshare(
    By(user): By<User>,
    By(operator): By<Operator>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let subject = subject(&form).map_err(|why| WebError::new(StatusCode::BAD_REQUEST, why))?;
    match operator.audiences().unshare(&id, subject, tool(&form)).await {
        // Already removed by another operator.
        Err(AccessError::Toolkit(ToolkitError::NotShared { .. })) => {}
        Err(refused @ AccessError::Toolkit(ToolkitError::LastGrant { .. })) => {
            return page(&user, frame, &id, false, Some((refused.to_string(), Form::default()))).await;
        }
        unshared => unshared?,
    }
    Ok(back(&id).into_response())
}

fn back(id: &str) -> Redirect {
    Redirect::to(&format!("/ui/toolkits/{id}/audience?done=true"))
}

async fn page(
    user: &User,
    frame: Frame,
    id: &str,
    is_done: bool,
    refused: Option<(String, Form)>,
) -> Result<Response, WebError> {
    let listed = user.listed().all().into_iter().find(|it| it.definition.id == id);
    let toolkit = listed.ok_or_else(|| AccessError::from(ToolkitError::Unknown(id.to_owned())))?;
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let (problem, typed) = refused.unzip();
    let known = KnownGroups::read(user).await?;
    let page = AudiencePage {
        frame: Some(frame.at(Section::Operate)),
        grants: toolkit.live.audience.grants().iter().map(|grant| Row::of(grant, &known)).collect(),
        groups: known.names(),
        is_private: toolkit.definition.visibility == Visibility::Private,
        is_callable: user.toolkit(id).is_ok(),
        toolkit,
        is_done,
        problem,
        typed: typed.unwrap_or_default(),
    };
    Ok(frame::page(status, &page))
}

impl Row {
    fn of(grant: &Grant, known: &KnownGroups) -> Self {
        Self { subject: SubjectRow::of(&grant.subject, known), grant: grant.clone() }
    }
}

fn grant(form: &Form) -> Result<Grant, String> {
    let limits = CallLimits {
        per_minute: limit(form.get("rate"))?,
        per_day: limit(form.get("quota"))?,
        each: form.get("kind") == "group" && form.find("each").is_some(),
    };
    Ok(Grant { subject: subject(form)?, tool: tool(form), limits })
}

fn tool(form: &Form) -> Option<String> {
    form.find("tool").filter(|tool| !tool.is_empty()).map(str::to_owned)
}

fn limit(text: &str) -> Result<Option<NonZeroU32>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let limit = text.parse().map(Some);
    limit.map_err(|_| "Nothing was changed: a limit is a number of calls from 1 on, or empty.".to_owned())
}
