//! The page on which a person sets a secret that a call lacked: `GET` shows it, `POST` sets the secret.
//!
//! A client gets only the link (`mcp/elicitation`): the value goes from the person's browser to the vault,
//! and neither client nor model sees it.
//!
//! Invariants:
//! - without a valid link (`vault/link`) the page does not exist for anyone, and the link alone, nothing in
//!   the request, decides for which user, toolkit and owner the secret is set;
//! - with an external provider, the browser must be signed in as the link's user, by its session of the pages
//!   (`sessions`). Otherwise an attacker could send a link that hands the recipient's credential to the
//!   attacker. In local mode, which has no passwords and is for one machine, the link suffices;
//! - only a form of the page itself sets anything;
//! - neither a link's id nor a value is logged, and no value is in a response.

mod view;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use kitbag_access::values::peers::NoAnswer;
use kitbag_access::values::toolkits::Live;
use kitbag_access::values::vault::{MAX_VALUE_BYTES, SecretSlot, VaultError};
use kitbag_access::{Access, AccessError, LinkedSecret, OwnSecret, StoredSecret};
use kitbag_base::base_url::below;
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tracing::error;
use url::Url;

use super::body::read_small;
use super::pages::origin::{self, OwnOrigin, Sender};
use super::sessions::{Sessions, SignInMode};
use super::share::{Purpose, RequestShare, RequestShares};
use super::state::Shared;
use view::PageError;

/// Maximum bytes of the form: each byte of the longest value may be percent-encoded as three.
const MAX_FORM_BYTES: usize = 3 * MAX_VALUE_BYTES + 1024;

/// Shared state of the handlers.
#[derive(Clone)]
pub(super) struct SecretPage {
    access: Access,
    sessions: Sessions,
    shares: RequestShares,
}

/// Path parameters of the page.
#[derive(Deserialize)]
pub(super) struct PagePath {
    id: String,
    name: String,
}

#[derive(Deserialize)]
pub(super) struct Parameters {
    link: String,
}

/// Parsed query of the page's URL.
type LinkQuery = Result<Query<Parameters>, QueryRejection>;

/// A valid link, and the toolkit that gets the secret.
struct Question {
    linked: LinkedSecret,
    toolkit: Arc<Live>,
    /// Request share of the link's user.
    share: RequestShare,
}

/// URL of the page for a secret. It contains no user, only an opaque link id.
pub(super) fn url(base_url: &Url, secret: &OwnSecret, link: &SecretString) -> String {
    below(base_url, &path_of(secret, link.expose_secret()))
}

fn path_of(secret: &OwnSecret, link: &str) -> String {
    let SecretSlot { toolkit, name, .. } = secret.slot();
    format!("/toolkits/{toolkit}/secrets/{name}/page?link={link}")
}

/// `GET /toolkits/{id}/secrets/{name}/page?link=…`
pub(super) async fn show(
    State(page): State<SecretPage>,
    Path(path): Path<PagePath>,
    query: LinkQuery,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let link = link_of(query);
    let Question { linked, toolkit, share } = page.question(&path, &link).await?;
    let secret = linked.secret();
    page.require_user(secret, &link, &Method::GET, &headers).await?;
    Ok(share.answer(view::form(secret, &toolkit, &link, None)).await)
}

