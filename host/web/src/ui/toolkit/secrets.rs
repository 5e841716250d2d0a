//! Forms for the user's secrets of a toolkit. No page ever shows a value.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::values::audit::Act;
use kitbag_access::values::vault::{EveryoneOptions, VaultError};
use kitbag_access::{AccessError, StoredSecret, User};
use secrecy::SecretString;

use super::{Done, Refused, Seen, back_to, page};
use crate::authenticate::By;
use crate::error::WebError;
use crate::state::Shared;
use crate::ui::form::Form;
use crate::ui::frame::Frame;

/// `POST /ui/toolkits/{id}/secrets/{name}`: the field `secret`.
pub(in crate::ui) async fn set(
    State(shared): State<Shared>,
    By(user): By<User>,
    frame: Frame,
    Path((id, name)): Path<(String, String)>,
    body: Body,
) -> Result<Response, WebError> {
    let toolkit = user.toolkit(&id)?;
    let secret = toolkit.secret(&name)?;
    let form = Form::read(body).await?;
    if !Seen::of(&toolkit).is_in(&form) {
        return page(&shared.base_url, &user, frame, &toolkit, None, Some(Refused::Changed)).await;
    }
    let value = SecretString::from(form.get("secret"));
    let for_everyone = match form.get("for") {
        "everyone" => Some(false),
        "everyone-only" => Some(true),
        _ => None,
    };
    let set = match for_everyone {
        // If the toolkit can read the secret, the form's choice says so, which counts as confirmation.
        Some(only) => {
            let options = EveryoneOptions { only, readable: toolkit.definition().reads(&name) };
            let what = Act::SecretSetForEveryone.name();
            let operator = user.expect_operator(what, Some(&id)).await?;
            operator.set_secret_for_everyone(&secret, &value, options).await
        }
        None => user.set_secret(&secret, &value).await,
    };
    match set {
        Ok(StoredSecret { redacted: true, .. }) => Ok(back_to(&id, Done::SecretSet).into_response()),
        Ok(StoredSecret { redacted: false, .. }) => Ok(back_to(&id, Done::ShortSecretSet).into_response()),
        Err(AccessError::Secrets(VaultError::Refused(why))) => {
            let refused = Refused::Secret(name, format!("The value was refused: {why}."));
            page(&shared.base_url, &user, frame, &toolkit, None, Some(refused)).await
        }
        Err(error) => Err(error.into()),
    }
}

/// `POST /ui/toolkits/{id}/secrets/{name}/unset`
pub(in crate::ui) async fn unset(
    By(user): By<User>,
    Path((id, name)): Path<(String, String)>,
    body: Body,
) -> Result<Response, WebError> {
    if Form::read(body).await?.get("for") == "everyone" {
        let operator = user.expect_operator(Act::SecretUnsetForEveryone.name(), None).await?;
        operator.unset_secret_for_everyone(&id, &name).await?;
    } else {
        user.stored_for(&id).unset_secret(&name).await?;
    }
    // The secret may belong to a toolkit that is no longer visible.
    let is_visible = user.toolkit(&id).is_ok();
    let back = if is_visible { back_to(&id, Done::SecretUnset) } else { Redirect::to("/ui/") };
    Ok(back.into_response())
}
