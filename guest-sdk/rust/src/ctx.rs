//! [`Ctx`]: a handler's interface to its host.

mod json;

use std::cell::OnceCell;
use std::rc::Rc;

use kitbag_manifest::credentials;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[cfg(not(target_family = "wasm"))]
use crate::local::platform::Platform;
#[cfg(target_family = "wasm")]
use crate::sandbox::platform::Platform;
use crate::{
    AskError, Asked, Cache, Failure, FetchError, Progress, Request, Response, Result, Svc, ToolError, ask,
    log,
};

/// The calling user, their settings, and the capabilities that the toolkit declares.
///
/// Clones refer to the same call: pass one to each part of the work that needs it.
///
/// Invariant: every method calls its platform directly, never through a table of function pointers.
/// A component therefore imports only the capabilities that its toolkit uses, and an operator can
/// read from the imports what it can do.
#[derive(Clone)]
pub struct Ctx(Rc<Inner>);

struct Inner {
    toolkit_id: String,
    user_id: String,
    config: String,
    settings: OnceCell<Map<String, Value>>,
    has_knowledge: bool,
    platform: Platform,
}

impl Ctx {
    pub(crate) fn new(toolkit: &crate::Toolkit, user_id: String, config: String, platform: Platform) -> Self {
        Self(Rc::new(Inner {
            toolkit_id: toolkit.id().to_owned(),
            user_id,
            config,
            settings: OnceCell::new(),
            has_knowledge: toolkit.has_knowledge(),
            platform,
        }))
    }

    /// Returns the calling user's opaque id. It identifies the user and is not a credential.
    pub fn user_id(&self) -> &str {
        &self.0.user_id
    }

    /// Returns the calling user's settings by declared key, with defaults applied. A setting that has
    /// neither a value nor a default is absent.
    pub fn config(&self) -> &Map<String, Value> {
        self.0.settings.get_or_init(|| {
            serde_json::from_str(&self.0.config).expect("the host sends settings as an object")
        })
    }

    /// Deserializes all settings into a type of the toolkit.
    ///
    /// ```
    /// # use kitbag_toolkit::prelude::*;
    /// #[derive(Deserialize)]
    /// struct Settings {
    ///     units: String, // has a default, so it is always present
    ///     home: Option<String>,
    /// }
    ///
    /// async fn show(_: NoArgs, ctx: Ctx) -> Result<String> {
    ///     let settings: Settings = ctx.config_as()?;
    ///     Ok(format!("{} at {}", settings.units, settings.home.as_deref().unwrap_or("nowhere")))
    /// }
    /// ```
    pub fn config_as<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(self.config()).map_err(|error| Failure::from(error).context("reading the settings"))
    }

    /// Reads a declared credential; `None` when the user has not set it.
    /// A name that the toolkit does not declare is a [`Failure`].
    #[expect(clippy::unused_async, reason = "the import is synchronous only in the current contract")]
    pub async fn secret(&self, name: &str) -> Result<Option<String>> {
        self.0.platform.secret(name).map_err(|error| error.explain(name))
    }

    /// Reads a declared credential that the tool requires. When the user has not set it, the
    /// [`ToolError`] says how to set it.
    pub async fn require_secret(&self, name: &str) -> Result<String> {
        self.secret(name)
            .await?
            .ok_or_else(|| ToolError::new(credentials::not_set(&self.0.toolkit_id, &[name])).into())
    }

    /// Sends a request to a host that the toolkit declares in `egress`.
    ///
    /// A response with any status is `Ok`; a host that is not declared is a network error. The Kitbag host
    /// follows redirects, sets the `User-Agent` and carries out a declared `auth`.
    pub async fn fetch(&self, request: impl Into<Request>) -> Result<Response, FetchError> {
        self.0.platform.fetch(request.into()).await
    }

    /// Returns the calling user's knowledge base; `None` if the toolkit declares neither
    /// [`Scope::Search`](crate::Scope::Search) nor [`Scope::Ingest`](crate::Scope::Ingest).
    pub fn svc(&self) -> Option<Svc> {
        self.0.has_knowledge.then(|| Svc::new(self.clone()))
    }

    /// Shows the calling user a form with the fields of `T`: strings, numbers, booleans, unit-variant enums,
    /// lists of such enums, and `Option`s of these. Needs [`Scope::Ask`](crate::Scope::Ask).
    ///
    /// **The handler runs again.** This method does not return before the user has answered: the host ends
    /// the run, asks the user, and starts the handler again from the beginning. In the new run, the same
    /// question with the same `key` returns its answer at once. Therefore ask before any side effect, and ask
    /// the same questions in each run. A call may ask at most five questions. Do not ask for credentials:
    /// declare a [`secret`](crate::Toolkit::secret) instead.
    ///
    /// ```
    /// # use kitbag_toolkit::prelude::*;
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Confirmation {
    ///     /// Delete them for good?
    ///     sure: bool,
    /// }
    ///
    /// async fn clear(_: NoArgs, ctx: Ctx) -> Result<String> {
    ///     match ctx.ask::<Confirmation>("clear", "All 12 notes will be deleted.").await? {
    ///         Asked::Accepted(it) if it.sure => Ok("Deleted.".into()),
    ///         _ => Ok("Nothing was deleted.".into()),
    ///     }
    /// }
    /// ```
    pub async fn ask<T: JsonSchema + DeserializeOwned>(
        &self,
        key: &str,
        message: impl AsRef<str>,
    ) -> Result<Asked<T>> {
        let asked = self.ask_with(key, message, &ask::schema::<T>()).await?;
        asked.try_map(|fields| {
            T::deserialize(Value::Object(fields))
                .map_err(|error| Failure::from(error).context(format!("reading the answer to {key}")))
        })
    }

    /// Like [`ask`](Self::ask), with the form given as a JSON Schema: an object of flat fields.
    pub async fn ask_with(
        &self,
        key: &str,
        message: impl AsRef<str>,
        schema: &Value,
    ) -> Result<Asked<Map<String, Value>>, AskError> {
        self.0.platform.ask(key, message.as_ref(), &schema.to_string()).await
    }

    /// Returns the toolkit's cache for the calling user, which persists between calls. Needs
    /// [`Scope::Cache`](crate::Scope::Cache).
    pub fn cache(&self) -> Cache {
        Cache::new(self.clone())
    }

    /// Appends an entry with one value to the invocation's log. [`log!`](crate::log!) takes several values.
    pub fn log(&self, value: impl Serialize) {
        self.write_log(vec![log::argument(&value)]);
    }

    /// Appends an entry to the invocation's log. Each argument is a JSON text.
    #[doc(hidden)]
    pub fn write_log(&self, arguments: Vec<String>) {
        self.0.platform.log(arguments);
    }

    /// Reports progress to the client. Does nothing if the client did not request progress. The host limits
    /// the rate: it drops reports that follow the previous one too soon.
    ///
    /// ```
    /// # use kitbag_toolkit::prelude::*;
    /// async fn count(_: NoArgs, ctx: Ctx) -> Result<String> {
    ///     for page in 1..=10 {
    ///         ctx.progress(Progress::new(page).of(10).message(format!("page {page}")));
    ///     }
    ///     Ok("10 pages".into())
    /// }
    /// ```
    pub fn progress(&self, progress: Progress) {
        self.0.platform.progress(progress);
    }

    pub(crate) fn platform(&self) -> &Platform {
        &self.0.platform
    }
}
