//! A user's account for a toolkit: redirect to the provider, callback, and disconnection.

use askama::Template;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::values::outbound_auth::{ConnectError, Response as ProviderResponse};
use kitbag_access::{AccessError, AccountStatus, User};
use kitbag_base::base_url::below;
use url::Url;

use super::{Done, Refused, Seen, back_to, page};
use crate::authenticate::By;
use crate::error::WebError;
use crate::state::Shared;
use crate::ui::form::Form;
use crate::ui::frame::{self, Frame, Section};
use crate::ui::signed_in::CALLBACK;
use crate::ui::text;

/// View model of the user's account.
pub(super) struct Account {
    pub(super) status: AccountStatus,
    /// OAuth redirect URI, which is needed to register this server with the provider.
    pub(super) redirect_uri: String,
}

/// Page with a link to the provider. Not a redirect: the CSP's `form-action` would apply to one that answers
/// a form.
#[derive(Template)]
#[template(path = "ui/templates/to_provider.html")]
struct ToProvider<'a> {
    frame: Option<Frame>,
    toolkit: &'a str,
    host: &'a str,
    url: &'a str,
}

/// OAuth redirect URI for the accounts of a toolkit.
pub(in crate::ui) fn redirect_uri(base_url: &Url, toolkit: &str) -> String {
    below(base_url, &format!("/ui/toolkits/{toolkit}{CALLBACK}"))
}

/// `POST /ui/toolkits/{id}/account/connect`
pub(in crate::ui) async fn connect(
    State(shared): State<Shared>,
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let toolkit = user.toolkit(&id)?;
    if !Seen::of(&toolkit).is_in(&Form::read(body).await?) {
        return page(&shared.base_url, &user, frame, &toolkit, None, Some(Refused::Changed)).await;
    }
    match toolkit.begin_connecting(&redirect_uri(&shared.base_url, &id)).await {
        Ok(url) => {
            let frame = Some(frame.at(Section::Directory));
            let toolkit = &*toolkit.definition().name;
            let host = url.host_str().unwrap_or_default();
            Ok(frame::page(StatusCode::OK, &ToProvider { frame, toolkit, host, url: url.as_str() }))
        }
        Err(AccessError::Account(why)) => {
            page(&shared.base_url, &user, frame, &toolkit, None, Some(Refused::Account(why))).await
        }
        Err(AccessError::ConsentWaits(_)) => Ok(to_consent(&id)),
        Err(error) => Err(error.into()),
    }
}

/// Redirects to the consent page of a toolkit.
fn to_consent(id: &str) -> Response {
    Redirect::to(&format!("/ui/toolkits/{id}/consent")).into_response()
}

/// `GET /ui/toolkits/{id}/auth/callback`: the provider's response. Requires the session of the user who
/// started.
pub(in crate::ui) async fn arrive(
    State(shared): State<Shared>,
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    query: Result<Query<ProviderResponse>, QueryRejection>,
) -> Result<Response, WebError> {
    let toolkit = user.toolkit(&id)?;
    let response = query.map(|Query(response)| response).unwrap_or_default();
    match toolkit.clone().connect(redirect_uri(&shared.base_url, &id), response).await {
        Ok(()) => Ok(back_to(&id, Done::AccountConnected).into_response()),
        // Database errors are only logged.
        Err(AccessError::Account(ConnectError::Storage(cause))) => Err(cause.into()),
        Err(AccessError::Account(why)) => {
            page(&shared.base_url, &user, frame, &toolkit, None, Some(Refused::Account(why))).await
        }
        Err(AccessError::ConsentWaits(_)) => Ok(to_consent(&id)),
        Err(error) => Err(error.into()),
    }
}

/// `POST /ui/toolkits/{id}/account/end`
pub(in crate::ui) async fn end(By(user): By<User>, Path(id): Path<String>) -> Result<Response, WebError> {
    user.stored_for(&id).end_account().await?;
    // The account may belong to a toolkit that is no longer visible.
    let is_visible = user.toolkit(&id).is_ok();
    let back = if is_visible { back_to(&id, Done::AccountEnded) } else { Redirect::to("/ui/") };
    Ok(back.into_response())
}

/// Reason why no account was connected, with advice.
pub(super) fn in_words(why: &ConnectError) -> String {
    let advice = match why {
        ConnectError::Failed(cause) if cause.is_passing() => "Begin again below in a while.",
        ConnectError::NoState | ConnectError::Changed => "Begin again below.",
        ConnectError::OtherUser => {
            "If somebody sent you a link to it, do not use it: your account would act for them, or theirs for you."
        }
        ConnectError::OtherIssuer | ConnectError::Declined { .. } | ConnectError::Failed(_) => {
            "If you did not refuse it yourself, tell the operators of this server."
        }
        ConnectError::Storage(_) => "Try again in a moment.",
    };
    format!("No account was connected: {}. {advice}", text::shown(&why.to_string()))
}
