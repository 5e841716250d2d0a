//! Sign-in in local mode: with any user name, and the sign-in code.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use kitbag_base::local_mode;
use kitbag_identity::SignInError;

use super::own_path;
use crate::error::WebError;
use crate::oauth::code_problem;
use crate::sessions::{Sessions, SignInMode};
use crate::ui::form::Form;
use crate::ui::frame::{self, Frame};
use crate::ui::text;

/// Maximum bytes of the form, which unauthenticated clients may send.
const MAX_FORM_BYTES: usize = 16 << 10;

/// Page that asks for a user name of local mode and the sign-in code.
#[derive(Template)]
#[template(path = "ui/templates/sign_in.html")]
struct LocalSignIn<'a> {
    frame: Option<Frame>,
    user: &'a str,
    to: &'a str,
    problem: Option<&'a str>,
}

/// Responds with the sign-in page.
pub(super) fn page(to: &str) -> Response {
    frame::page(StatusCode::OK, &LocalSignIn { frame: None, user: local_mode::USER, to, problem: None })
}

/// `POST /ui/signin`: the fields `user`, `code` and `to`.
pub(in crate::ui) async fn sign_in(
    State(sessions): State<Sessions>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, WebError> {
    let SignInMode::Local(server) = &sessions.mode else { return Err(WebError::nothing_here()) };
    let form = Form::read_at_most(MAX_FORM_BYTES, body).await?;
    let to = own_path(form.get("to"));
    match server.sign_in(form.get("user"), form.get("code")) {
        Ok(user) => {
            let token = sessions.stored.begin(&user, agent(&headers)).await;
            let token = token.map_err(|cause| WebError::storage(&cause))?;
            if let Some(before) = sessions.find_stored(&headers).await? {
                sessions.end(&before).await?;
            }
            let cookie = sessions.cookie.set(&token, sessions.stored.lifetime());
            Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Redirect::to(to)).into_response())
        }
        Err(error) => {
            let (status, problem) = explain(error);
            let template = LocalSignIn { frame: None, user: form.get("user"), to, problem: Some(problem) };
            Ok(frame::page(status, &template))
        }
    }
}

/// Returns the `User-Agent`.
pub(super) fn agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}

fn explain(error: SignInError) -> (StatusCode, &'static str) {
    const USER_NAME: &str = "A name has 1 to 64 characters, and none that nobody sees.";

    match error {
        SignInError::UserName => (StatusCode::UNPROCESSABLE_ENTITY, USER_NAME),
        SignInError::Code(prompt) => {
            let (status, problem) = code_problem(prompt);
            (status, problem.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_identity::CodePrompt;

    use super::*;

    #[test]
    fn every_refusal_says_why() {
        for prompt in [CodePrompt::Missing, CodePrompt::Wrong] {
            let (status, problem) = explain(SignInError::Code(prompt));
            assert!(status.is_client_error() && !problem.is_empty(), "{prompt:?}");
        }
    }
}
