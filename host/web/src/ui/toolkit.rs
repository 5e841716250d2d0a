//! The page of a toolkit: its capabilities and tools, and the user's settings and secrets for it.

pub(super) mod account;
pub(super) mod cache;
pub(super) mod code_tools;
pub(super) mod consent;
pub(super) mod hidden;
pub(super) mod secrets;
pub(super) mod settings;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use jiff::Timestamp;
use kitbag_access::values::outbound_auth::ConnectError;
use kitbag_access::values::toolkits::{Hidden, LimitUsage, VersionRecord};
use kitbag_access::values::vault::SecretStatus;
use kitbag_access::{ConsentStatus, User, VisibleToolkit};
use kitbag_manifest::{ToolDefinition, ToolkitDefinition, Visibility};
use serde::{Deserialize, Serialize};
use url::Url;

use super::cost;
use super::form::Form;
use super::frame::{self, Frame, Section};
use super::icon::Icon;
use super::reach::{self, Reach};
use super::text;
use super::usage::Curve;
use crate::authenticate::By;
use crate::error::{WebError, status_of};
use crate::state::Shared;
use account::Account;
use settings::{Field, Input};

/// Outcome of a form of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Done {
    SettingsSaved,
    SecretSet,
    /// The secret is too short to be redacted.
    ShortSecretSet,
    SecretUnset,
    AccountConnected,
    AccountEnded,
    Hidden,
    Shown,
    Agreed,
    AllowedInCode,
    NotInCode,
    CacheCleared,
}

/// Error in a form of the page.
enum Refused {
    /// The submitted settings, each with its error.
    Settings(Vec<Field>),
    /// Name of a secret, and the error.
    Secret(String, String),
    /// Reason why no account was connected.
    Account(ConnectError),
    /// The toolkit has changed since the page with the form was opened.
    Changed,
}

/// Identity of the toolkit on the page. Forms include it, so that nothing is set for another toolkit
/// unnoticed.
struct Seen {
    owner: String,
    version: String,
}

impl Seen {
    fn of(toolkit: &VisibleToolkit) -> Self {
        Self { owner: toolkit.owner().to_owned(), version: toolkit.definition().version.clone() }
    }

    fn is_in(&self, form: &Form) -> bool {
        form.get("owner") == self.owner && form.get("version") == self.version
    }
}

/// Query string of the page.
#[derive(Deserialize)]
pub(super) struct After {
    done: Option<Done>,
}

#[derive(Template)]
#[template(path = "ui/templates/toolkit.html")]
struct ToolkitPage<'a> {
    frame: Option<Frame>,
    definition: &'a ToolkitDefinition,
    icon: Icon,
    is_private: bool,
    live: Option<&'a VersionRecord>,
    reach: Vec<Reach>,
    never: Vec<&'static str>,
    tools: Vec<Tool<'a>>,
    /// Whether the user hides the whole toolkit from models.
    is_hidden: bool,
    /// Token cost of listing its tools, as text.
    cost: String,
    fields: Vec<Field>,
    secrets: Vec<SecretStatus>,
    /// The user's account, if the toolkit uses one.
    account: Option<Account>,
    /// Size of the data that it caches for the user between calls, as text.
    cached: Option<String>,
    /// Status of the user's consent.
    consent: ConsentStatus,
    /// Hosts that were added after one of the user's secrets was set, if the toolkit requires no consent.
    since: Option<Since>,
    seen: Seen,
    curve: Curve,
    /// Limits of the user's calls, as text.
    limits: Vec<String>,
    is_operator: bool,
    done: Option<Done>,
    problem: Option<String>,
    secret_problem: Option<(String, String)>,
}

/// A tool, with its effects.
struct Tool<'a> {
    definition: &'a ToolDefinition,
    listed_name: String,
    effect: Effect,
    /// Whether the user hides it from models, alone or with the whole toolkit.
    is_hidden: bool,
    /// Whether code may call it although it is not read-only.
    is_in_code: bool,
}

/// Effect of a tool, by its hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Reads,
    Changes,
    Destroys,
}

/// A secret of the user that may now be sent to more hosts than when it was set.
struct Since {
    secret: String,
    day: String,
    added: Vec<String>,
}

impl Done {
    fn message(self) -> &'static str {
        match self {
            Self::SettingsSaved => "Your settings are saved.",
            Self::SecretSet => {
                "The secret is set. Calls of yours find it from now on; nobody can read it here."
            }
            Self::ShortSecretSet => {
                "The secret is set. It is too short to be taken out of what the toolkit returns or logs."
            }
            Self::SecretUnset => "The secret is gone.",
            Self::AccountConnected => "Your account is connected. Calls of yours act with it from now on.",
            Self::AccountEnded => "Your account is no longer connected.",
            Self::AllowedInCode => "Code of your models may call it now.",
            Self::NotInCode => "Code of your models may not call it any more.",
            Self::CacheCleared => "What it kept for you between calls is gone.",
            Self::Hidden => "Your clients do not list it any more, and cannot call it. You can, here.",
            Self::Shown => "Your clients list it again.",
            Self::Agreed => "You have agreed to what it reaches. Calls of yours go on.",
        }
    }
}

