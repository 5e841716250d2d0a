//! Pages for signed-in users alone.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::NotAdmitted;
use tokio::time::timeout;

use super::form::Form;
use super::frame::{self, Frame};
use crate::admission::{Ended, while_admitted};
use crate::authenticate::Authorizes;
use crate::connection_state::ConnectionState;
use crate::documents::declared_length;
use crate::error::WebError;
use crate::media_type;
use crate::sessions::{Sessions, SignedIn, sign_in_path};
use crate::share::Purpose;

/// Maximum bytes of a submitted form that the page asking for a sign-in preserves.
const MAX_KEPT_FORM_BYTES: u64 = 16 << 10;
/// Path suffix of a toolkit's page for OAuth callbacks of providers.
pub(super) const CALLBACK: &str = "/auth/callback";
/// Timeout for reading that form. Browsers send such a short form together with its headers.
const KEPT_FORM_TIMEOUT: Duration = Duration::from_secs(5);

/// Puts the session, its caller and the request's share into the request's extensions. Redirects a browser
/// without a session to the sign-in; a short form is preserved on the page that asks for it.
pub(super) async fn require_session(
    State(sessions): State<Sessions>,
    mut request: Request,
    next: Next,
) -> Result<Response, WebError> {
    let method = request.method().clone();
    let Some(SignedIn { caller, session }) = sessions.recognise(&method, request.headers()).await? else {
        return sign_in_first(request).await;
    };
    let share = sessions.shares.begin(Purpose::Page, &caller.user_id)?;
    match sessions.access().admit(&caller).await {
        Ok(()) => {}
        Err(NotAdmitted::Ended) => return sign_in_first(request).await,
        Err(NotAdmitted::NoAnswer(no_answer)) => return Err(no_answer.into()),
    }
    // Handlers never see a cookie or a token.
    request.headers_mut().remove(header::COOKIE);
    request.headers_mut().remove(header::AUTHORIZATION);
    if let Some(connection) = request.extensions().get::<ConnectionState>() {
        connection.sign_in(&caller.user_id);
    }
    let frame = Frame { can_sign_out: session.is_some(), ..Frame::of(&sessions.access().of(&caller)) };
    let extensions = request.extensions_mut();
    extensions.insert(caller.clone());
    extensions.insert(share.clone());
    if let Some(session) = session {
        extensions.insert(session);
    }
    extensions.insert(frame.clone());
    let handler = async { share.answer(next.run(request).await).await };
    let answer = while_admitted(sessions.access(), &caller, handler).await;
    let mut response = answer.map_err(|Ended| {
        WebError::new(StatusCode::UNAUTHORIZED, "An operator has ended your access. Nothing more was done.")
    })?;
    response.extensions_mut().insert(frame);
    Ok(response)
}

async fn sign_in_first(request: Request) -> Result<Response, WebError> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/ui/", |it| it.as_str());
    if parts.method == Method::POST {
        if media_type::is(&parts.headers, "multipart/form-data") {
            let detail =
                "Your session has ended, and nothing was uploaded. Sign in, and send the file again.";
            return Err(WebError::new(StatusCode::UNAUTHORIZED, detail));
        }
        // Limits the resources for forms of unauthenticated clients.
        if declared_length(&parts.headers).is_some_and(|length| length <= MAX_KEPT_FORM_BYTES)
            && let Ok(Ok(form)) = timeout(KEPT_FORM_TIMEOUT, Form::read(body)).await
        {
            return Ok(frame::send_again(path, &form.without_secrets()));
        }
        let detail = "Your session has ended, and nothing was changed. Sign in in another tab, go back in this one, and \
                      send the form again.";
        return Err(WebError::new(StatusCode::UNAUTHORIZED, detail));
    }
    // A provider's response must not be copied into another URL: without a session, the user starts again at
    // the toolkit's page.
    let to = path.split_once(CALLBACK).map_or(path, |(toolkit, _answer)| toolkit);
    Ok(Redirect::to(&sign_in_path(to)).into_response())
}
