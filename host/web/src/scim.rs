//! SCIM 2.0 (RFC 7643, RFC 7644): users and groups that an identity provider maintains here (docs/decisions/0102).
//!
//! A provider has a token of its own, by which it reaches these routes alone. It is not a user.
//!
//! Invariants:
//! - a request without a valid token reaches no handler, and learns nothing but that one is needed;
//! - a provider has a bounded number of requests in progress, bytes of bodies, and rows read for a filter.

pub(super) mod discovery;
mod error;
mod filter;
mod group;
mod patch;
mod path;
mod user;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use kitbag_access::Access;
use kitbag_base::base_url::below;
use kitbag_base::rate::RateLimit;
use kitbag_identity::{Page, ProvisionedGroup, ProvisionedUser, Provisioner, ProvisioningError, Selection};
use kitbag_manifest::json::measure;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use url::Url;

use self::error::ScimError;
use self::filter::Filter;
use self::path::{AttributePath, member};
use super::body::{Unread, read_small};
use super::error::WebError;
use super::media_type;
use super::state::Shared;

/// Media type of bodies (RFC 7644, section 3.1).
const MEDIA_TYPE: &str = "application/scim+json";
/// Schema of users.
const CORE_USER: &str = "urn:ietf:params:scim:schemas:core:2.0:User";
/// Schema of groups.
const CORE_GROUP: &str = "urn:ietf:params:scim:schemas:core:2.0:Group";
/// Maximum bytes of a body: a group with all its members fits.
const MAX_BODY_BYTES: usize = 1 << 20;
/// Maximum number of JSON values in a body, which take far more memory than their text: as many as a group with all its
/// members has.
const MAX_VALUES: usize = 1 << 16;
/// Maximum number of requests in progress, of all providers.
const MAX_REQUESTS: usize = 8;
/// How long a request waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Requests per minute of one provider, on average; a burst of as many is allowed.
const REQUESTS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(3000).expect("not zero");
/// Maximum number of resources on a page.
const MAX_COUNT: u32 = 200;
/// Number of resources on a page, if the request names none.
const DEFAULT_COUNT: u32 = 100;
/// Number of members after which a page of groups ends.
const MAX_MEMBERS_OF_PAGE: usize = 20_000;
/// Number of rows that are read at a time for a filter.
const BATCH: u32 = 500;

/// A resource, without `meta`.
type Resource = Map<String, Value>;

/// What all requests of providers pass.
pub(super) struct Gate {
    access: Access,
    rate: RateLimit,
    requests: Arc<Semaphore>,
    /// Requests whose filter reads all rows: one at a time.
    scans: Arc<Semaphore>,
}

/// Turn for a request whose filter reads all rows.
#[derive(Clone)]
pub(super) struct Scans(Arc<Semaphore>);

impl Gate {
    pub(super) fn of(shared: &Shared) -> Arc<Self> {
        Arc::new(Self {
            access: shared.access.clone(),
            rate: RateLimit::new(REQUESTS_PER_MINUTE),
            requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
            scans: Arc::new(Semaphore::new(1)),
        })
    }
}

/// Admits a request with the token of a provider, and puts its [`Provisioner`] into the extensions.
pub(super) async fn require_provisioner(
    State(gate): State<Arc<Gate>>,
    mut request: Request,
    next: Next,
) -> Response {
    if !gate.access.is_provisioned() {
        return WebError::nothing_here().into_response();
    }
    let provisioner = match admitted(&gate, request.headers()).await {
        Ok(provisioner) => provisioner,
        Err(refusal) => return refusal.into_response(),
    };
    let Ok(Ok(permit)) = timeout(MAX_WAIT, gate.requests.clone().acquire_owned()).await else {
        let why = "too many requests at a time";
        return ScimError::passing(StatusCode::TOO_MANY_REQUESTS, why, 5).into_response();
    };
    // Handlers never see the token.
    request.headers_mut().remove(header::AUTHORIZATION);
    request.extensions_mut().insert(provisioner);
    request.extensions_mut().insert(Scans(gate.scans.clone()));
    let response = next.run(request).await;
    drop(permit);
    response
}

async fn admitted(gate: &Gate, headers: &HeaderMap) -> Result<Provisioner, ScimError> {
    let refused =
        || ScimError::new(StatusCode::UNAUTHORIZED, "a valid token of an identity provider is needed");
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(refused()) };
    let token = value.to_str().ok().and_then(|value| value.split_once(' '));
    let token =
        token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    let provisioner = gate.access.provisioner(token.ok_or_else(refused)?).await?.ok_or_else(refused)?;
    gate.rate.admit(provisioner.token_id())?;
    Ok(provisioner)
}

