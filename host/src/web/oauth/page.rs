//! The pages of the sign-in.

use axum::http::StatusCode;
use axum::response::Response;

use crate::identity::{CodePrompt, Consent, Destination, paths};
use crate::local_mode;
use crate::web::pages::{self, Escaped};

const TITLE: &str = "Sign in to Kitbag";

/// Asks a person whether the client may act for them.
pub(super) fn consent(question: &Consent) -> Response {
    let duration = if question.scopes.last_beyond_access_token() {
        "and renew its access by itself".to_owned()
    } else {
        format!("for {}", humantime::format_duration(question.lifetime))
    };
    let content = format!(
        include_str!("consent.html"),
        client = Escaped(question.client_name.as_deref().unwrap_or("an application without a name")),
        destination = Escaped(&describe(&question.redirect_uri.destination())),
        address = Escaped(question.redirect_uri.as_str()),
        duration = duration,
        action = paths::AUTHORIZE,
        request_id = Escaped(&question.request_id),
        user = Escaped(local_mode::USER),
        code = code_field(question.code),
    );
    let status = match question.code {
        CodePrompt::Unneeded | CodePrompt::Asked => StatusCode::OK,
        CodePrompt::Missing => StatusCode::UNPROCESSABLE_ENTITY,
        CodePrompt::Wrong => StatusCode::FORBIDDEN,
        CodePrompt::TooManyTries => StatusCode::TOO_MANY_REQUESTS,
    };
    pages::page(status, TITLE, &content)
}

/// The field for the sign-in code, with what was wrong with the one that came.
fn code_field(prompt: CodePrompt) -> String {
    let problem = match prompt {
        CodePrompt::Unneeded => return String::new(),
        CodePrompt::Asked => "",
        CodePrompt::Missing => "Type the sign-in code.",
        CodePrompt::Wrong => "This is not the sign-in code of this server.",
        CodePrompt::TooManyTries => {
            "Too many wrong codes have come in the last minute: wait for one, and try again. \
             `kitbag login` needs no code."
        }
    };
    let problem = if problem.is_empty() {
        String::new()
    } else {
        format!("<strong role=\"alert\">{problem}</strong>\n")
    };
    format!(include_str!("code.html"), problem = problem)
}

/// Says why the browser stays here.
pub(in crate::web) fn failure(status: StatusCode, message: &str) -> Response {
    pages::notice(status, TITLE, "Sign-in stopped", message)
}

fn describe(destination: &Destination) -> String {
    match destination {
        Destination::Site(host) => format!("the web site {host}"),
        Destination::Loopback(host) => format!("a program on this computer ({host})"),
        Destination::Application(scheme) => format!("the application for {scheme}: links"),
    }
}
