//! Pages of the local sign-in.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_base::local_mode;
use kitbag_identity::{ClientSource, CodePrompt, Consent, Destination, paths};

use crate::pages::{self, Notice};

const TITLE: &str = "Sign in to Kitbag";

/// Consent page: asks a person whether the client may act for them.
#[derive(Template)]
#[template(path = "oauth/consent.html")]
struct ConsentPage<'a> {
    title: &'static str,
    client: &'a str,
    destination: String,
    address: &'a str,
    /// URL of the client's metadata document, if it was read.
    document: Option<&'a str>,
    unread: Option<UnreadDocument<'a>>,
    /// Text that says how long the client may act.
    duration: String,
    /// Target of the form.
    action: &'static str,
    request_id: &'a str,
    user: &'static str,
    asks_for_code: bool,
    /// Error in the submitted sign-in code.
    problem: Option<&'static str>,
}

/// Metadata document that could not be read. Without one, the client has no name.
struct UnreadDocument<'a> {
    url: &'a str,
    why: &'a str,
}

/// Renders the consent page.
pub(super) fn consent(question: &Consent) -> Response {
    let duration = if question.scopes.last_beyond_access_token() {
        "and renew its access by itself".to_owned()
    } else {
        format!("for {}", humantime::format_duration(question.lifetime))
    };
    let (document, unread) = match &question.client_source {
        ClientSource::Registration => (None, None),
        ClientSource::Document => (Some(&*question.client_id), None),
        ClientSource::UnreadDocument(why) => (None, Some(UnreadDocument { url: &question.client_id, why })),
    };
    let (status, problem) = code_problem(question.code);
    let page = ConsentPage {
        title: TITLE,
        client: question.client_name.as_deref().unwrap_or("an application without a name"),
        document,
        unread,
        destination: describe(&question.redirect_uri.destination()),
        address: question.redirect_uri.as_str(),
        duration,
        action: paths::AUTHORIZE,
        request_id: &question.request_id,
        user: local_mode::USER,
        asks_for_code: !matches!(question.code, CodePrompt::Unneeded),
        problem,
    };
    pages::page(status, &page)
}

/// Status and message for the state of the sign-in code.
pub(crate) fn code_problem(prompt: CodePrompt) -> (StatusCode, Option<&'static str>) {
    match prompt {
        CodePrompt::Unneeded | CodePrompt::Asked => (StatusCode::OK, None),
        CodePrompt::Missing => (StatusCode::UNPROCESSABLE_ENTITY, Some("Type the sign-in code.")),
        CodePrompt::Wrong => (StatusCode::FORBIDDEN, Some("This is not the sign-in code of this server.")),
    }
}

/// Renders a page with the reason why the sign-in stopped.
pub(crate) fn failure(status: StatusCode, message: &str) -> Response {
    pages::page(status, &Notice { title: TITLE, heading: "Sign-in stopped", message })
}

fn describe(destination: &Destination) -> String {
    match destination {
        Destination::Site(host) => format!("the web site {host}"),
        Destination::Loopback(host) => format!("a program on this computer ({host})"),
        Destination::Application(scheme) => format!("the application for {scheme}: links"),
    }
}
