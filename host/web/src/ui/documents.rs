//! Pages of the user's documents: the list, and a single document with its text.

pub(super) mod new;

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::User;
use kitbag_access::values::knowledge::{Chosen, Counts, Feed, Listing, State, StateName, Summary, Version};
use serde::Deserialize;

use super::form::Form;
use super::frame::{self, Frame, Section};
use super::holders::{self, Kept};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;

/// Documents per page.
const PAGE: u32 = 50;
/// Maximum number of feeds in the filter.
const MAX_FEEDS: u32 = 200;
/// Maximum bytes of a document's text on its page.
const MAX_SHOWN_BYTES: usize = 64 << 10;

/// Query string of the list.
#[derive(Default, Deserialize)]
pub(super) struct Filter {
    /// Collection, by id; empty for the user's own documents.
    #[serde(default)]
    collection: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    feed: String,
    #[serde(default)]
    state: String,
    after: Option<i64>,
    done: Option<Done>,
}

/// Action that the previous form performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Done {
    Added,
    Updated,
    Unchanged,
    Deleted,
    Moved,
    Restored,
}

#[derive(Template)]
#[template(path = "ui/templates/documents.html")]
struct DocumentsPage<'a> {
    frame: Option<Frame>,
    tab: &'static str,
    filter: &'a Filter,
    collections: Vec<Kept>,
    /// Whether the user may add documents.
    is_curated: bool,
    feeds: Vec<Feed>,
    counts: Counts,
    usage: String,
    documents: Vec<Summary>,
    total: u64,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "ui/templates/document.html")]
struct DocumentPage {
    frame: Option<Frame>,
    document: Summary,
    shown: String,
    /// Size of the part of the text that is not shown.
    more: Option<String>,
    /// Whether the user may change the document.
    is_curated: bool,
    versions: Vec<Version>,
    /// Collections to which the user may move the document.
    targets: Vec<Kept>,
    done: Option<Done>,
    /// Reason why the submitted form had no effect.
    problem: Option<String>,
}

#[derive(Template)]
#[template(path = "ui/templates/document_version.html")]
struct VersionPage {
    frame: Option<Frame>,
    id: String,
    version: Version,
    shown: String,
    is_cut: bool,
    is_curated: bool,
}

/// Query string of a document's page.
#[derive(Deserialize)]
pub(super) struct After {
    done: Option<Done>,
}

impl Done {
    fn message(self) -> &'static str {
        match self {
            Self::Added => "The document is in your knowledge base. Search finds it once it is ready.",
            Self::Updated => "The document was there already, and is updated.",
            Self::Unchanged => "The document was there already, with the same content.",
            Self::Deleted => "The document is in the bin.",
            Self::Moved => "The document has moved.",
            Self::Restored => "The earlier text is its text again; search finds it soon.",
        }
    }
}

/// `GET /ui/documents?source=…&feed=…&state=…&after=…`
pub(super) async fn list(
    By(user): By<User>,
    frame: Frame,
    Query(filter): Query<Filter>,
) -> Result<Response, WebError> {
    let documents = user.documents().of(holders::named(&filter.collection))?;
    let page = documents.list(&filter.listing()).await?;
    let (stored, quota) = documents.usage().await?;
    let next = page.documents.last().filter(|_| page.has_more).map(|(cursor, _)| filter.after(*cursor));
    let page = DocumentsPage {
        frame: Some(frame.at(Section::Documents)),
        tab: "Documents",
        filter: &filter,
        collections: holders::readable(&user),
        is_curated: documents.is_curated(),
        feeds: documents.feeds(0, MAX_FEEDS).await?,
        counts: documents.counts().await?,
        usage: text::usage(stored, quota),
        total: page.total,
        documents: page.documents.into_iter().map(|(_, document)| document).collect(),
        next,
    };
    Ok(frame::page(StatusCode::OK, &page))
}

/// `GET /ui/documents/{id}`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    Query(After { done }): Query<After>,
) -> Result<Response, WebError> {
    page(&user, frame, &id, done, None).await
}