const NOT_SAVED: &str = "Nothing was saved. What was wrong stands beside its field.";
const CHANGED: &str = "Nothing was saved: the toolkit has changed since you opened the page. Look again at what it may \
                       reach, and send the form again if you still want to.";

/// Redirects to the page of a toolkit, with a notice of the outcome.
fn back_to(toolkit: &str, done: Done) -> Redirect {
    let done = serde_json::to_value(done).expect("a name");
    Redirect::to(&format!("/ui/toolkits/{toolkit}?done={}", done.as_str().unwrap_or_default()))
}

/// `GET /ui/toolkits/{id}`
pub(super) async fn show(
    State(shared): State<Shared>,
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    Query(After { done }): Query<After>,
) -> Result<Response, WebError> {
    page(&shared.base_url, &user, frame, &user.toolkit(&id)?, done, None).await
}

async fn page(
    base_url: &Url,
    user: &User,
    frame: Frame,
    toolkit: &VisibleToolkit,
    done: Option<Done>,
    refused: Option<Refused>,
) -> Result<Response, WebError> {
    let definition = toolkit.definition();
    let record = user.listed().record(&definition.id).await?;
    let secrets = user.stored_for(&definition.id).secrets().await?;
    let account = toolkit
        .account()
        .await?
        .map(|status| Account { status, redirect_uri: account::redirect_uri(base_url, &definition.id) });
    let usage = user.records(&definition.id).await?.usage().await?;
    let hidden = user.hidden().await?;
    let in_code = toolkit.code_tools().await?;
    let cached = toolkit.cached().await?;
    let consent = toolkit.consent().await?;
    let is_asked = consent.waiting || (consent.agreed_at.is_some() && consent.new.is_empty());
    let (status, problem) = match &refused {
        None => (StatusCode::OK, None),
        Some(Refused::Changed) => (StatusCode::CONFLICT, Some(CHANGED.to_owned())),
        Some(Refused::Account(why)) => (status_of(why), Some(account::in_words(why))),
        Some(Refused::Settings(_) | Refused::Secret(..)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, Some(NOT_SAVED.to_owned()))
        }
    };
    let (typed, secret_problem) = match refused {
        Some(Refused::Settings(typed)) => (Some(typed), None),
        Some(Refused::Secret(name, reason)) => (None, Some((name, reason))),
        Some(Refused::Changed | Refused::Account(_)) | None => (None, None),
    };
    let fields = match typed {
        Some(typed) => typed,
        None => settings::fields(toolkit.settings().await?),
    };
    let page = ToolkitPage {
        frame: Some(frame.at(Section::Directory)),
        definition,
        icon: Icon::of(toolkit.live()),
        is_private: definition.visibility == Visibility::Private,
        live: record.versions.iter().find(|version| version.version == record.live_version),
        reach: reach::of(definition),
        never: reach::never(definition),
        tools: definition
            .tools
            .iter()
            .map(|tool| Tool::of(&definition.id, tool, &hidden, &in_code))
            .collect(),
        is_hidden: hidden.has_all_of(&definition.id),
        cost: cost::of(definition.tools.iter().filter(|tool| !hidden.has(&definition.id, &tool.name))),
        since: if is_asked { None } else { since(toolkit, &secrets).await? },
        consent,
        seen: Seen::of(toolkit),
        fields,
        secrets,
        account,
        cached: (cached.values > 0).then(|| text::size(cached.bytes)),
        curve: Curve::of(&usage),
        limits: toolkit.limits().await?.iter().map(LimitUsage::to_string).collect(),
        is_operator: user.is_operator(),
        done,
        problem,
        secret_problem,
    };
    Ok(frame::page(status, &page))
}

impl ToolkitPage<'_> {
    /// Whether any of its tools is not read-only.
    fn changes(&self) -> bool {
        self.tools.iter().any(|tool| tool.effect != Effect::Reads)
    }
}

impl<'a> Tool<'a> {
    fn of(toolkit: &str, definition: &'a ToolDefinition, hidden: &Hidden, in_code: &[String]) -> Self {
        Self {
            is_hidden: hidden.has(toolkit, &definition.name),
            definition,
            listed_name: format!("{toolkit}__{}", definition.name),
            effect: match &definition.annotations {
                hints if hints.read_only_hint == Some(true) => Effect::Reads,
                hints if hints.destructive_hint == Some(true) => Effect::Destroys,
                _ => Effect::Changes,
            },
            is_in_code: in_code.contains(&definition.name),
        }
    }
}

/// Returns the hosts that were added since the user set the oldest of the secrets, which may be sent there
/// too.
async fn since(toolkit: &VisibleToolkit, secrets: &[SecretStatus]) -> Result<Option<Since>, WebError> {
    let set = secrets.iter().filter(|secret| secret.declared).filter_map(|secret| {
        let set_at: Timestamp = secret.updated_at.as_deref()?.parse().ok()?;
        Some((set_at, secret))
    });
    let Some((set_at, secret)) = set.min_by_key(|(set_at, _)| *set_at) else { return Ok(None) };
    let before = toolkit.hosts_at(set_at).await?;
    let mut added = toolkit.definition().egress.clone();
    added.retain(|host| !before.contains(host));
    if added.is_empty() {
        return Ok(None);
    }
    Ok(Some(Since { secret: secret.name.clone(), day: text::day(&set_at.to_string()), added }))
}
