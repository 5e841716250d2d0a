//! Pages of the user's documents: the list, and a single document with its text.

pub(super) mod new;

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::User;
use kitbag_access::values::knowledge::{Chosen, Counts, Feed, Listing, State, StateName, Summary};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::frame::{self, Frame, Section};
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
}

#[derive(Template)]
#[template(path = "ui/templates/documents.html")]
struct DocumentsPage<'a> {
    frame: Option<Frame>,
    filter: &'a Filter,
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
    done: Option<Done>,
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
            Self::Deleted => "The document is gone.",
        }
    }
}

/// `GET /ui/documents?source=…&feed=…&state=…&after=…`
pub(super) async fn list(
    By(user): By<User>,
    frame: Frame,
    Query(filter): Query<Filter>,
) -> Result<Response, WebError> {
    let documents = user.documents().of(None)?;
    let page = documents.list(&filter.listing()).await?;
    let (stored, quota) = documents.usage().await?;
    let next = page.documents.last().filter(|_| page.has_more).map(|(cursor, _)| filter.after(*cursor));
    let page = DocumentsPage {
        frame: Some(frame.at(Section::Documents)),
        filter: &filter,
        feeds: documents.feeds(0, MAX_FEEDS).await?,
        counts: documents.counts().await?,
        usage: format!(
            "{} of {} documents, {} of {}",
            text::number(stored.documents),
            text::number(quota.documents),
            text::size(stored.bytes),
            text::size(quota.bytes)
        ),
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
    let document = user.documents().document(&id).await?;
    let length = document.text.len();
    let mut shown = document.text;
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
    let more = (shown.len() < length).then(|| text::size((length - shown.len()) as u64));
    let page = DocumentPage {
        frame: Some(frame.at(Section::Documents)),
        document: document.summary,
        shown,
        more,
        done,
    };
    Ok(frame::page(StatusCode::OK, &page))
}

/// `POST /ui/documents/{id}/delete`
pub(super) async fn delete(By(user): By<User>, Path(id): Path<String>) -> Result<Response, WebError> {
    user.documents().around(&id).await?.delete(Chosen::Ids(vec![id])).await?;
    Ok(Redirect::to("/ui/documents?done=deleted").into_response())
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
        let Self { source, feed, state, .. } = self;
        let cursor = cursor.to_string();
        let parameters = [("source", source), ("feed", feed), ("state", state), ("after", &cursor)];
        let given = parameters.into_iter().filter(|(_, value)| !value.is_empty());
        format!("/ui/documents?{}", Serializer::new(String::new()).extend_pairs(given).finish())
    }

    fn is_empty(&self) -> bool {
        self.source.is_empty() && self.feed.is_empty() && self.state.is_empty() && self.after.is_none()
    }
}