/// `POST /ui/documents/{id}/delete`: into the bin.
pub(super) async fn delete(By(user): By<User>, Path(id): Path<String>) -> Result<Response, WebError> {
    let around = user.documents().around(&id).await?;
    around.delete(Chosen::Ids(vec![id])).await?;
    let collection = around.collection_id().unwrap_or_default();
    let path = holders::path("/ui/documents", &[("collection", collection), ("done", "deleted")]);
    Ok(Redirect::to(&path).into_response())
}

/// `POST /ui/documents/{id}/move`: the field `to`, a collection; empty for the user's own documents.
pub(super) async fn relocate(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let form = Form::read(body).await?;
    let documents = user.documents();
    let to = documents.of(holders::named(form.get("to")))?;
    let moved = documents.around(&id).await?.move_to(&to, Chosen::Ids(vec![id.clone()])).await?;
    if moved.conflicts.is_empty() {
        return Ok(Redirect::to(&format!("/ui/documents/{id}?done=moved")).into_response());
    }
    let problem = "It has not moved: the same document is there already. Delete one of them.";
    page(&user, frame, &id, None, Some(problem.to_owned())).await
}

/// `GET /ui/documents/{id}/versions/{number}`
pub(super) async fn version(
    By(user): By<User>,
    frame: Frame,
    Path((id, number)): Path<(String, u32)>,
) -> Result<Response, WebError> {
    let documents = user.documents();
    let part = 0..u32::try_from(MAX_SHOWN_BYTES).unwrap_or(u32::MAX);
    let (version, mut shown) = documents.version(&id, number, part).await?;
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
    let page = VersionPage {
        frame: Some(frame.at(Section::Documents)),
        is_curated: documents.around(&id).await?.is_curated(),
        id,
        is_cut: (shown.chars().count() as u64) < version.characters,
        version,
        shown,
    };
    Ok(frame::page(StatusCode::OK, &page))
}

/// `POST /ui/documents/{id}/versions/{number}/restore`
pub(super) async fn restore_version(
    By(user): By<User>,
    Path((id, number)): Path<(String, u32)>,
) -> Result<Response, WebError> {
    user.documents().around(&id).await?.restore_version(&id, number).await?;
    Ok(Redirect::to(&format!("/ui/documents/{id}?done=restored")).into_response())
}

async fn page(
    user: &User,
    frame: Frame,
    id: &str,
    done: Option<Done>,
    problem: Option<String>,
) -> Result<Response, WebError> {
    let documents = user.documents();
    let document = documents.document(id).await?;
    let here = document.summary.holder.collection_id().unwrap_or_default().to_owned();
    let mut targets = holders::kept(user);
    targets.retain(|target| target.id != here);
    let length = document.text.len();
    let mut shown = document.text;
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
    let more = (shown.len() < length).then(|| text::size((length - shown.len()) as u64));
    let status = if problem.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    let page = DocumentPage {
        frame: Some(frame.at(Section::Documents)),
        is_curated: documents.of(document.summary.holder.collection_id())?.is_curated(),
        versions: documents.versions(id).await?,
        document: document.summary,
        shown,
        more,
        targets,
        done,
        problem,
    };
    Ok(frame::page(status, &page))
}

impl Filter {
    fn listing(&self) -> Listing {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let state = match self.state.as_str() {
            "pending" => Some(StateName::Pending),
            "ready" => Some(StateName::Ready),
            "failed" => Some(StateName::Failed),
            _ => None,
        };
        Listing {
            source: given(&self.source),
            feed: given(&self.feed),
            state,
            after: self.after,
            limit: PAGE,
        }
    }

    /// Path of the page that follows the document with this cursor.
    fn after(&self, cursor: i64) -> String {
        let Self { collection, source, feed, state, .. } = self;
        let cursor = cursor.to_string();
        let after = ("after", cursor.as_str());
        holders::path(
            "/ui/documents",
            &[("collection", collection), ("source", source), ("feed", feed), ("state", state), after],
        )
    }

    fn is_empty(&self) -> bool {
        self.source.is_empty() && self.feed.is_empty() && self.state.is_empty() && self.after.is_none()
    }
}
