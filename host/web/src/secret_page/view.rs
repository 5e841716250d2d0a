//! Views of the secret page.

use std::sync::Arc;

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::OwnSecret;
use kitbag_access::values::toolkits::{Live, Reach, ReachItem};
use kitbag_access::values::vault::{MAX_VALUE_BYTES, SecretSlot};

use crate::pages::{self, NOT_STORED, Notice};
use crate::sessions::sign_in_path;

const TITLE: &str = "Set a credential in Kitbag";

/// Reason why a person cannot set the secret.
#[derive(Debug)]
pub(crate) enum PageError {
    /// Invalid link: forged, for another page, used or expired.
    NoLink,
    /// The browser is signed in as another user.
    OtherUser,
    /// The browser is not signed in.
    NotSignedIn {
        /// Origins of the applications where people sign in.
        applications: Arc<[String]>,
        /// Command that sets the secret without a browser.
        command: String,
    },
    /// The browser has no session on the pages.
    SignInFirst {
        /// Path of the page, including its link.
        page: String,
        /// Whether the request opens the page. Only then it redirects: the CSP forbids forms to lead
        /// elsewhere.
        is_opening: bool,
    },
    /// The provider's keys are unavailable.
    Unavailable,
    /// The database is unavailable.
    NoAnswer,
    /// Too many requests of the user are in progress.
    TooManyRequests,
    /// The request comes from a foreign page, or loads the page in a frame.
    OtherPage,
    /// Internal error.
    Storage,
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::SignInFirst { page, is_opening } => return sign_in_first(&page, is_opening),
            Self::NoAnswer => return no_answer(),
            Self::NoLink => (
                StatusCode::NOT_FOUND,
                "This link is not good any more: it was used, or it is older than ten minutes. Nothing was \
                 set by it now. Use the tool again to get another link."
                    .to_owned(),
            ),
            Self::OtherUser => (
                StatusCode::FORBIDDEN,
                "This link was made for another user than the one who is signed in here. \
                 Nothing was set. If somebody sent it to you, do not use it: your \
                 credential would have become theirs."
                    .to_owned(),
            ),
            Self::NotSignedIn { applications, command } => {
                let place = match applications.join(" or ") {
                    none if none.is_empty() => String::new(),
                    origins => format!(" at {origins}"),
                };
                let message = format!(
                    "This browser is not signed in. Nothing was set. Sign in{place}, and open the link \
                     again; or use a terminal: {command}"
                );
                (StatusCode::FORBIDDEN, message)
            }
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Sign-in cannot be checked at the moment. Nothing was set. Try again in a moment.".to_owned(),
            ),
            Self::TooManyRequests => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many requests of yours are in progress. Nothing was set. Try again in a moment."
                    .to_owned(),
            ),
            Self::OtherPage => (
                StatusCode::FORBIDDEN,
                "Another page has tried to open or to use this one. Nothing was set.".to_owned(),
            ),
            Self::Storage => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The vault cannot be used at the moment. Nothing was set.".to_owned(),
            ),
        };
        nothing_was_set(status, &message)
    }
}

fn nothing_was_set(status: StatusCode, message: &str) -> Response {
    let notice = Notice { title: TITLE, heading: "Nothing was set", message };
    of_our_own(pages::page(status, &notice))
}

fn no_answer() -> Response {
    const MESSAGE: &str =
        "The database does not answer at the moment. Nothing was set. Try again in a second.";

    let mut response = nothing_was_set(StatusCode::SERVICE_UNAVAILABLE, MESSAGE);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A message with a link to continue.
#[derive(Template)]
#[template(path = "secret_page/onward.html")]
struct Onward<'a> {
    title: &'static str,
    heading: &'static str,
    message: &'a str,
    path: &'a str,
    label: &'static str,
}

/// Sends the browser to the sign-in, which returns to the page.
fn sign_in_first(page: &str, is_opening: bool) -> Response {
    const MESSAGE: &str = "Your session has ended, and nothing was set. Sign in, and enter the value again.";

    let path = sign_in_path(page);
    if is_opening {
        return (NOT_STORED, Redirect::to(&path)).into_response();
    }
    let heading = "Nothing was set";
    let page = Onward { title: TITLE, heading, message: MESSAGE, path: &path, label: "Sign in" };
    of_our_own(pages::page(StatusCode::FORBIDDEN, &page))
}

/// Form for the value.
#[derive(Template)]
#[template(path = "secret_page/form.html")]
struct Form<'a> {
    title: &'static str,
    slot: &'a SecretSlot,
    toolkit: &'a Live,
    link: &'a str,
    /// Further capabilities of the toolkit, to which setting the secret also consents.
    more: Vec<ReachItem>,
    /// Digest of the toolkit's capabilities (SHA-256, hexadecimal).
    reach: String,
    longest: usize,
    /// Command that sets the secret without a browser.
    command: String,
    /// Error in the previously submitted value.
    problem: Option<&'a str>,
}

/// Renders the form; `problem` is the error in the previously submitted value.
pub(super) fn form(secret: &OwnSecret, toolkit: &Live, link: &str, problem: Option<&str>) -> Response {
    let slot = secret.slot();
    let command = command(secret);
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    of_our_own(pages::page(
        status,
        &Form {
            title: TITLE,
            slot,
            toolkit,
            link,
            more: more_than(slot, toolkit),
            reach: toolkit.reach.digest(),
            longest: MAX_VALUE_BYTES,
            command,
            problem,
        },
    ))
}

/// Capabilities of a toolkit that the page does not show elsewhere.
fn more_than(slot: &SecretSlot, toolkit: &Live) -> Vec<ReachItem> {
    let mut all = toolkit.reach.beyond(&Reach::default());
    all.retain(|it| match it.kind.as_str() {
        "Owner" | "Network" => false,
        "Secret" => it.name != slot.name,
        _ => true,
    });
    all
}

/// Confirms that the value is set; warns if it is too short to be redacted.
pub(super) fn done(secret: &OwnSecret, redacted: bool) -> Response {
    let SecretSlot { name, toolkit, .. } = secret.slot();
    let warning =
        if redacted { "" } else { " It is too short to be taken out of what the toolkit returns or logs." };
    let message = format!(
        "{name} is set for the toolkit {toolkit}.{warning} Close this page, and go on in your application."
    );
    let path = format!("/ui/toolkits/{toolkit}#secrets");
    let label = "All secrets and settings of this toolkit";
    let page = Onward { title: TITLE, heading: "Done", message: &message, path: &path, label };
    of_our_own(pages::page(StatusCode::OK, &page))
}

/// Command that sets the secret without a browser.
pub(super) fn command(secret: &OwnSecret) -> String {
    let SecretSlot { toolkit, name, .. } = secret.slot();
    format!("kitbag secret set {toolkit} {name} --from-stdin")
}

/// Restricts the page's form to this origin, and makes browsers send the page's origin with the form. No
/// other site gets the page's URL.
fn of_our_own(mut page: Response) -> Response {
    let headers = page.headers_mut();
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.append(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("form-action 'self'"));
    page
}
