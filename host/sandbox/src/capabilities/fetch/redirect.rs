//! What a guest says of redirects, and is told: headers between guest and host, since `wasi:http` has no option for it.
//!
//! Invariant: neither header crosses the network. The host removes the one from requests and the other from responses.

use http::{HeaderMap, HeaderName, HeaderValue, Uri};

/// Of a request: `manual` to get redirects as responses, `follow` to be told where they led.
const MODE: HeaderName = HeaderName::from_static("kitbag-redirect");
/// Of a response to a request with `follow` that was redirected: its URL.
const URL: HeaderName = HeaderName::from_static("kitbag-url");

/// How the redirects of a request are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectMode {
    /// They are followed, and the guest does not see it.
    Follow,
    /// They are followed, and the response says where it comes from.
    FollowAndTell,
    /// A redirect is the response.
    Manual,
}

impl RedirectMode {
    /// Removes the mode from the headers of a request.
    pub(super) fn take(headers: &mut HeaderMap) -> Self {
        match headers.remove(MODE).as_ref().map(HeaderValue::as_bytes) {
            Some(b"manual") => Self::Manual,
            Some(b"follow") => Self::FollowAndTell,
            _ => Self::Follow,
        }
    }

    /// Adds the URL that redirects led to, if there were any and the guest asked for it.
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
