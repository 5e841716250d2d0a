//! The page on which a person sets a secret that a call went without: `GET` shows it, `POST` sets it.
//!
//! A client gets the link and no more (`mcp/elicitation`): the value goes from the person's browser to the
//! vault, and neither client nor model sees it.
//!
//! Invariants:
//! - without a link that is good ([`links`]) there is nothing here, whoever asks, and the link decides
//!   whose secret is set: nothing in the request does;
//! - where an external provider signs people in, the browser must be signed in as the link's user, or a
//!   person could be sent a link that hands their credential to whoever sent it. In local mode, which
//!   knows no passwords and is for one machine, the link alone must do;
//! - only a form of the page itself sets anything;
//! - neither a link's id nor a value gets into the log, and no value into an answer.

mod links;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, Method};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tracing::error;
use url::Url;

use super::body::read_small;
use super::pages::guard::{self, Own, Sender};
use super::{Shared, below};
use crate::identity::AuthError;
use crate::redaction;
use crate::toolkits::Live;
use crate::vault::{LONGEST, VaultError};
pub(super) use links::{Links, Wanted};
use view::Refusal;

/// Largest form, in bytes: every byte of the longest value may take three.
const LARGEST_FORM: usize = 3 * LONGEST + 1024;

/// What the handlers share.
#[derive(Clone)]
struct Pages {
    shared: Shared,
    links: Arc<Links>,
}

/// The page that a link leads to.
#[derive(Deserialize)]
struct Place {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Parameters {
    link: String,
}

/// The query of a page's URL, if it is one.
type Asked = Result<Query<Parameters>, QueryRejection>;

/// A good link, and what is known of the secret that it is for.
struct Question {
    wanted: Wanted,
    toolkit: Arc<Live>,
}

/// The routes of the page.
pub(super) fn routes(shared: &Shared, links: Arc<Links>) -> Router<Shared> {
    let own = Own::of(&shared.base_url);
    Router::new()
        .route("/toolkits/{id}/secrets/{name}/page", get(show).post(set))
        .layer(middleware::from_fn_with_state(own.clone(), refuse_other_pages))
        .layer(middleware::from_fn_with_state(own, guard::refuse_other_hosts))
        .with_state(Pages { shared: shared.clone(), links })
}

/// Where the person behind a client sets a secret. It names no user, and an id that says nothing.
pub(super) fn url(base_url: &Url, wanted: &Wanted, link: &SecretString) -> String {
    let Wanted { toolkit, name, user: _ } = wanted;
    let path = format!("/toolkits/{toolkit}/secrets/{name}/page?link={}", link.expose_secret());
    below(base_url, &path)
}

async fn show(
    State(pages): State<Pages>,
    Path(place): Path<Place>,
    asked: Asked,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let link = link_of(asked);
    let Question { wanted, toolkit } = pages.question(&place, &link)?;
    if pages.has_external_provider() {
        let visitor = pages.shared.identity.recognise_visitor(&headers).await;
        pages.require_user(&wanted, visitor.map(|visitor| visitor.user_id))?;
    }
    Ok(view::form(&wanted, &toolkit, &link, None))
}

async fn set(
    State(pages): State<Pages>,
    Path(place): Path<Place>,
    asked: Asked,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let link = link_of(asked);
    let Question { wanted, toolkit } = pages.question(&place, &link)?;
    if pages.has_external_provider() {
        let caller = pages.shared.identity.authenticate(&headers).await;
        pages.require_user(&wanted, caller.map(|caller| caller.user_id))?;
    }
    let again = |why: &str| Ok(view::form(&wanted, &toolkit, &link, Some(why)));
    // Nobody's form is waited for but that of the link's user.
    let value = match read_small(body, LARGEST_FORM).await.map(|body| value(&body)) {
        Ok(Ok(value)) => value,
        Ok(Err(why)) => return again(why),
        Err(_too_large) => return again("The value is too long."),
    };
    if let Err(full) = pages.shared.disk.room_for_a_little() {
        return again(&format!("The value was not stored: {full}."));
    }
    // Of two forms with the same link, one sets the secret.
    let claim = pages.links.claim(&link).ok_or(Refusal::NoLink)?;
    let Wanted { user, toolkit: id, name } = &wanted;
    match pages.shared.vault.set(user, id, name, &value).await {
        Ok(()) => {
            claim.use_up();
            Ok(view::done(&wanted, value.expose_secret().len() >= redaction::SHORTEST))
        }
        Err(VaultError::Refused(why)) => again(&format!("The value was refused: {why}.")),
        Err(VaultError::NoToolkit) => Err(Refusal::NoLink),
        Err(VaultError::Storage(cause)) => {
            error!(%cause, "the vault failed");
            Err(Refusal::Vault)
        }
    }
}

impl Pages {
    /// Finds what a link is for, if it leads to this page and the toolkit still asks for the secret.
    fn question(&self, place: &Place, link: &str) -> Result<Question, Refusal> {
        let wanted = self.links.look_up(link).ok_or(Refusal::NoLink)?;
        if (&wanted.toolkit, &wanted.name) != (&place.id, &place.name) {
            return Err(Refusal::NoLink);
        }
        let registry = self.shared.toolkits.registry();
        let toolkit = registry.get(&wanted.toolkit).filter(|live| {
            live.is_visible_to(&wanted.user) && live.definition.secrets.contains(&wanted.name)
        });
        let toolkit = toolkit.ok_or(Refusal::NoLink)?.clone();
        Ok(Question { wanted, toolkit })
    }

    fn has_external_provider(&self) -> bool {
        self.shared.authorization_server.is_none()
    }

    /// Refuses everybody but the user whose call it was.
    fn require_user(&self, wanted: &Wanted, user: Result<String, AuthError>) -> Result<(), Refusal> {
        match user {
            Ok(user) if user == wanted.user => Ok(()),
            Ok(_other) => Err(Refusal::OtherUser),
            Err(AuthError::Unavailable) => Err(Refusal::Unavailable),
            Err(_unknown) => {
                let applications = self.shared.allowed_origins.clone();
                let command = view::command(wanted);
                Err(Refusal::NotSignedIn { applications, command })
            }
        }
    }
}

/// Keeps other pages from fetching or framing the page, and from sending its form.
///
/// `Origin: null` does not pass: the `Referrer-Policy` of this page has its browser name it.
async fn refuse_other_pages(
    State(own): State<Own>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let is_own_form = *request.method() == Method::POST && own.sender(request.headers()) == Sender::Own;
    if is_own_form || guard::opens_window(&request) {
        Ok(next.run(request).await)
    } else {
        Err(Refusal::OtherPage)
    }
}

/// The link's id; a query without one, or with two, has one that leads nowhere.
fn link_of(asked: Asked) -> String {
    asked.map(|Query(Parameters { link })| link).unwrap_or_default()
}

/// The field `value` of a form, as it was typed.
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
