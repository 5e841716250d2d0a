//! Log of a toolkit's calls: newest first, filtered, and updated live by a script.

mod entry;

use std::time::Duration;

use askama::Template;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::values::invocations::{Filter, Logged, OutcomeFilter};
use kitbag_access::values::toolkits::record_names;
use kitbag_access::{Range, ReadingMode, User};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::frame::{self, Frame, Section};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;
use crate::logs::tail::{CallLines, Tail, json_lines};
use crate::logs::{bad_query, outcome};
use crate::pages::origin::comes_from_own_page;
use crate::share::RequestShare;
use crate::state::Shared;
use entry::ShownCall;

/// Calls per page.
const PAGE_CALLS: u32 = 50;
/// Maximum number of calls sent to a script when it resumes: the newest ones.
const MAX_RESUMED_CALLS: u32 = 200;
/// Maximum duration of a stream. The script then reconnects, and its session is checked again.
const MAX_STREAM_TIME: Duration = Duration::from_mins(5);
/// Header of a stream that begins later than requested, since older calls were left out.
const LEFT_OUT: HeaderName = HeaderName::from_static("kitbag-left-out");

/// Query string with the filter. An empty form field selects everything.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Parameters {
    #[serde(default)]
    tool: String,
    #[serde(default)]
    outcome: String,
    after: Option<i64>,
    before: Option<i64>,
}

#[derive(Template)]
#[template(path = "ui/templates/log.html")]
struct LogPage<'a> {
    frame: Option<Frame>,
    id: &'a str,
    /// The toolkit's name if the user can see it.
    name: String,
    is_visible: bool,
    tools: Vec<Choice>,
    outcomes: Vec<Choice>,
    entries: Vec<ShownCall>,
    is_filtered: bool,
    links: Links,
    download: String,
    /// CLI command that shows the same calls.
    command: String,
}

/// An option of a filter.
struct Choice {
    value: String,
    is_selected: bool,
}

/// Links to other pages.
struct Links {
    /// The first page; `None` on that page.
    newest: Option<String>,
    newer: Option<String>,
    older: Option<String>,
    /// URL of the live stream, and the id of the last call; on the first page only.
    live: Option<(String, i64)>,
}

impl Parameters {
    fn filter(&self) -> Result<Filter, WebError> {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let wanted = given(&self.outcome).map(|text| outcome(&text)).transpose()?;
        Ok(Filter { tool: given(&self.tool), outcome: wanted })
    }

    fn is_first_page(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// Path of a page with the same filter; of the first page without `page`.
    fn path(&self, toolkit: &str, below: &str, page: Option<(&str, i64)>) -> String {
        let mut query = Serializer::new(String::new());
        let filter = [("tool", &self.tool), ("outcome", &self.outcome)];
        query.extend_pairs(filter.into_iter().filter(|(_, value)| !value.is_empty()));
        query.extend_pairs(page.map(|(name, id)| (name, id.to_string())));
        let path = path(toolkit);
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{path}{below}{mark}{query}")
    }
}

/// Path of a toolkit's log.
pub(super) fn path(toolkit: &str) -> String {
    format!("/ui/toolkits/{toolkit}/log")
}

/// `GET /ui/toolkits/{id}/log?tool=…&outcome=…&before=…&after=…`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, WebError> {
    let records = user.records(&id).await?;
    let parameters = accepted(parameters)?;
    let mut reader = records.read(parameters.range()?, ReadingMode::Once).await?;
    let mut entries: Vec<ShownCall> = Vec::new();
    let wanted = PAGE_CALLS as usize;
    while entries.len() < wanted {
        let page = reader.next_page().await?;
        if page.is_empty() {
            break;
        }
        entries.extend(page.iter().map(ShownCall::of));
    }
    entries.truncate(wanted);
    entries.reverse();
    let listing = user.listed().all();
    let listed = listing.iter().map(|listed| &*listed.definition);
    let definition = listed.chain(user.own_tools()).find(|definition| definition.id == id);
    let declared = definition.map(record_names).unwrap_or_default();
    let declared = declared.iter().map(String::as_str);
    let page = LogPage {
        frame: Some(frame.at(Section::Directory)),
        id: &id,
        name: definition.map_or_else(|| id.clone(), |definition| definition.name.clone()),
        is_visible: user.toolkit(&id).is_ok(),
        tools: choices(declared, &parameters.tool),
        outcomes: choices(OutcomeFilter::all().map(OutcomeFilter::as_str), &parameters.outcome),
        is_filtered: parameters.filter()? != Filter::default(),
        links: Links::of(&id, &parameters, &entries, reader.has_left_out()),
        download: parameters.path(&id, ".ndjson", None),
        command: command(&id, &parameters),
        entries,
    };
    Ok(frame::page(StatusCode::OK, &page))
}

