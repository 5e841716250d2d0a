//! Buttons that let the user's code call tools that are not read-only.

use axum::body::Body;
use axum::extract::Path;
use axum::response::Redirect;
use kitbag_access::User;

use super::{Done, back_to};
use crate::authenticate::By;
use crate::error::WebError;
use crate::ui::form::Form;

/// `POST /ui/toolkits/{id}/code-tools`: the tool's name in the field `allow` or `disallow`.
pub(in crate::ui) async fn set(
    By(user): By<User>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Redirect, WebError> {
    let form = Form::read(body).await?;
    if let Some(tool) = form.find("allow") {
        user.allow_in_code(&id, tool).await?;
        return Ok(back_to(&id, Done::AllowedInCode));
    }
    user.stored_for(&id).disallow_in_code(form.get("disallow")).await?;
    Ok(back_to(&id, Done::NotInCode))
}
