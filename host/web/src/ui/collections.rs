//! Pages of collections: the list, and a single collection with its members.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::User;
use kitbag_access::values::collections::{Collection, CollectionError, Description, Membership, Role};
use kitbag_access::values::knowledge::Counts;
use serde::Deserialize;

use super::form::Form;
use super::frame::{self, Frame, Section};
use super::subject::{KnownGroups, SubjectRow, subject};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;

/// Query string of the pages: the act of the previous form.
#[derive(Deserialize)]
pub(super) struct After {
    done: Option<Done>,
}

/// Act that the previous form performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Done {
    Made,
    Changed,
    Deleted,
    Restored,
    Purged,
}

#[derive(Template)]
#[template(path = "ui/templates/collections.html")]
struct CollectionsPage {
    frame: Option<Frame>,
    tab: &'static str,
    collections: Vec<(Arc<Collection>, Role)>,
    deleted: Vec<Arc<Collection>>,
    may_create: bool,
    done: Option<Done>,
    /// Reason why the submitted form had no effect.
    problem: Option<String>,
    /// The submitted form, to show its values again.
    typed: Form,
}

#[derive(Template)]
#[template(path = "ui/templates/collection.html")]
struct CollectionPage {
    frame: Option<Frame>,
    collection: Arc<Collection>,
    is_curator: bool,
    members: Vec<Row>,
    /// Names of groups to suggest.
    groups: Vec<String>,
    counts: Counts,
    usage: String,
    done: Option<Done>,
    problem: Option<String>,
    typed: Form,
}

/// A member, with the form fields that identify it.
struct Row {
    subject: SubjectRow,
    role: Role,
}

impl Done {
    fn message(self) -> &'static str {
        match self {
            Self::Made => "The collection is there. Share it with those who should read it.",
            Self::Changed => "It is changed, from the next request on.",
            Self::Deleted => "The collection is in the bin, with its documents.",
            Self::Restored => "The collection is back, with its documents.",
            Self::Purged => "The collection is gone, with its documents.",
        }
    }
}

/// `GET /ui/collections`
pub(super) async fn list(By(user): By<User>, frame: Frame, Query(After { done }): Query<After>) -> Response {
    list_page(&user, frame, done, None)
}

/// `POST /ui/collections`: the fields `id`, `name` and `description`.
pub(super) async fn create(By(user): By<User>, frame: Frame, body: Body) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let id = form.get("id").trim().to_owned();
    match user.collections().create(&id, &description(&form)).await {
        Ok(()) => Ok(to(&format!("/ui/collections/{id}?done=made"))),
        Err(error) => Ok(list_page(&user, frame, None, Some((in_words(error)?, form)))),
    }
}

/// `GET /ui/collections/{id}`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    Query(After { done }): Query<After>,
) -> Result<Response, WebError> {
    page(&user, frame, &id, done, None).await
}

/// `POST /ui/collections/{id}`: the fields `name` and `description`.
pub(super) async fn describe(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let described = user.collections().describe(&id, &description(&form)).await;
    changed(&user, frame, &id, described, form).await
}

/// `POST /ui/collections/{id}/share`: the fields `kind` and `name` of the subject, and `role`.
pub(super) async fn share(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let role = if form.get("role") == "curator" { Role::Curator } else { Role::Reader };
    let shared = match subject(&form) {
        Ok(subject) => user.collections().share(&id, &[Membership { subject, role }]).await,
        Err(problem) => return page(&user, frame, &id, None, Some((problem, form))).await,
    };
    changed(&user, frame, &id, shared, form).await
}

/// `POST /ui/collections/{id}/unshare`: the fields `kind` and `name`.
pub(super) async fn unshare(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let subject = subject(&form).map_err(|why| WebError::new(StatusCode::BAD_REQUEST, why))?;
    let unshared = match user.collections().unshare(&id, &subject).await {
        // Another curator was faster.
        Err(CollectionError::NotShared { .. }) => Ok(()),
        unshared => unshared,
    };
    if unshared.is_ok() && user.collections().get(&id).is_err() {
        // They have removed themselves.
        return Ok(to("/ui/collections?done=changed"));
    }
    changed(&user, frame, &id, unshared, Form::default()).await
}

/// `POST /ui/collections/{id}/delete`
pub(super) async fn delete(By(user): By<User>, Path(id): Path<String>) -> Result<Response, WebError> {
    user.collections().delete(&id).await?;
    Ok(to("/ui/collections?done=deleted"))
}

/// `POST /ui/collections/{id}/restore`
pub(super) async fn restore(By(user): By<User>, Path(id): Path<String>) -> Result<Response, WebError> {
    user.collections().restore(&id).await?;
    Ok(to(&format!("/ui/collections/{id}?done=restored")))
}

/// `POST /ui/collections/{id}/purge`
pub(super) async fn purge(By(user): By<User>, Path(id): Path<String>) -> Result<Response, WebError> {
    user.collections().purge(&id).await?;
    Ok(to("/ui/collections?done=purged"))
}

fn to(path: &str) -> Response {
    Redirect::to(path).into_response()
}

fn description(form: &Form) -> Description {
    let field = |name| form.get(name).trim().to_owned();
    Description { name: field("name"), description: field("description") }
}

/// Reason that a form shows; other errors are pages of their own.
fn in_words(error: CollectionError) -> Result<String, WebError> {
    match error {
        CollectionError::Unknown(_) | CollectionError::Storage(_) | CollectionError::Interrupted(_) => {
            Err(error.into())
        }
        error => Ok(WebError::from(error).into_parts().1),
    }
}

/// Answers a form about a collection.
async fn changed(
    user: &User,
    frame: Frame,
    id: &str,
    changed: Result<(), CollectionError>,
    form: Form,
) -> Result<Response, WebError> {
    match changed {
        Ok(()) => Ok(to(&format!("/ui/collections/{id}?done=changed"))),
        Err(error) => page(user, frame, id, None, Some((in_words(error)?, form))).await,
    }
}

fn list_page(user: &User, frame: Frame, done: Option<Done>, refused: Option<(String, Form)>) -> Response {
    let collections = user.collections();
    let (status, problem, typed) = refusal(refused);
    let page = CollectionsPage {
        frame: Some(frame.at(Section::Documents)),
        tab: "Collections",
        collections: collections.list(),
        deleted: collections.deleted(),
        may_create: collections.may_create(),
        done,
        problem,
        typed,
    };
    frame::page(status, &page)
}

async fn page(
    user: &User,
    frame: Frame,
    id: &str,
    done: Option<Done>,
    refused: Option<(String, Form)>,
) -> Result<Response, WebError> {
    let (collection, role) = user.collections().get(id)?;
    let documents = user.documents().of(Some(id))?;
    let (usage, quota) = documents.usage().await?;
    let (status, problem, typed) = refusal(refused);
    let known = KnownGroups::read(user).await?;
    let row =
        |member: &Membership| Row { subject: SubjectRow::of(&member.subject, &known), role: member.role };
    let page = CollectionPage {
        frame: Some(frame.at(Section::Documents)),
        is_curator: role == Role::Curator,
        members: collection.members.iter().map(row).collect(),
        groups: known.names(),
        collection,
        counts: documents.counts().await?,
        usage: text::usage(usage, quota),
        done,
        problem,
        typed,
    };
    Ok(frame::page(status, &page))
}

fn refusal(refused: Option<(String, Form)>) -> (StatusCode, Option<String>, Form) {
    match refused {
        Some((problem, form)) => (StatusCode::UNPROCESSABLE_ENTITY, Some(problem), form),
        None => (StatusCode::OK, None, Form::default()),
    }
}
