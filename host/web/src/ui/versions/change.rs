//! Forms that change the live version or the owner of a toolkit, or remove it.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::values::toolkits::{LiveVersion, Rollback, RolledBack, ToolkitError};
use kitbag_access::{AccessError, Operator, User};

use super::{Done, Wanted, back_to, page, vouch_of};
use crate::authenticate::By;
use crate::error::WebError;
use crate::state::Shared;
use crate::ui::form::Form;
use crate::ui::frame::Frame;

/// A submitted form, and the operator who sent it.
pub(in crate::ui) struct Sent {
    user: User,
    operator: Operator,
    frame: Frame,
    /// Id of the toolkit.
    id: String,
    form: Form,
}

impl FromRequest<Shared> for Sent {
    type Rejection = Response;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let By(operator) = By::<Operator>::from_request_parts(&mut parts, shared).await?;
        let By(user) = By::<User>::from_request_parts(&mut parts, shared).await?;
        let frame = Frame::from_request_parts(&mut parts, shared).await;
        let id = Path::from_request_parts(&mut parts, shared).await;
        let form = Form::read(body).await;
        Ok(Self {
            user,
            operator,
            frame: frame.map_err(IntoResponse::into_response)?,
            id: id.map_err(IntoResponse::into_response)?.0,
            form: form.map_err(IntoResponse::into_response)?,
        })
    }
}

impl Sent {
    /// Whether the user typed the toolkit's id into `confirm`.
    fn is_confirmed(&self) -> bool {
        self.form.get("confirm").trim() == self.id
    }

    async fn not_confirmed(self) -> Result<Response, WebError> {
        let problem = format!("Nothing was changed: type {} to confirm.", self.id);
        self.refused(&Wanted::default(), StatusCode::UNPROCESSABLE_ENTITY, problem).await
    }

    /// Shows the page again, with the reason why nothing was changed.
    async fn refused(
        self,
        wanted: &Wanted,
        status: StatusCode,
        problem: String,
    ) -> Result<Response, WebError> {
        page(&self.user, &self.operator, self.frame, &self.id, wanted, status, Some(problem)).await
    }

    /// Returns the rollback that the comparison showed: version and digests, so that no other version of the
    /// same number is meant.
    fn compared(&self) -> Rollback {
        let field = |name: &str| self.form.get(name).to_owned();
        let live = LiveVersion { version: field("live-version"), digest: field("live-digest") };
        Rollback {
            version: Some(field("version")),
            digest: Some(field("digest")),
            manifest_digest: Some(field("manifest-digest")),
            live: Some(live),
            vouch: None,
        }
    }
}

/// `POST /ui/toolkits/{id}/versions/rollback`: the version (`version`, `digest`, `manifest-digest`), the live
/// version it was compared with (`live-version`, `live-digest`), `read` from the checkbox, and `vouch` with a
/// reason.
pub(in crate::ui) async fn roll_back(sent: Sent) -> Result<Response, WebError> {
    let vouch = vouch_of(&sent.form);
    let (status, problem) = if sent.form.find("read").is_none() {
        let problem = "Nothing was changed: confirm that you have read what is new.".to_owned();
        (StatusCode::UNPROCESSABLE_ENTITY, problem)
    } else if let Err(why) = &vouch {
        (StatusCode::UNPROCESSABLE_ENTITY, format!("Nothing was changed: {why}."))
    } else {
        let wanted = Rollback { vouch: vouch.unwrap_or_default(), ..sent.compared() };
        match sent.operator.roll_back(&sent.id, wanted).await {
            Ok(RolledBack { taken_over: None, .. }) => {
                return Ok(back_to(&sent.id, Done::RolledBack).into_response());
            }
            Ok(_) => return Ok(back_to(&sent.id, Done::RolledBackAsNewOwner).into_response()),
            Err(AccessError::Toolkit(
                error @ (ToolkitError::LiveChanged { .. } | ToolkitError::VersionChanged { .. }),
            )) => (
                StatusCode::CONFLICT,
                format!("Nothing was changed: {error}. The page shows the new difference."),
            ),
            Err(error) => return Err(error.into()),
        }
    };
    let live = sent.user.listed().record(&sent.id).await?.live_version;
    let wanted = Wanted { from: live, to: sent.form.get("version").to_owned(), done: None };
    sent.refused(&wanted, status, problem).await
}

/// `POST /ui/toolkits/{id}/versions/remove`: the toolkit's id in `confirm`.
pub(in crate::ui) async fn remove(sent: Sent) -> Result<Response, WebError> {
    if !sent.is_confirmed() {
        return sent.not_confirmed().await;
    }
    sent.operator.remove(&sent.id).await?;
    Ok(Redirect::to("/ui/").into_response())
}

/// `POST /ui/toolkits/{id}/versions/release`: the toolkit's id in `confirm`.
pub(in crate::ui) async fn release(sent: Sent) -> Result<Response, WebError> {
    if !sent.is_confirmed() {
        return sent.not_confirmed().await;
    }
    sent.operator.release(&sent.id).await?;
    Ok(back_to(&sent.id, Done::Released).into_response())
}

/// `POST /ui/toolkits/{id}/versions/take-over`: the toolkit's id in `confirm`.
pub(in crate::ui) async fn take_over(sent: Sent) -> Result<Response, WebError> {
    if !sent.is_confirmed() {
        return sent.not_confirmed().await;
    }
    sent.operator.take_over(&sent.id).await?;
    Ok(back_to(&sent.id, Done::TakenOver).into_response())
}
