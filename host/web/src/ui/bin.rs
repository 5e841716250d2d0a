//! Page of the bin: deleted documents, which can be had back.

use askama::Template;
use axum::body::Body;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::User;
use kitbag_access::values::knowledge::{Chosen, Conflict, Listing, Summary};
use serde::Deserialize;

use super::form::Form;
use super::frame::{self, Frame, Section};
use super::holders::{self, Kept};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;

/// Documents per page.
const PAGE: u32 = 50;

/// Query string of the page.
#[derive(Default, Deserialize)]
pub(super) struct Asked {
    /// Collection, by id; empty for the user's own documents.
    #[serde(default)]
    collection: String,
    after: Option<i64>,
    done: Option<Done>,
}

/// Act that the previous form performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Done {
    Restored,
    Purged,
}

#[derive(Template)]
#[template(path = "ui/templates/bin.html")]
struct BinPage {
    frame: Option<Frame>,
    tab: &'static str,
    collection: String,
    kept: Vec<Kept>,
    documents: Vec<Summary>,
    total: u64,
    next: Option<String>,
    done: Option<Done>,
    /// Documents that could not be had back, since the same is there.
    conflicts: Vec<Conflict>,
}

impl Done {
    fn message(self) -> &'static str {
        match self {
            Self::Restored => "The documents are back, where they were.",
            Self::Purged => "The documents are gone for good.",
        }
    }
}

/// `GET /ui/bin?collection=…&after=…`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Result<Response, WebError> {
    page(&user, frame, asked, Vec::new()).await
}

/// `POST /ui/bin/restore`: the fields `collection`, and `id` for one document; without it, all.
pub(super) async fn restore(By(user): By<User>, frame: Frame, body: Body) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let collection = form.get("collection").to_owned();
    let holder = user.documents().of(holders::named(&collection))?;
    let moved = holder.restore(chosen(&form)).await?;
    if moved.conflicts.is_empty() {
        return Ok(back(&collection, "restored"));
    }
    page(&user, frame, Asked { collection, ..Asked::default() }, moved.conflicts).await
}

/// `POST /ui/bin/purge`: the same fields.
pub(super) async fn purge(By(user): By<User>, body: Body) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let collection = form.get("collection");
    user.documents().of(holders::named(collection))?.purge(chosen(&form)).await?;
    Ok(back(collection, "purged"))
}

fn chosen(form: &Form) -> Chosen {
    match form.find("id") {
        Some(id) => Chosen::Ids(vec![id.to_owned()]),
        None => Chosen::All,
    }
}

fn back(collection: &str, done: &str) -> Response {
    let path = holders::path("/ui/bin", &[("collection", collection), ("done", done)]);
    Redirect::to(&path).into_response()
}

async fn page(
    user: &User,
    frame: Frame,
    asked: Asked,
    conflicts: Vec<Conflict>,
) -> Result<Response, WebError> {
    let Asked { collection, after, done } = asked;
    let listing = Listing { after, limit: PAGE, ..Listing::default() };
    let bin = user.documents().of(holders::named(&collection))?.bin(&listing).await?;
    let last = bin.documents.last().filter(|_| bin.has_more);
    let next = last.map(|(cursor, _)| {
        holders::path("/ui/bin", &[("collection", &collection), ("after", &cursor.to_string())])
    });
    let page = BinPage {
        frame: Some(frame.at(Section::Documents)),
        tab: "Bin",
        kept: holders::kept(user),
        collection,
        total: bin.total,
        documents: bin.documents.into_iter().map(|(_, document)| document).collect(),
        next,
        done,
        conflicts,
    };
    Ok(frame::page(StatusCode::OK, &page))
}