/// `POST /toolkits/{id}/secrets/{name}/page?link=…`
pub(super) async fn set(
    State(page): State<SecretPage>,
    Path(path): Path<PagePath>,
    query: LinkQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, PageError> {
    let link = link_of(query);
    let Question { linked, toolkit, share } = page.question(&path, &link).await?;
    let secret = linked.secret();
    page.require_user(secret, &link, &Method::POST, &headers).await?;
    let again =
        async |why: &str| Ok(share.clone().answer(view::form(secret, &toolkit, &link, Some(why))).await);
    // Only the form of the link's user is read.
    let Ok(form) = read_small(body, MAX_FORM_BYTES).await else {
        return again("The value is too long.").await;
    };
    let value = match value(&form) {
        Ok(value) => value,
        Err(why) => return again(why).await,
    };
    // Setting a secret also consents to the capabilities that were shown.
    if field(&form, "reach") != Some(&toolkit.reach.digest()) {
        return again(
            "The toolkit has changed since you opened the page, and nothing was set. Look again at what it may reach.",
        )
        .await;
    }
    let linked = linked.clone().seen_with(toolkit.reach.clone());
    // Of two concurrent forms with the same link, only one sets the secret.
    match page.access.set_linked_secret(&linked, &value).await {
        Ok(StoredSecret { redacted, .. }) => Ok(share.clone().answer(view::done(secret, redacted)).await),
        Err(AccessError::Secrets(VaultError::Refused(why))) => {
            again(&format!("The value was refused: {why}.")).await
        }
        Err(AccessError::Secrets(VaultError::ToolkitChanged | VaultError::LinkSpent)) => {
            Err(PageError::NoLink)
        }
        Err(AccessError::DiskFull(full)) => again(&format!("The value was not stored: {full}.")).await,
        Err(cause) => Err(failed(&cause)),
    }
}

fn failed(cause: &AccessError) -> PageError {
    error!(%cause, "the vault failed");
    PageError::Storage
}

impl SecretPage {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            access: shared.access.clone(),
            sessions: Sessions::of(shared),
            shares: shared.request_shares.clone(),
        }
    }

    /// Resolves a link. Fails if it is used, expired or not for this page, or if the toolkit has changed.
    async fn question(&self, path: &PagePath, link: &str) -> Result<Question, PageError> {
        let linked = self.access.linked_secret(link, &path.id, &path.name).ok_or(PageError::NoLink)?;
        let secret = linked.secret();
        let share = self.shares.begin(Purpose::Page, &secret.slot().user);
        let share = share.map_err(|_refusal| PageError::TooManyRequests)?;
        self.access.catch_up(&secret.slot().user).await.map_err(|NoAnswer| PageError::NoAnswer)?;
        // Again, as another process may have ended the access of its user.
        self.access.linked_secret(link, &path.id, &path.name).ok_or(PageError::NoLink)?;
        let toolkit = self.access.toolkit_of(secret).ok_or(PageError::NoLink)?;
        if self.access.is_spent(&linked).await.map_err(|cause| failed(&cause))? {
            return Err(PageError::NoLink);
        }
        Ok(Question { linked, toolkit, share })
    }

    /// With an external provider, refuses everyone except the link's user.
    async fn require_user(
        &self,
        secret: &OwnSecret,
        link: &str,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), PageError> {
        let applications = match self.sessions.mode() {
            SignInMode::Local(_) => return Ok(()),
            SignInMode::Provider(_) => None,
            SignInMode::ProviderCookie { applications, .. } => Some(applications.clone()),
        };
        match self.sessions.caller(method, headers).await {
            Ok(Some(caller)) if secret.is_of(&caller) => Ok(()),
            Ok(Some(_other)) => Err(PageError::OtherUser),
            Ok(None) => Err(match applications {
                Some(applications) => PageError::NotSignedIn { applications, command: view::command(secret) },
                None => {
                    PageError::SignInFirst { page: path_of(secret, link), is_opening: *method == Method::GET }
                }
            }),
            Err(error) => Err(match error.into_parts().0 {
                StatusCode::SERVICE_UNAVAILABLE => PageError::Unavailable,
                _logged => PageError::Storage,
            }),
        }
    }
}

/// Stops other pages from fetching or framing the page, and from submitting its form.
///
/// `Origin: null` does not pass: with the `Referrer-Policy` of this page, its browser sends the origin.
pub(super) async fn refuse_other_pages(
    State(own): State<OwnOrigin>,
    request: Request,
    next: Next,
) -> Result<Response, PageError> {
    let is_own_form = *request.method() == Method::POST && own.sender(request.headers()) == Sender::Own;
    if is_own_form || origin::opens_window(&request) {
        Ok(next.run(request).await)
    } else {
        Err(PageError::OtherPage)
    }
}

/// Returns the link's id; an invalid one if the query does not have exactly one.
fn link_of(query: LinkQuery) -> String {
    query.map(|Query(Parameters { link })| link).unwrap_or_default()
}

/// Returns the first value of a form field that needs no decoding.
fn field<'a>(form: &'a [u8], name: &str) -> Option<&'a str> {
    let fields = std::str::from_utf8(form).ok()?.split('&');
    fields.filter_map(|field| field.split_once('=')).find_map(|(key, value)| (key == name).then_some(value))
}

/// Returns the decoded form field `value`.
fn value(form: &[u8]) -> Result<SecretString, &'static str> {
    const NO_TEXT: &str = "The value must be text in UTF-8.";

    let form = std::str::from_utf8(form).map_err(|_| NO_TEXT)?;
    let mut values = form.split('&').filter_map(|field| field.strip_prefix("value="));
    let (Some(encoded), None) = (values.next(), values.next()) else { return Err("The form has no value.") };
    let encoded = encoded.replace('+', " ");
    let value = percent_decode_str(&encoded).decode_utf8().map_err(|_| NO_TEXT)?;
    Ok(value.into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_one_value_and_it_is_text() {
        let read = |form: &[u8]| value(form).map(|value| value.expose_secret().to_owned());

        for (form, expected) in [
            (&b"value=a+b%2Bc%3D%26%C3%A9"[..], "a b+c=&é"),
            (b"value=", ""),
            (b"other=1&value=x%0Ay", "x\ny"),
        ] {
            assert_eq!(read(form).as_deref(), Ok(expected));
        }
        for form in [&b""[..], b"values=x", b"value=a&value=b", b"value=%FF", b"value=\xff"] {
            assert!(read(form).is_err(), "{form:?}");
        }
    }
}
