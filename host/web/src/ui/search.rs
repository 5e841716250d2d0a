//! Search in the documents that the user may read.

use std::ops::Range;

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_access::User;
use kitbag_access::values::knowledge::{self, Coverage, Hit, Mode, Summary};
use serde::Deserialize;

use super::frame::{self, Frame, Section};
use super::holders::{self, Kept};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;

/// Results per page.
const PAGE: u32 = 10;

/// Query string of the page.
#[derive(Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
    /// `mine`, or a collection, by id; empty for all.
    #[serde(default, rename = "in")]
    within: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    author: String,
    #[serde(default)]
    offset: u32,
}

#[derive(Template)]
#[template(path = "ui/templates/search.html")]
struct SearchPage<'a> {
    frame: Option<Frame>,
    asked: &'a Asked,
    collections: Vec<Kept>,
    /// `None` without a query.
    results: Option<Vec<Shown>>,
    is_by_words_alone: bool,
    /// Sentence about documents that are found by their words only, if there are any.
    coverage: Option<String>,
    has_good_match: bool,
    previous: Option<String>,
    next: Option<String>,
    problems: Vec<String>,
}

/// A search result.
struct Shown {
    document: Summary,
    snippet: Vec<Part>,
}

/// A part of a snippet, either a match or not.
struct Part {
    text: String,
    is_found: bool,
}

/// `GET /ui/search?q=…&in=…&source=…&author=…&offset=…`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Result<Response, WebError> {
    let mut page = SearchPage {
        frame: Some(frame.at(Section::Search)),
        asked: &asked,
        collections: holders::readable(&user),
        results: None,
        is_by_words_alone: false,
        coverage: None,
        has_good_match: true,
        previous: asked.offset.checked_sub(PAGE).map(|offset| asked.at(offset)),
        next: None,
        problems: Vec::new(),
    };
    if asked.q.trim().is_empty() {
        return Ok(frame::page(StatusCode::OK, &page));
    }
    let within = holders::named(&asked.within).map(|name| [name.to_owned()]);
    match user.within(within).documents().search(&asked.query()).await {
        Ok(found) => {
            page.next = found.has_more.then(|| asked.at(asked.offset.saturating_add(PAGE)));
            page.is_by_words_alone = found.mode == Mode::FullText;
            page.coverage = found.coverage.and_then(Coverage::note);
            page.has_good_match = found.has_good_match;
            page.results = Some(found.hits.into_iter().map(Shown::of).collect());
            Ok(frame::page(StatusCode::OK, &page))
        }
        Err(knowledge::KnowledgeError::Invalid(problems)) => {
            page.problems = problems.0.into_iter().map(|it| format!("{}: {}", it.path, it.message)).collect();
            Ok(frame::page(StatusCode::UNPROCESSABLE_ENTITY, &page))
        }
        Err(error) => Err(error.into()),
    }
}

impl Asked {
    fn query(&self) -> knowledge::Query {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        knowledge::Query {
            text: self.q.clone(),
            has_operators: true,
            limit: PAGE,
            offset: self.offset,
            source: given(&self.source),
            author: given(&self.author),
        }
    }

    /// Path of the page that begins at this result.
    fn at(&self, offset: u32) -> String {
        let Self { q, within, source, author, .. } = self;
        let offset = offset.to_string();
        let offset = ("offset", offset.as_str());
        holders::path(
            "/ui/search",
            &[("q", q), ("in", within), ("source", source), ("author", author), offset],
        )
    }
}

impl Shown {
    fn of(hit: Hit) -> Self {
        Self { snippet: marked(&hit.snippet, hit.words), document: hit.document }
    }
}

/// Splits a text into parts that match the query and parts that do not.
fn marked(text: &str, found: Vec<Range<usize>>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    let part = |text: &str, is_found| Part { text: text.to_owned(), is_found };
    for range in found {
        parts.push(part(&text[at..range.start], false));
        at = range.end;
        parts.push(part(&text[range], true));
    }
    parts.push(part(&text[at..], false));
    parts.retain(|part| !part.text.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_query_are_marked_and_nothing_is_lost() {
        let parts = marked("Prices <b>of</b> the apple", vec![0..6, 21..26]);
        let shown: String = parts
            .iter()
            .map(|Part { text, is_found }| if *is_found { format!("[{text}]") } else { text.clone() })
            .collect();

        assert_eq!(shown, "[Prices] <b>of</b> the [apple]");
        assert!(marked("", Vec::new()).is_empty());
    }

    #[test]
    fn a_page_leads_to_the_next_with_all_that_was_asked() {
        let asked = Asked { q: "a&b".to_owned(), source: "notes".to_owned(), ..Asked::default() };

        assert_eq!(asked.at(10), "/ui/search?q=a%26b&source=notes&offset=10");
    }
}
