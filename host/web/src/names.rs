//! Names of this server. In local mode on loopback, `localhost` and the addresses of the interface mean the same
//! server, and clients compare metadata with the name that they were given. Pages have one name all the same.

use axum::http::{HeaderMap, header};
use kitbag_base::loopback::loopback_names;
use url::Url;

use super::state::Shared;

/// Base URLs of this server: the configured one first.
pub(crate) fn base_urls(shared: &Shared) -> Vec<Url> {
    match &shared.authorization_server {
        Some(_local) => loopback_names(&shared.base_url),
        None => vec![shared.base_url.clone()],
    }
}

/// Returns the base URL that the client used, by its `Host`; otherwise the first.
pub(crate) fn addressed<'a>(base_urls: &'a [Url], headers: &HeaderMap) -> &'a Url {
    named(base_urls, headers).unwrap_or(&base_urls[0])
}

/// Returns the base URL that the `Host` names.
pub(crate) fn named<'a>(base_urls: &'a [Url], headers: &HeaderMap) -> Option<&'a Url> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none())?.as_bytes();
    base_urls.iter().find(|url| host.eq_ignore_ascii_case(url.authority().as_bytes()))
}
