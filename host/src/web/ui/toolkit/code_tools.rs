//! The buttons that let the user's code call tools which may change something.

use axum::body::Body;
use axum::extract::Path;
use axum::response::Redirect;

use super::{Done, back_to};
use crate::access::User;
use crate::web::error::WebError;
use crate::web::ui::form::Form;

/// `POST /ui/toolkits/{id}/code-tools`: the fields `tool` and, to allow it, `allow`.
pub(in crate::web::ui) async fn set(
    user: User,
    Path(id): Path<String>,
    body: Body,
) -> Result<Redirect, WebError> {
    let form = Form::read(body).await?;
    let is_allowed = form.find("allow").is_some();
    user.toolkit(&id)?.set_in_code(form.get("tool"), is_allowed).await?;
    Ok(back_to(&id, if is_allowed { Done::AllowedInCode } else { Done::NotInCode }))
}
