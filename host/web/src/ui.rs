//! Pages for people, below `/ui`: server-rendered, without a build step, and usable without scripts.
//!
//! Invariants:
//! - the session cookie of a browser is accepted here and on no other route;
//! - only forms of these pages change anything, and no other page can read, frame or fetch one;
//! - text written by toolkits and users is never interpreted as HTML.

mod access_view;
mod account;
mod assets;
mod audience;
mod audit;
mod bin;
mod collections;
mod connect;
mod cost;
mod difference;
mod directory;
mod documents;
mod form;
mod frame;
pub(super) mod fuzzing;
mod guard;
mod holders;
mod icon;
mod log;
mod multipart;
mod operate;
mod overview;
mod reach;
mod schema_form;
mod search;
mod sign_in;
mod signed_in;
mod start;
mod subject;
mod text;
mod toolkit;
mod try_tool;
mod usage;
mod users;
mod versions;

use std::sync::Arc;

use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Redirect;
use axum::{Extension, Router};

use super::error::WebError;
use super::pages::origin::{OwnOrigin, refuse_other_hosts};
use super::state::Shared;
use super::tools::CallLimits;
use crate::routing::{get, post};
use crate::sessions::Sessions;
use signed_in::require_session;

/// Every page, with its handler. `limits` are those of calls.
pub(super) fn router(shared: &Shared, limits: Arc<CallLimits>) -> Router<Shared> {
    let own = OwnOrigin::of(&shared.base_url);
    let sessions = Sessions::of(shared);
    // No page sends this, and its credential is in the body.
    let for_the_provider = Router::new()
        .route("/ui/signin/backchannel-logout", post(sign_in::provider::log_out))
        .with_state(sessions.clone());
    let of_the_account = Router::new()
        .route("/ui/account", get(account::show))
        .route("/ui/account/sessions/end", post(account::end_all))
        .route("/ui/account/sessions/{id}/end", post(account::end))
        .route("/ui/account/clients/{id}/revoke", post(account::revoke))
        .route("/ui/account/keys/{id}/revoke", post(account::revoke_key))
        .with_state(sessions.clone());
    let for_the_signed_in = Router::new()
        .route("/ui/", get(directory::show))
        .route("/ui/toolkits/{id}", get(toolkit::show))
        .route("/ui/toolkits/{id}/settings", post(toolkit::settings::change))
        .route("/ui/toolkits/{id}/secrets/{name}", post(toolkit::secrets::set))
        .route("/ui/toolkits/{id}/secrets/{name}/unset", post(toolkit::secrets::unset))
        .route("/ui/toolkits/{id}/cache/clear", post(toolkit::cache::clear))
        .route("/ui/toolkits/{id}/code-tools", post(toolkit::code_tools::set))
        .route("/ui/toolkits/{id}/consent", get(toolkit::consent::show).merge(post(toolkit::consent::agree)))
        .route("/ui/toolkits/{id}/account/connect", post(toolkit::account::connect))
        .route("/ui/toolkits/{id}/account/end", post(toolkit::account::end))
        .route("/ui/toolkits/{id}/auth/callback", get(toolkit::account::arrive))
        .route("/ui/toolkits/{id}/hide", post(toolkit::hidden::hide))
        .route("/ui/toolkits/{id}/show-again", post(toolkit::hidden::show_again))
        .route("/ui/toolkits/{id}/tools/{tool}", get(try_tool::show).merge(post(try_tool::call)))
        .route("/ui/toolkits/{id}/versions", get(versions::show))
        .route("/ui/toolkits/{id}/versions/rollback", post(versions::change::roll_back))
        .route("/ui/toolkits/{id}/versions/remove", post(versions::change::remove))
        .route("/ui/toolkits/{id}/versions/release", post(versions::change::release))
        .route("/ui/toolkits/{id}/versions/take-over", post(versions::change::take_over))
        .route("/ui/toolkits/{id}/audience", get(audience::show).merge(post(audience::share)))
        .route("/ui/toolkits/{id}/audience/unshare", post(audience::unshare))
        .route("/ui/operate", get(operate::show))
        .route("/ui/operate/overview", get(overview::show))
        .route("/ui/operate/audit", get(audit::show))
        .route("/ui/operate/access", get(access_view::show))
        .route("/ui/operate/users", get(users::list))
        .route("/ui/operate/users/{id}", get(users::show))
        .route("/ui/operate/users/{id}/end", post(users::end))
        .route("/ui/operate/users/{id}/export", get(users::export))
        .route("/ui/account/export", get(users::export_own))
        .route("/ui/operate/uploads", post(operate::receive))
        .route("/ui/operate/uploads/{digest}", get(operate::review::show))
        .route("/ui/operate/uploads/{digest}/deploy", post(operate::review::deploy))
        .route("/ui/operate/uploads/{digest}/discard", post(operate::review::discard))
        .route("/ui/toolkits/{id}/log", get(log::show))
        .route("/ui/toolkits/{id}/log.ndjson", get(log::download))
        .route("/ui/toolkits/{id}/log/live", get(log::live))
        .route("/ui/search", get(search::show))
        .route("/ui/documents", get(documents::list))
        .route("/ui/documents/new", get(documents::new::show).merge(post(documents::new::add)))
        .route("/ui/documents/file", post(documents::new::add_file))
        .route("/ui/documents/{id}", get(documents::show))
        .route("/ui/documents/{id}/file", get(super::documents::artifact))
        .route("/ui/documents/{id}/delete", post(documents::delete))
        .route("/ui/documents/{id}/move", post(documents::relocate))
        .route("/ui/documents/{id}/versions/{number}", get(documents::version))
        .route("/ui/documents/{id}/versions/{number}/restore", post(documents::restore_version))
        .route("/ui/bin", get(bin::show))
        .route("/ui/bin/restore", post(bin::restore))
        .route("/ui/bin/purge", post(bin::purge))
        .route("/ui/collections", get(collections::list).merge(post(collections::create)))
        .route("/ui/collections/{id}", get(collections::show).merge(post(collections::describe)))
        .route("/ui/collections/{id}/share", post(collections::share))
        .route("/ui/collections/{id}/unshare", post(collections::unshare))
        .route("/ui/collections/{id}/delete", post(collections::delete))
        .route("/ui/collections/{id}/restore", post(collections::restore))
        .route("/ui/collections/{id}/purge", post(collections::purge))
        .route("/ui/connect", get(connect::show))
        .route("/ui/icons/{digest}", get(icon::serve))
        .layer(Extension(limits))
        .merge(of_the_account)
        .route("/ui/{*rest}", get(async || WebError::nothing_here()))
        .layer(from_fn_with_state(sessions.clone(), require_session));
    let for_anybody = Router::new()
        .route("/ui", get(async || Redirect::to("/ui/")))
        .route("/ui/signin", get(sign_in::show).merge(post(sign_in::local::sign_in)))
        .route("/ui/signin/callback", get(sign_in::provider::arrive))
        .route("/ui/signout", post(sign_in::sign_out))
        .route("/ui/signedout", get(sign_in::after))
        .route("/ui/assets/{file}", get(assets::serve))
        .with_state(sessions);
    for_the_signed_in
        .merge(for_anybody)
        .layer(from_fn_with_state(own.clone(), guard::refuse_other_pages))
        .layer(from_fn_with_state(own, refuse_other_hosts))
        .layer(map_response(frame::show_errors))
        .layer(map_response(guard::add_headers))
        .merge(for_the_provider)
        .route("/", get(async || Redirect::to("/ui/")))
}
