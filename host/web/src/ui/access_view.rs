//! Operators' page of who may use, read and reach what.

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_access::Operator;
use kitbag_access::values::collections::Role;
use kitbag_access::values::view::{AccessView, Question, Right, SeenGroup};
use serde::Deserialize;

use super::frame::{self, Frame, Section};
use super::holders;
use super::text;
use crate::authenticate::By;
use crate::error::WebError;

/// Number of listed users.
const LISTED_PEOPLE: usize = 200;
/// Number of listed groups.
const LISTED_GROUPS: usize = 200;

/// Query string: `kind` is one of `user`, `group`, `toolkit` and `host`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    kind: String,
    name: String,
}

#[derive(Template)]
#[template(path = "ui/templates/access_view.html")]
struct AccessPage {
    frame: Option<Frame>,
    asked: Asked,
    view: Option<AccessView>,
    /// Groups that users were seen with, each with the path of the answer about it.
    groups: Vec<(SeenGroup, String)>,
}

/// `GET /ui/operate/access?kind=…&name=…`
pub(super) async fn show(
    By(operator): By<Operator>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Result<Response, WebError> {
    let view = match question(&asked) {
        Some(question) => Some(operator.access_view(question).await?),
        None => None,
    };
    let groups = operator.seen_groups().await?.groups.into_iter().take(LISTED_GROUPS);
    let page = AccessPage {
        frame: Some(frame.at(Section::Operate)),
        groups: groups.map(|group| (group.clone(), path("group", &group.name))).collect(),
        asked,
        view,
    };
    Ok(frame::page(StatusCode::OK, &page))
}

fn question(asked: &Asked) -> Option<Question> {
    let name = Some(asked.name.trim().to_owned()).filter(|name| !name.is_empty())?;
    match asked.kind.as_str() {
        "user" => Some(Question::User(name)),
        "group" => Some(Question::Group(name)),
        "toolkit" => Some(Question::Toolkit(name)),
        "host" => Some(Question::Host(name)),
        _ => None,
    }
}

/// Path of the answer about somebody or something.
pub(super) fn path(kind: &str, name: &str) -> String {
    holders::path("/ui/operate/access", &[("kind", kind), ("name", name)])
}

/// What is unknown, as a sentence; empty if nothing is.
fn unknown(view: &AccessView) -> &'static str {
    match &view.question {
        _ if view.is_known => "",
        Question::User(_) => "Nobody with this id has signed in yet.",
        Question::Group(_) => "Nobody was seen with this group.",
        Question::Toolkit(_) => "There is no such toolkit.",
        Question::Host(_) => "No toolkit reaches this host.",
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Reader => "reads",
        Role::Curator => "keeps",
    }
}
