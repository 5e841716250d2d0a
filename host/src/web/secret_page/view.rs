//! What the person sees.

use std::sync::Arc;

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::access::OwnSecret;
use crate::toolkits::Live;
use crate::vault::{MAX_VALUE_BYTES, SecretSlot};
use crate::web::pages::{self, Notice};

const TITLE: &str = "Set a credential in Kitbag";

/// Why a person cannot set the secret here and now.
#[derive(Debug)]
pub(in crate::web) enum PageError {
    /// It was never good, is not for this page, or is used up or expired.
    NoLink,
    /// The browser is signed in as somebody else.
    OtherUser,
    /// The browser is not signed in.
    NotSignedIn {
        /// Origins of the pages that sign people in.
        applications: Arc<[String]>,
        /// What does the same without a browser.
        command: String,
    },
    /// The provider's keys are out of reach.
    Unavailable,
    /// The request comes from a page that is not ours, or for a frame of it.
    OtherPage,
    /// For a reason of ours.
    Storage,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NoLink => StatusCode::NOT_FOUND,
            Self::OtherUser | Self::NotSignedIn { .. } | Self::OtherPage => StatusCode::FORBIDDEN,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Storage => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let message = match self {
            Self::NoLink => {
                "This link is not good any more: it was used, or it is older than ten minutes. Nothing was \
                 set by it now. Use the tool again to get another link."
                    .to_owned()
            }
            Self::OtherUser => "This link was made for another user than the one who is signed in here. \
                                Nothing was set. If somebody sent it to you, do not use it: your \
                                credential would have become theirs."
                .to_owned(),
            Self::NotSignedIn { applications, command } => {
                let place = match applications.join(" or ") {
                    none if none.is_empty() => String::new(),
                    origins => format!(" at {origins}"),
                };
                format!(
                    "This browser is not signed in. Nothing was set. Sign in{place}, and open the link \
                     again; or use a terminal: {command}"
                )
            }
            Self::Unavailable => {
                "Sign-in cannot be checked at the moment. Nothing was set. Try again in a moment.".to_owned()
            }
            Self::OtherPage => {
                "Another page has tried to open or to use this one. Nothing was set.".to_owned()
            }
            Self::Storage => "The vault cannot be used at the moment. Nothing was set.".to_owned(),
        };
        let notice = Notice { title: TITLE, heading: "Nothing was set", message: &message };
        of_our_own(pages::page(status, &notice))
    }
}

/// Asks for the value.
#[derive(Template)]
#[template(path = "secret_page/form.html")]
struct Form<'a> {
    title: &'static str,
    slot: &'a SecretSlot,
    toolkit: &'a Live,
    link: &'a str,
    longest: usize,
    /// What sets the secret without a browser.
    command: String,
    /// What was wrong with the value before.
    problem: Option<&'a str>,
}

/// The page with the form; `problem` says what was wrong with the value before.
pub(super) fn form(secret: &OwnSecret, toolkit: &Live, link: &str, problem: Option<&str>) -> Response {
    let (slot, command) = (secret.slot(), command(secret));
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    of_our_own(pages::page(
        status,
        &Form { title: TITLE, slot, toolkit, link, longest: MAX_VALUE_BYTES, command, problem },
    ))
}

/// Says that the value is set; one that is not `redacted` is too short to be taken out of results.
pub(super) fn done(secret: &OwnSecret, redacted: bool) -> Response {
    let SecretSlot { name, toolkit, .. } = secret.slot();
    let warning =
        if redacted { "" } else { " It is too short to be taken out of what the toolkit returns or logs." };
    let message = format!(
        "{name} is set for the toolkit {toolkit}.{warning} Close this page, and go on in your application."
    );
    of_our_own(pages::page(StatusCode::OK, &Notice { title: TITLE, heading: "Done", message: &message }))
}

/// What sets the secret without a browser.
pub(super) fn command(secret: &OwnSecret) -> String {
    let SecretSlot { toolkit, name, .. } = secret.slot();
    format!("kitbag secret set {toolkit} {name} --from-stdin")
}

/// A page whose form goes nowhere but here, and says so: browsers name the page that sends a form only
/// where the page lets them. Nobody else is told the page's URL.
fn of_our_own(mut page: Response) -> Response {
    let headers = page.headers_mut();
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.append(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("form-action 'self'"));
    page
}
