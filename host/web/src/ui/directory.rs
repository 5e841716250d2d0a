//! The directory: every toolkit that the user may list.

use std::cmp::Reverse;

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_access::{AccessError, ListedToolkit, User, VisibleToolkit};
use kitbag_manifest::Visibility;
use serde::Deserialize;

use super::frame::{self, Frame, Section};
use super::icon::Icon;
use super::start::Start;
use super::{reach, text};
use crate::authenticate::By;
use crate::error::WebError;

/// Query string with the filter of the list.
#[derive(Deserialize)]
pub(super) struct Filter {
    #[serde(default)]
    q: String,
    /// Present to list only toolkits that the user has deployed.
    mine: Option<String>,
}

#[derive(Template)]
#[template(path = "ui/templates/directory.html")]
struct Directory {
    frame: Option<Frame>,
    query: String,
    mine: bool,
    cards: Vec<Card>,
    /// Whether the filter excludes some toolkits.
    is_filtered: bool,
    start: Option<Start>,
}

/// A toolkit in the list.
struct Card {
    toolkit: ListedToolkit,
    icon: Icon,
    tools: String,
    /// Names of required settings and secrets that the user has not set.
    missing: Vec<String>,
    /// Whether the user may call it: operators list others' private toolkits too.
    is_callable: bool,
    is_private: bool,
}

/// `GET /ui/?q=…&mine=1`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    Query(filter): Query<Filter>,
) -> Result<Response, WebError> {
    let mine = filter.mine.is_some();
    let query = filter.q.trim().to_owned();
    let listing = user.listed().all();
    let wanted = query.to_lowercase();
    let shown = listing.iter().filter(|it| (!mine || it.live.owner == user.id()) && matches(it, &wanted));
    let mut cards = Vec::new();
    for toolkit in shown {
        cards.push(card(&user, toolkit).await?);
    }
    cards.sort_by_key(|card| (Reverse(card.is_callable), card.toolkit.definition.name.to_lowercase()));
    let is_filtered = cards.len() < listing.len();
    let start = Start::of(&user).await?;
    let page =
        Directory { frame: Some(frame.at(Section::Directory)), query, mine, cards, is_filtered, start };
    Ok(frame::page(StatusCode::OK, &page))
}

async fn card(user: &User, toolkit: &ListedToolkit) -> Result<Card, WebError> {
    let visible = user.toolkit(&toolkit.definition.id).ok();
    let missing = match &visible {
        Some(visible) => missing(user, visible).await?,
        None => Vec::new(),
    };
    Ok(Card {
        icon: Icon::of(&toolkit.live),
        tools: text::count(toolkit.definition.tools.len(), "tool"),
        missing,
        is_callable: visible.is_some(),
        is_private: toolkit.definition.visibility == Visibility::Private,
        toolkit: toolkit.clone(),
    })
}

/// Returns the names of missing settings (those that calls require) and of unset secrets.
pub(super) async fn missing(user: &User, toolkit: &VisibleToolkit) -> Result<Vec<String>, AccessError> {
    let mut names = Vec::new();
    if !toolkit.definition().config.is_empty() {
        let settings = toolkit.settings().await?;
        names.extend(settings.into_iter().filter(|(_, setting)| setting.missing).map(|(key, _)| key));
    }
    if !toolkit.definition().credentials().is_empty() {
        let secrets = user.stored_for(&toolkit.definition().id).secrets().await?;
        names.extend(secrets.into_iter().filter(|it| it.declared && !it.has_value()).map(|it| it.name));
    }
    Ok(names)
}

/// Whether a toolkit's texts contain all words of a query in lower case.
fn matches(toolkit: &ListedToolkit, query: &str) -> bool {
    let definition = &toolkit.definition;
    let tools = definition.tools.iter().map(|tool| tool.name.as_str());
    let mut texts: Vec<_> =
        [&definition.id, &definition.name, &definition.description].map(String::as_str).to_vec();
    texts.extend(definition.author.as_deref());
    texts.extend(tools);
    texts.extend(definition.prompts.iter().map(|prompt| prompt.name.as_str()));
    texts.extend(definition.resources.iter().map(|resource| resource.name.as_str()));
    let all = texts.join(" ").to_lowercase();
    query.split_whitespace().all(|word| all.contains(word))
}
