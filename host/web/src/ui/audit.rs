//! The audit log for operators: newest first, filtered, paginated.

use askama::Template;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_access::Operator;
use kitbag_access::values::audit::{Act, AuditFilter, AuditQuery, AuditRecord};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::frame::{self, Frame, Section};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;
use crate::logs::bad_query;

/// Entries per page.
const PAGE_ENTRIES: u32 = 40;

/// Query string with the filter. An empty form field selects everything.
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
    days: Vec<Day>,
    parameters: Parameters,
    is_filtered: bool,
    /// Link to the first page; `None` on that page.
    newest: Option<String>,
    older: Option<String>,
}

/// Entries of a day, newest first.
struct Day {
    label: String,
    entries: Vec<ShownAct>,
}

/// An entry, as text that is safe to show.
struct ShownAct {
    id: i64,
    /// RFC 3339, UTC.
    time: String,
    /// `14:05:09`
    clock: String,
    act: String,
    is_refused: bool,
    user: String,
    /// Subject of the entry: pairs of label and text.
    details: Vec<(&'static str, String)>,
}

/// `GET /ui/operate/audit?act=…&user=…&toolkit=…&before=…`
pub(super) async fn show(
    By(operator): By<Operator>,
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
        entries.extend(page.into_iter().map(ShownAct::from));
    }
    entries.reverse();
    let oldest = entries.last().map(|entry| entry.id).filter(|_| reader.has_left_out());
    let page = AuditPage {
        frame: Some(frame.at(Section::Operate)),
        acts: Act::ALL.iter().map(|act| (act.name(), act.name() == parameters.act)).collect(),
        is_filtered: parameters.query().filter != AuditFilter::default(),
        newest: parameters.before.map(|_| parameters.path(None)),
        older: oldest.map(|id| parameters.path(Some(id))),
        days: by_day(entries),
        parameters,
    };
    Ok(frame::page(StatusCode::OK, &page))
}

/// Groups entries by day, in their order.
fn by_day(entries: Vec<ShownAct>) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for entry in entries {
        let label = text::day(&entry.time);
        match days.last_mut() {
            Some(day) if day.label == label => day.entries.push(entry),
            _ => days.push(Day { label, entries: vec![entry] }),
        }
    }
    days
}

impl Parameters {
    fn query(&self) -> AuditQuery {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let act = given(&self.act);
        let user = given(&self.user);
        let toolkit = given(&self.toolkit);
        AuditQuery {
            filter: AuditFilter { act, user, toolkit, ..AuditFilter::default() },
            before: self.before,
            last: Some(PAGE_ENTRIES),
            follows: false,
        }
    }

    /// Path of a page with the same filter; of the first page without `before`.
    fn path(&self, before: Option<i64>) -> String {
        let mut query = Serializer::new(String::new());
        let filter = [("act", &self.act), ("user", &self.user), ("toolkit", &self.toolkit)];
        query.extend_pairs(filter.into_iter().filter(|(_, value)| !value.is_empty()));
        query.extend_pairs(before.map(|id| ("before", id.to_string())));
        format!("/ui/operate/audit?{}", query.finish())
    }
}

impl From<AuditRecord> for ShownAct {
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
            clock: text::clock(&record.at),
            time: record.at,
            act: record.act,
            is_refused: record.outcome != "done",
            user: record.user.unwrap_or_default(),
            details: details.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_shown_by_day_in_their_order() {
        let entry = |id: i64, time: &str| ShownAct {
            id,
            time: time.to_owned(),
            clock: text::clock(time),
            act: String::new(),
            is_refused: false,
            user: String::new(),
            details: Vec::new(),
        };
        let times = ["2026-02-01T00:00:00Z", "2026-01-31T23:59:59.9Z", "2026-01-31T08:00:00Z"];

        let days = by_day(times.into_iter().zip(1..).map(|(time, id)| entry(id, time)).collect());

        let shown: Vec<_> = days
            .iter()
            .map(|day| {
                (
                    day.label.as_str(),
                    day.entries.iter().map(|it| (it.id, it.clock.as_str())).collect::<Vec<_>>(),
                )
            })
            .collect();
        let of_january = vec![(2, "23:59:59"), (3, "08:00:00")];
        assert_eq!(shown, [("1 Feb 2026", vec![(1, "00:00:00")]), ("31 Jan 2026", of_january)]);
    }
}
