//! The pages of the sign-in.

use axum::http::StatusCode;
use axum::response::Response;

use crate::identity::{Consent, Destination, paths};
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
    );
    pages::page(StatusCode::OK, TITLE, &content)
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
