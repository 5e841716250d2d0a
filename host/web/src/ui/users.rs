//! Operators' pages of users: the list, one user, and the end of one.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_access::values::collections::Role;
use kitbag_access::values::users::{DocumentsFate, SessionItem, UserDetails, UserEnd, UserSummary};
use kitbag_access::{AccessError, Operator, User};
use kitbag_base::ownership::shell_quoted;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::account::browser;
use super::form::Form;
use super::frame::{self, Frame, Section};
use super::holders;
use super::text;
use crate::authenticate::By;
use crate::error::WebError;
use crate::users::{End, archive, run};

/// Users per page.
const PAGE: u32 = 50;

/// Query string of the list.
#[derive(Deserialize)]
pub(super) struct Asked {
    /// Id of the last user of the page before.
    #[serde(default)]
    after: String,
}

#[derive(Template)]
#[template(path = "ui/templates/users.html")]
struct UsersPage {
    frame: Option<Frame>,
    users: Vec<Row>,
    is_first: bool,
    /// Path of the next page.
    next: Option<String>,
}

/// A user in the list.
struct Row {
    user: UserSummary,
    path: String,
    /// What the user has, in words; empty for nothing.
    has: String,
}

#[derive(Template)]
#[template(path = "ui/templates/user.html")]
struct UserPage {
    frame: Option<Frame>,
    path: String,
    /// Id of the user, for a shell.
    argument: String,
    user: UserDetails,
    sessions: Vec<Session>,
    /// Kinds of further things that the user has, each with their number.
    further: Vec<String>,
    is_own: bool,
    /// Whether the form is shown at once.
    is_open: bool,
    /// Outcome of the submitted form.
    end: Option<UserEnd>,
    /// Reason why the submitted form had no effect.
    problem: Option<String>,
    /// The submitted form, to show its values again.
    typed: Form,
}

/// A signed-in browser.
struct Session {
    browser: String,
    signed_in: String,
    last_used: String,
}

impl Session {
    fn of(session: &SessionItem) -> Self {
        Self {
            browser: browser::name(&session.agent),
            signed_in: text::minute(&session.signed_in_at),
            last_used: text::minute(&session.used_at),
        }
    }
}

/// `GET /ui/operate/users?after=…`
pub(super) async fn list(
    By(operator): By<Operator>,
    frame: Frame,
    Query(Asked { after }): Query<Asked>,
) -> Result<Response, WebError> {
    let users = operator.users().list(&after, PAGE).await?;
    let last = users.last().filter(|_| users.len() == PAGE as usize);
    let page = UsersPage {
        frame: Some(frame.at(Section::Operate)),
        next: last.map(|user| holders::path("/ui/operate/users", &[("after", &user.id)])),
        users: users.into_iter().map(Row::of).collect(),
        is_first: after.is_empty(),
    };
    Ok(frame::page(StatusCode::OK, &page))
}

/// `GET /ui/operate/users/{id}`
pub(super) async fn show(
    By(operator): By<Operator>,
    frame: Frame,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    page(&operator, frame, &id, StatusCode::OK, Form::default(), Answered::default()).await
}

/// What a form has done.
#[derive(Default)]
struct Answered {
    end: Option<UserEnd>,
    problem: Option<String>,
}

/// `GET /ui/account/export`: everything that the user has here, as a tar archive.
pub(super) async fn export_own(By(user): By<User>) -> Result<Response, WebError> {
    Ok(archive(user.export().await?))
}

/// `GET /ui/operate/users/{id}/export`: the same of a user whose access was ended.
pub(super) async fn export(By(operator): By<Operator>, Path(id): Path<String>) -> Result<Response, WebError> {
    Ok(archive(operator.users().export(&id).await?))
}

/// `POST /ui/operate/users/{id}/end`: the user's id in `confirm`; `documents` is `bin`, `move` (to the collection
/// `collection`), `erase`, or `stay` to end access alone.
pub(super) async fn end(
    By(operator): By<Operator>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let refused = |problem: String| Answered { problem: Some(problem), ..Answered::default() };
    if form.get("confirm").trim() != id.trim() {
        let why = refused(format!("Nothing was changed: type {id} to confirm."));
        return page(&operator, frame, &id, StatusCode::UNPROCESSABLE_ENTITY, form, why).await;
    }
    let wanted = match form.get("documents") {
        "stay" => End::Access,
        "erase" => End::All(DocumentsFate::Erased),
        "move" => End::All(DocumentsFate::Collection(form.get("collection").trim().to_owned())),
        _ => End::All(DocumentsFate::Bin),
    };
    match run(&operator, &id, wanted).await {
        Ok(end) => {
            let end = Answered { end: Some(end), ..Answered::default() };
            page(&operator, frame, &id, StatusCode::OK, form, end).await
        }
        Err(
            error @ (AccessError::Collection(_)
            | AccessError::NoRoomForDocuments { .. }
            | AccessError::OwnEnd),
        ) => {
            let (status, why, _) = WebError::from(error).into_parts();
            page(&operator, frame, &id, status, form, refused(why)).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn page(
    operator: &Operator,
    frame: Frame,
    id: &str,
    status: StatusCode,
    typed: Form,
    Answered { end, problem }: Answered,
) -> Result<Response, WebError> {
    let user = operator.users().get(id).await?;
    let page = UserPage {
        is_own: frame.user == id,
        frame: Some(frame.at(Section::Operate)),
        path: path_of(id),
        argument: shell_quoted(std::path::Path::new(id)),
        further: further(&user),
        sessions: user.sessions.iter().map(Session::of).collect(),
        is_open: problem.is_some() || end.as_ref().is_some_and(|end| !end.is_finished),
        user,
        end,
        problem,
        typed,
    };
    Ok(frame::page(status, &page))
}

/// Path of the page of a user.
fn path_of(id: &str) -> String {
    format!("/ui/operate/users/{}", utf8_percent_encode(id, NON_ALPHANUMERIC))
}

/// Numbers of the things that the page does not list.
fn further(user: &UserDetails) -> Vec<String> {
    let cached: u64 = user.cached.iter().map(|it| it.values).sum();
    let counts = [
        (user.summary.counts.bin.documents, "deleted document"),
        (user.records, "call record"),
        (user.consents.len() as u64, "consent"),
        (user.settings.len() as u64, "setting"),
        (user.hidden_tools.len() as u64, "hidden tool"),
        (user.code_tools.len() as u64, "code tool"),
        (user.shared_toolkits.len() as u64, "toolkit grant"),
        (cached, "cached value"),
        (user.clients.len() as u64, "signed-in program"),
        (user.uploads, "waiting upload"),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, noun)| text::count(count, noun)).collect()
}

impl Row {
    fn of(user: UserSummary) -> Self {
        let has: Vec<_> = user.counts.named().map(|(count, noun)| text::count(count, noun)).collect();
        Self { path: path_of(&user.id), has: has.join(", "), user }
    }
}