/// Query string of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    filter: Option<String>,
    start_index: Option<i64>,
    count: Option<i64>,
    attributes: Option<String>,
    excluded_attributes: Option<String>,
}

/// Attributes that a request wants.
#[derive(Clone, Debug, Default)]
struct Projection {
    only: Vec<AttributePath>,
    without: Vec<AttributePath>,
}

/// `GET /scim/v2/Users`
pub(super) async fn list_users(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Extension(scans): Extension<Scans>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, ScimError> {
    let list = users_page(&shared, &provisioner, &scans, &wanted(query)?).await?;
    respond(StatusCode::OK, list.into_value()).await
}

/// `POST /scim/v2/Users/.search`: the same, with the query as the body (RFC 7644, section 3.4.3).
pub(super) async fn search_users(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Extension(scans): Extension<Scans>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let query = searched(&read(&headers, body).await?)?;
    let list = users_page(&shared, &provisioner, &scans, &query).await?;
    respond(StatusCode::OK, list.into_value()).await
}

async fn users_page(
    shared: &Shared,
    provisioner: &Provisioner,
    scans: &Scans,
    query: &ListQuery,
) -> Result<List, ScimError> {
    let projection = Projection::of(query)?;
    let filter = query.filter.as_deref().map(Filter::parse).transpose()?;
    let mut list = List::new(query);
    let shown = |user: &ProvisionedUser| whole_user(&shared.base_url, user);
    match &filter {
        None => {
            list.total = provisioner.count_users(&Selection::All).await?;
            let page = Page { after: "", offset: list.offset(), limit: list.count };
            let users = provisioner.users(&Selection::All, page).await?;
            list.resources = users.iter().map(|user| projection.applied(shown(user))).collect();
        }
        Some(filter) => {
            let selection = selection(filter, "userName");
            let _turn = scans.turn_for(&selection).await?;
            let mut after = String::new();
            loop {
                let page = Page { after: &after, offset: 0, limit: BATCH };
                let batch = provisioner.users(&selection, page).await?;
                for user in &batch {
                    let resource = shown(user);
                    if filter.matches(&resource) && list.counts_next() {
                        list.resources.push(projection.applied(resource));
                    }
                }
                match batch.last() {
                    Some(newest) if batch.len() == BATCH as usize => after.clone_from(&newest.id),
                    _ => break,
                }
            }
        }
    }
    Ok(list)
}

/// `POST /scim/v2/Users`
pub(super) async fn create_user(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let content = user::content(&read(&headers, body).await?, true)?;
    let user = provisioner.create_user(content).await?;
    created(whole_user(&shared.base_url, &user)).await
}

/// `GET /scim/v2/Users/{id}`
pub(super) async fn show_user(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, ScimError> {
    let projection = Projection::of(&wanted(query)?)?;
    let user = whole_user(&shared.base_url, &provisioner.user(&id).await?);
    respond(StatusCode::OK, projection.applied(user)).await
}

/// `PUT /scim/v2/Users/{id}`
pub(super) async fn replace_user(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let body = read(&headers, body).await?;
    let replaced = move |before: &ProvisionedUser| user::content(&body, before.content.is_active);
    let user = provisioner.change_user(&id, replaced).await?;
    respond(StatusCode::OK, Value::Object(whole_user(&shared.base_url, &user))).await
}

/// `PATCH /scim/v2/Users/{id}`
pub(super) async fn patch_user(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let operations = patch::operations(&read(&headers, body).await?)?;
    let patched = move |before: &ProvisionedUser| {
        let mut resource = user::resource(before);
        user::patch(&mut resource, operations)?;
        user::content(&resource, before.content.is_active)
    };
    let user = provisioner.change_user(&id, patched).await?;
    respond(StatusCode::OK, Value::Object(whole_user(&shared.base_url, &user))).await
}

/// `DELETE /scim/v2/Users/{id}`: ends the access of the user. What the user has stays.
pub(super) async fn delete_user(
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
) -> Result<StatusCode, ScimError> {
    provisioner.delete_user(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /scim/v2/Groups`
pub(super) async fn list_groups(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Extension(scans): Extension<Scans>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, ScimError> {
    let list = groups_page(&shared, &provisioner, &scans, &wanted(query)?).await?;
    respond(StatusCode::OK, list.into_value()).await
}

/// `POST /scim/v2/Groups/.search`: the same, with the query as the body.
pub(super) async fn search_groups(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Extension(scans): Extension<Scans>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let query = searched(&read(&headers, body).await?)?;
    let list = groups_page(&shared, &provisioner, &scans, &query).await?;
    respond(StatusCode::OK, list.into_value()).await
}

async fn groups_page(
    shared: &Shared,
    provisioner: &Provisioner,
    scans: &Scans,
    query: &ListQuery,
) -> Result<List, ScimError> {
    let projection = Projection::of(query)?;
    let filter = query.filter.as_deref().map(Filter::parse).transpose()?;
    let selection = filter.as_ref().map_or(Selection::All, |filter| selection(filter, "displayName"));
    let reads_members = filter.as_ref().is_some_and(|filter| filter.mentions("members"));
    if reads_members && selection == Selection::All {
        let why = "a filter on members names one by `eq`, and another attribute beside it by `and`";
        return Err(ScimError::bad_request("invalidFilter", why));
    }
    let _turn = if filter.is_some() { scans.turn_for(&selection).await? } else { None };
    let mut list = List::new(query);
    let mut members_of_page = 0;
    let mut page = Page { after: "", offset: 0, limit: BATCH };
    if filter.is_none() {
        list.total = provisioner.count_groups(&selection).await?;
        page = Page { offset: list.offset(), limit: list.count, ..page };
    }
    let mut after = String::new();
    loop {
        let batch = provisioner.groups(&selection, Page { after: &after, ..page }).await?;
        for group in &batch {
            let all_members = if reads_members { Some(provisioner.members(&group.id).await?) } else { None };
            let resource = whole_group(&shared.base_url, group, all_members.as_deref());
            let is_listed = match &filter {
                Some(filter) => filter.matches(&resource) && list.counts_next(),
                None => true,
            };
            if !is_listed || members_of_page > MAX_MEMBERS_OF_PAGE {
                continue;
            }
            let members =
                if projection.wants("members") { Some(provisioner.members(&group.id).await?) } else { None };
            members_of_page += members.as_ref().map_or(0, Vec::len);
            let resource = whole_group(&shared.base_url, group, members.as_deref());
            list.resources.push(projection.applied(resource));
        }
        match batch.last() {
            Some(newest) if filter.is_some() && batch.len() == BATCH as usize => after.clone_from(&newest.id),
            _ => break,
        }
    }
    Ok(list)
}

/// `POST /scim/v2/Groups`
pub(super) async fn create_group(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let change = group::content(&read(&headers, body).await?)?;
    let group = provisioner.create_group(change).await?;
    let members = provisioner.members(&group.id).await?;
    created(whole_group(&shared.base_url, &group, Some(&members))).await
}

/// `GET /scim/v2/Groups/{id}`
pub(super) async fn show_group(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, ScimError> {
    let projection = Projection::of(&wanted(query)?)?;
    let group = provisioner.group(&id).await?;
    let members = if projection.wants("members") { Some(provisioner.members(&id).await?) } else { None };
    let group = whole_group(&shared.base_url, &group, members.as_deref());
    respond(StatusCode::OK, projection.applied(group)).await
}

/// `PUT /scim/v2/Groups/{id}`
pub(super) async fn replace_group(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let change = group::content(&read(&headers, body).await?)?;
    let group = provisioner.change_group(&id, change).await?;
    let members = provisioner.members(&id).await?;
    respond(StatusCode::OK, Value::Object(whole_group(&shared.base_url, &group, Some(&members)))).await
}

/// `PATCH /scim/v2/Groups/{id}`: answers without the group, whose members may be many.
pub(super) async fn patch_group(
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ScimError> {
    let change = group::patch(patch::operations(&read(&headers, body).await?)?)?;
    provisioner.change_group(&id, change).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /scim/v2/Groups/{id}`
pub(super) async fn delete_group(
    Extension(provisioner): Extension<Provisioner>,
    Path(id): Path<String>,
) -> Result<StatusCode, ScimError> {
    provisioner.delete_group(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl Scans {
    /// Waits for the turn of a selection that reads all rows.
    async fn turn_for(
        &self,
        selection: &Selection,
    ) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, ScimError> {
        if *selection != Selection::All {
            return Ok(None);
        }
        if let Ok(Ok(turn)) = timeout(MAX_WAIT, self.0.clone().acquire_owned()).await {
            return Ok(Some(turn));
        }
        let why = "too many filters at a time that are no comparisons for equality";
        Err(ScimError::passing(StatusCode::TOO_MANY_REQUESTS, why, 5))
    }
}

/// Returns the selection that all matches of a filter are in.
fn selection(filter: &Filter, name: &str) -> Selection {
    let selected = |(path, value): (&AttributePath, &Value)| {
        let value = value.as_str()?.to_owned();
        match path.sub_attribute() {
            None if path.is("id") => Some(Selection::Id(value)),
            None if path.is(name) => Some(Selection::Name(value)),
            None if path.is("externalId") => Some(Selection::ExternalId(value)),
            None | Some("value") if path.is("members") && name == "displayName" => {
                Some(Selection::Member(value))
            }
            _ => None,
        }
    };
    let equalities = filter.equalities();
    equalities.into_iter().find_map(selected).unwrap_or(Selection::All)
}

/// A list response (RFC 7644, section 3.4.2).
struct List {
    /// From 1.
    start: u32,
    count: u32,
    total: u64,
    resources: Vec<Value>,
}

impl List {
    fn new(query: &ListQuery) -> Self {
        let start = query.start_index.unwrap_or(1).clamp(1, i64::from(u32::MAX));
        let count = query.count.unwrap_or(i64::from(DEFAULT_COUNT)).clamp(0, i64::from(MAX_COUNT));
        Self {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            count: u32::try_from(count).unwrap_or_default(),
            total: 0,
            resources: Vec::new(),
        }
    }

    /// Number of resources before the page.
    fn offset(&self) -> u32 {
        self.start - 1
    }

    /// Counts a match. Returns whether it is on the page.
    fn counts_next(&mut self) -> bool {
        self.total += 1;
        let first = u64::from(self.start);
        (first..first + u64::from(self.count)).contains(&self.total)
    }

    fn into_value(self) -> Value {
        json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            "totalResults": self.total,
            "startIndex": self.start,
            "itemsPerPage": self.resources.len(),
            "Resources": self.resources,
        })
    }
}

impl Projection {
    fn of(query: &ListQuery) -> Result<Self, ScimError> {
        let paths = |names: &Option<String>| {
            let names = names.iter().flat_map(|names| names.split(',')).map(str::trim);
            let paths = names.filter(|name| !name.is_empty()).map(AttributePath::parse);
            paths.collect::<Result<Vec<_>, _>>().map_err(|error| error.with_type("invalidValue"))
        };
        Ok(Self { only: paths(&query.attributes)?, without: paths(&query.excluded_attributes)? })
    }

    /// Whether an attribute is wanted, or a part of it.
    fn wants(&self, attribute: &str) -> bool {
        let is_excluded =
            self.without.iter().any(|path| path.is(attribute) && path.sub_attribute().is_none());
        !is_excluded && (self.only.is_empty() || self.only.iter().any(|path| path.is(attribute)))
    }

    /// Returns the wanted part of a resource: always with `schemas` and `id`.
    fn applied(&self, mut resource: Resource) -> Value {
        if self.only.is_empty() && self.without.is_empty() {
            return resource.into();
        }
        let is_always = |name: &str| ["schemas", "id"].contains(&name);
        resource.retain(|name, _| is_always(name) || self.wants(name));
        for (name, value) in &mut resource {
            let parts = |paths: &[AttributePath]| {
                let paths = paths.iter().filter(|path| path.is(name));
                paths.map(|path| path.sub_attribute().map(str::to_owned)).collect::<Vec<_>>()
            };
            let (only, without) = (parts(&self.only), parts(&self.without));
            let is_whole = only.is_empty() || only.contains(&None) || is_always(name);
            let is_wanted = |part: &String| {
                let is_one = |named: &Option<String>| {
                    named.as_ref().is_some_and(|named| named.eq_ignore_ascii_case(part))
                };
                (is_whole || only.iter().any(is_one)) && !without.iter().any(is_one)
            };
            let items = match value {
                Value::Array(items) => items.iter_mut().collect(),
                value => vec![value],
            };
            for item in items.into_iter().filter_map(Value::as_object_mut) {
                item.retain(|part, _| is_wanted(part));
            }
        }
        resource.into()
    }
}

/// Returns the resource of a user with `meta`.
fn whole_user(base_url: &Url, user: &ProvisionedUser) -> Resource {
    let mut resource = user::resource(user);
    let path = format!("/scim/v2/Users/{}", user.id);
    resource.insert("meta".to_owned(), meta("User", base_url, &path, [user.created_at, user.changed_at]));
    resource
}

/// Returns the resource of a group with `meta`; without members if they are `None`.
fn whole_group(base_url: &Url, group: &ProvisionedGroup, members: Option<&[String]>) -> Resource {
    let mut resource = group::resource(base_url, group, members);
    let path = format!("/scim/v2/Groups/{}", group.id);
    resource.insert("meta".to_owned(), meta("Group", base_url, &path, [group.created_at, group.changed_at]));
    resource
}

fn meta(kind: &str, base_url: &Url, path: &str, [created, changed]: [Timestamp; 2]) -> Value {
    json!({
        "resourceType": kind,
        "created": created.to_string(),
        "lastModified": changed.to_string(),
        "location": below(base_url, path),
    })
}

fn wanted(query: Result<Query<ListQuery>, QueryRejection>) -> Result<ListQuery, ScimError> {
    match query {
        Ok(Query(query)) => Ok(query),
        Err(rejection) => Err(ScimError::bad_request("invalidValue", rejection.body_text())),
    }
}

/// `POST /scim/v2/.search`: users, and after them groups.
pub(super) async fn search_all(
    State(shared): State<Shared>,
    Extension(provisioner): Extension<Provisioner>,
    Extension(scans): Extension<Scans>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ScimError> {
    let mut query = searched(&read(&headers, body).await?)?;
    let mut list = users_page(&shared, &provisioner, &scans, &query).await?;
    let users = i64::try_from(list.total).unwrap_or(i64::MAX);
    query.start_index = Some(i64::from(list.start).saturating_sub(users).max(1));
    query.count =
        Some(i64::from(list.count).saturating_sub(i64::try_from(list.resources.len()).unwrap_or(0)));
    let groups = groups_page(&shared, &provisioner, &scans, &query).await?;
    list.total += groups.total;
    list.resources.extend(groups.resources);
    respond(StatusCode::OK, list.into_value()).await
}

/// Reads a query from the body of a search.
fn searched(body: &Resource) -> Result<ListQuery, ScimError> {
    let invalid = |name: &str| ScimError::bad_request("invalidValue", format!("{name} is of another type"));
    let text = |name: &str| match member(body, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(name)),
    };
    let number = |name: &str| match member(body, name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| invalid(name)),
    };
    let names = |name: &str| match member(body, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(names)) => {
            let names: Option<Vec<_>> = names.iter().map(Value::as_str).collect();
            names.map(|names| Some(names.join(","))).ok_or_else(|| invalid(name))
        }
        Some(_) => Err(invalid(name)),
    };
    Ok(ListQuery {
        filter: text("filter")?,
        start_index: number("startIndex")?,
        count: number("count")?,
        attributes: names("attributes")?,
        excluded_attributes: names("excludedAttributes")?,
    })
}

/// 404 of a path that is none.
pub(super) async fn nothing_here() -> ScimError {
    ScimError::new(StatusCode::NOT_FOUND, "there is nothing here")
}

/// Reads a body: a JSON object.
async fn read(headers: &HeaderMap, body: Body) -> Result<Resource, ScimError> {
    let is_stated = headers.contains_key(header::CONTENT_TYPE);
    if is_stated && !media_type::is(headers, MEDIA_TYPE) && !media_type::is(headers, media_type::JSON) {
        let why = format!("the body is JSON, with Content-Type: {MEDIA_TYPE}");
        return Err(ScimError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let body = read_small(body, MAX_BODY_BYTES).await;
    let body = body.map_err(|why| ScimError::unread(why, MAX_BODY_BYTES))?;
    let parse = move || {
        if measure(&body, MAX_VALUES).values > MAX_VALUES {
            return Err(ScimError::unread(Unread::TooManyValues(MAX_VALUES), MAX_BODY_BYTES));
        }
        serde_json::from_slice::<Resource>(&body).map_err(|error| {
            ScimError::bad_request("invalidSyntax", format!("the body is no JSON object: {error}"))
        })
    };
    // A large body is parsed off the threads that serve requests.
    spawn_blocking(parse).await.map_err(|_| failed())?
}

/// Creates a response; a large one is encoded off the threads that serve requests.
async fn respond(status: StatusCode, value: Value) -> Result<Response, ScimError> {
    let is_small = value.get("members").or_else(|| value.get("Resources")).is_none();
    let encode = move || serde_json::to_vec(&value);
    let encoded = if is_small { encode() } else { spawn_blocking(encode).await.map_err(|_| failed())? };
    let mut response = Response::new(Body::from(encoded.map_err(|_| failed())?));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    Ok(response)
}

/// Creates the response to a request that has made a resource.
async fn created(resource: Resource) -> Result<Response, ScimError> {
    let location = member(&resource, "meta").and_then(|meta| meta.get("location")).and_then(Value::as_str);
    let location = location.and_then(|location| HeaderValue::from_str(location).ok());
    let mut response = respond(StatusCode::CREATED, resource.into()).await?;
    if let Some(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

fn failed() -> ScimError {
    ScimError::from(ProvisioningError::Interrupted(kitbag_base::tasks::Interrupted::Cancelled))
}
