//! Headers that control redirects between guest and host, since `wasi:http` has no option for this.
//!
//! Invariant: neither header crosses the network. The host removes the one from requests and the other from
//! responses.

use http::{HeaderMap, HeaderName, HeaderValue, Uri};

/// Request header: `manual` returns redirects as responses, `follow` reports the final URL.
const MODE: HeaderName = HeaderName::from_static("kitbag-redirect");
/// Response header with the final URL, if the request had `follow` and was redirected.
const URL: HeaderName = HeaderName::from_static("kitbag-url");

/// Redirect handling of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectMode {
    /// Redirects are followed without informing the guest.
    Follow,
    /// Redirects are followed, and the response has the final URL.
    FollowAndTell,
    /// A redirect is returned as the response.
    Manual,
}

impl RedirectMode {
    /// Removes the mode header from a request and returns the mode.
    pub(super) fn take(headers: &mut HeaderMap) -> Self {
        match headers.remove(MODE).as_ref().map(HeaderValue::as_bytes) {
            Some(b"manual") => Self::Manual,
            Some(b"follow") => Self::FollowAndTell,
            _ => Self::Follow,
        }
    }

    /// Adds the final URL if there were redirects and the guest asked for it.
    pub(super) fn tell(self, headers: &mut HeaderMap, redirected_to: Option<&Uri>) {
        headers.remove(URL);
        if self == Self::FollowAndTell
            && let Some(uri) = redirected_to
            && let Ok(uri) = HeaderValue::try_from(uri.to_string())
        {
            headers.insert(URL, uri);
        }
    }
}
