//! Buttons that hide tools from the user's models.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::Path;
use axum::response::Redirect;
use kitbag_access::User;
use kitbag_access::values::knowledge_tools;

use super::{Done, back_to};
use crate::authenticate::By;
use crate::error::WebError;
use crate::tools::CallLimits;
use crate::ui::form::Form;

/// `POST /ui/toolkits/{id}/hide`: the field `tool`; without it, hides the whole toolkit.
pub(in crate::ui) async fn hide(
    By(user): By<User>,
    Extension(limits): Extension<Arc<CallLimits>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Redirect, WebError> {
    limits.admit(&user)?;
    user.hide(&id, Form::read(body).await?.find("tool")).await?;
    Ok(back(&user, &id, Done::Hidden))
}

/// `POST /ui/toolkits/{id}/show-again`: the field `tool`; without it, shows everything hidden of the toolkit.
pub(in crate::ui) async fn show_again(
    By(user): By<User>,
    Extension(limits): Extension<Arc<CallLimits>>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Redirect, WebError> {
    limits.admit(&user)?;
    user.stored_for(&id).show_again(Form::read(body).await?.find("tool")).await?;
    Ok(back(&user, &id, Done::Shown))
}

/// Redirects to the page with the button.
fn back(user: &User, id: &str, done: Done) -> Redirect {
    if id == knowledge_tools::ID {
        return Redirect::to("/ui/connect");
    }
    // A toolkit that is no longer visible can still be hidden.
    if user.toolkit(id).is_ok() { back_to(id, done) } else { Redirect::to("/ui/") }
}
