//! The audit log for operators: newest first, filtered, page by page.

use askama::Template;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::frame::{self, Frame, Section};
use super::text;
use crate::access::Operator;
use crate::audit::{Act, AuditFilter, AuditQuery, AuditRecord};
use crate::web::error::WebError;
use crate::web::logs::bad_query;

/// Entries of a page.
const PAGE_ENTRIES: u32 = 40;

/// Which entries to show. Fields of the form are empty where all are meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    act: String,
    user: String,
    toolkit: String,
    before: Option<i64>,
}

#[derive(Template)]
#[template(path = "ui/templates/audit.html")]
struct AuditPage {
    frame: Option<Frame>,
    acts: Vec<(&'static str, bool)>,
    entries: Vec<Entry>,
    parameters: Parameters,
    is_filtered: bool,
    /// The first page; `None` on it.
    newest: Option<String>,
    older: Option<String>,
}

/// An entry as text that may be shown.
struct Entry {
    id: i64,
    time: String,
    act: String,
    is_refused: bool,
    user: String,
    /// What it is about: a label and a text each.
    details: Vec<(&'static str, String)>,
}

/// `GET /ui/operate/audit?act=…&user=…&toolkit=…&before=…`
pub(super) async fn show(
    operator: Operator,
    frame: Frame,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, WebError> {
    let Query(parameters) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    let mut reader = operator.audit(parameters.query()).await?;
    let mut entries = Vec::new();
    loop {
        let page = reader.next_page().await?;
        if page.is_empty() {
            break;
        }
        entries.extend(page.into_iter().map(Entry::from));
    }
    entries.reverse();
    let oldest = entries.last().map(|entry| entry.id).filter(|_| reader.has_left_out());
    let page = AuditPage {
        frame: Some(frame.at(Section::Operate)),
        acts: Act::ALL.iter().map(|act| (act.name(), act.name() == parameters.act)).collect(),
        is_filtered: parameters.query().filter != AuditFilter::default(),
        newest: parameters.before.map(|_| parameters.path(None)),
        older: oldest.map(|id| parameters.path(Some(id))),
        entries,
        parameters,
    };
    Ok(frame::page(StatusCode::OK, &page))
}

impl Parameters {
    fn query(&self) -> AuditQuery {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let (act, user, toolkit) = (given(&self.act), given(&self.user), given(&self.toolkit));
        AuditQuery {
            filter: AuditFilter { act, user, toolkit, ..AuditFilter::default() },
            before: self.before,
            last: Some(PAGE_ENTRIES),
            follows: false,
        }
    }

    /// A path with the same filter, and on request a page.
    fn path(&self, before: Option<i64>) -> String {
        let mut query = Serializer::new(String::new());
        let filter = [("act", &self.act), ("user", &self.user), ("toolkit", &self.toolkit)];
        query.extend_pairs(filter.into_iter().filter(|(_, value)| !value.is_empty()));
        query.extend_pairs(before.map(|id| ("before", id.to_string())));
        format!("/ui/operate/audit?{}", query.finish())
    }
}

impl From<AuditRecord> for Entry {
    fn from(record: AuditRecord) -> Self {
        let details = [
            ("toolkit", record.toolkit),
            ("version", record.version),
            ("name", record.name),
            ("user", record.affected_user),
            ("by client", record.client),
            ("by key", record.key),
        ];
        let details = details.into_iter().filter_map(|(label, text)| Some((label, text?)));
        Self {
            id: record.id,
            time: text::minute(&record.at),
            act: record.act,
            is_refused: record.outcome != "done",
            user: record.user.unwrap_or_default(),
            details: details.collect(),
        }
    }
}
