//! What a guest says of redirects, and is told: headers between guest and host, since `wasi:http` has no option for it.
//!
//! Invariant: neither header crosses the network. The host removes the one from requests and the other from responses.

use http::{HeaderMap, HeaderName, HeaderValue, Uri};

/// Of a request: `manual` to get a redirect instead of its target, `follow` to be told the target's URL.
const MODE: HeaderName = HeaderName::from_static("kitbag-redirect");
/// Of a response: its URL, if the request had `follow`.
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

    /// Adds the URL of the last request to its response, if the guest asked for it.
    pub(super) fn tell(self, headers: &mut HeaderMap, uri: &Uri) {
        headers.remove(URL);
        if self == Self::FollowAndTell
            && let Ok(uri) = HeaderValue::try_from(uri.to_string())
        {
            headers.insert(URL, uri);
        }
    }
}