/// `GET /ui/toolkits/{id}/log.ndjson?tool=…&outcome=…&after=…&before=…`: oldest first, in the format of the
/// API.
pub(super) async fn download(
    State(shared): State<Shared>,
    By(user): By<User>,
    share: RequestShare,
    Path(id): Path<String>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, WebError> {
    let records = user.records(&id).await?;
    let range = Range { last: None, ..accepted(parameters)?.range()? };
    let reader = records.read(range, ReadingMode::Once).await?;
    let tail = Tail {
        lines: CallLines { reader, share, encode: |page, max_bytes| json_lines(page, max_bytes) },
        mode: ReadingMode::Once,
        stopping: shared.stopping,
        max_time: MAX_STREAM_TIME,
    };
    let name = format!("attachment; filename=\"{id}-log.ndjson\"");
    Ok(([(header::CONTENT_DISPOSITION, name)], tail).into_response())
}

/// `GET /ui/toolkits/{id}/log/live?tool=…&outcome=…&after=…`: calls as they end, in the page's format.
pub(super) async fn live(
    State(shared): State<Shared>,
    By(user): By<User>,
    share: RequestShare,
    headers: HeaderMap,
    Path(id): Path<String>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, WebError> {
    // Otherwise another site could use up a user's streams by opening windows.
    if !comes_from_own_page(&headers) {
        return Err(WebError::new(StatusCode::FORBIDDEN, "Only the page of the log may follow it."));
    }
    let records = user.records(&id).await?;
    let range = Range { before: None, last: Some(MAX_RESUMED_CALLS), ..accepted(parameters)?.range()? };
    let reader = records.read(range, ReadingMode::Follow).await?;
    let has_left_out = reader.has_left_out();
    let tail = Tail {
        lines: CallLines { reader, share, encode: entries },
        mode: ReadingMode::Follow,
        stopping: shared.stopping,
        max_time: MAX_STREAM_TIME,
    };
    let mut response = tail.into_response();
    if has_left_out {
        response.headers_mut().insert(LEFT_OUT, HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn entries(page: &[Logged], max_bytes: usize) -> Option<Bytes> {
    json_lines(page.iter().map(ShownCall::of), max_bytes)
}

fn accepted(parameters: Result<Query<Parameters>, QueryRejection>) -> Result<Parameters, WebError> {
    let Query(parameters) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    Ok(parameters)
}

impl Parameters {
    /// Range of the page: the newest calls before `before`, or the oldest after `after`.
    fn range(&self) -> Result<Range, WebError> {
        Ok(Range {
            since: None,
            until: None,
            after: self.after.unwrap_or_default(),
            before: self.before,
            last: self.after.is_none().then_some(PAGE_CALLS),
            filter: self.filter()?,
        })
    }
}

impl Links {
    /// Creates the links of a page; `entries` are newest first.
    fn of(toolkit: &str, parameters: &Parameters, entries: &[ShownCall], has_older: bool) -> Self {
        let at = |page| parameters.path(toolkit, "", page);
        let newest = entries.first().map(|it| it.id);
        let oldest = entries.last().map(|it| it.id);
        let is_first = parameters.is_first_page();
        // With `after`, the user came from an older page.
        let has_older = has_older || parameters.after.is_some();
        let has_newer = parameters.before.is_some() || entries.len() == PAGE_CALLS as usize;
        let following = (parameters.path(toolkit, "/live", None), newest.unwrap_or_default());
        Self {
            newest: (!is_first).then(|| at(None)),
            newer: newest.filter(|_| !is_first && has_newer).map(|id| at(Some(("after", id)))),
            older: oldest.filter(|_| has_older).map(|id| at(Some(("before", id)))),
            live: is_first.then_some(following),
        }
    }
}

/// The declared options, and the selected one even if it is no longer declared.
fn choices<'a>(declared: impl Iterator<Item = &'a str>, made: &str) -> Vec<Choice> {
    let choice = |value: &str| Choice { value: value.to_owned(), is_selected: value == made };
    let mut choices: Vec<_> = declared.map(choice).collect();
    if !made.is_empty() && !choices.iter().any(|choice| choice.is_selected) {
        choices.push(choice(made));
    }
    choices
}

/// CLI command that shows the same calls. No command shows the oldest calls after an id, so it shows the
/// newest instead. Omits a tool name that a shell could interpret.
fn command(toolkit: &str, parameters: &Parameters) -> String {
    let Parameters { tool, outcome, before, .. } = parameters;
    let is_name =
        tool.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | ':'));
    let mut words = vec![format!("kitbag toolkit logs {toolkit}")];
    if !tool.is_empty() && is_name {
        // The name may begin with a hyphen.
        words.push(format!("--tool={tool}"));
    }
    if !outcome.is_empty() {
        words.push(format!("--outcome {outcome}"));
    }
    words.extend(before.map(|id| format!("--before {id}")));
    if parameters.is_first_page() {
        words.push("--follow".to_owned());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(ids: impl Iterator<Item = i64>) -> Vec<ShownCall> {
        ids.map(|id| ShownCall { id, ..ShownCall::default() }).collect()
    }

    #[test]
    fn each_page_leads_to_its_neighbours_with_the_same_filter() {
        let filter = Parameters { tool: "a&b".to_owned(), ..Parameters::default() };
        let links = |parameters: &Parameters, shown: &[ShownCall], has_older| {
            let Links { newest, newer, older, live } = Links::of("t", parameters, shown, has_older);
            (newest, newer, older, live.map(|(_, after)| after))
        };
        let link = |query: &str| Some(format!("/ui/toolkits/t/log?tool=a%26b{query}"));

        let full = entries((101..=150).rev());
        assert_eq!(links(&filter, &full, true), (None, None, link("&before=101"), Some(150)));
        let before = Parameters { before: Some(101), ..filter.clone() };
        let last = entries((99..=100).rev());
        assert_eq!(links(&before, &last, false), (link(""), link("&after=100"), None, None));
        let after = Parameters { after: Some(100), ..filter.clone() };
        assert_eq!(links(&after, &full, false), (link(""), link("&after=150"), link("&before=101"), None));
        assert_eq!(links(&after, &full[..9], false), (link(""), None, link("&before=142"), None));
        assert_eq!(links(&filter, &[], false), (None, None, None, Some(0)));
        assert_eq!(links(&before, &[], false), (link(""), None, None, None));
    }

    #[test]
    fn the_command_has_the_filter_and_nothing_that_a_shell_reads() {
        let command = |tool: &str, before, after| {
            let outcome = "any-failure".to_owned();
            command("t", &Parameters { tool: tool.to_owned(), outcome, before, after })
        };
        let common = "--outcome any-failure";

        for tool in ["find", "get-weather", "-x_1"] {
            let shown = format!("kitbag toolkit logs t --tool={tool} {common} --follow");
            assert_eq!(command(tool, None, None), shown);
        }
        assert_eq!(command("$(id)", Some(7), None), format!("kitbag toolkit logs t {common} --before 7"));
        assert_eq!(command("find", None, Some(7)), format!("kitbag toolkit logs t --tool=find {common}"));
    }

    #[test]
    fn a_choice_that_is_no_longer_declared_stays_chosen() {
        let choices = choices(["a", "b"].into_iter(), "gone");

        let chosen: Vec<_> = choices.iter().map(|it| (it.value.as_str(), it.is_selected)).collect();
        assert_eq!(chosen, [("a", false), ("b", false), ("gone", true)]);
    }
}
