//! Sends requests to a registry, and follows redirects: registries store blobs on other servers.
//!
//! Invariants:
//! - `Authorization` is sent only to the registry's origin;
//! - plain HTTP is used only within this machine.

use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use kitbag_base::loopback::is_loopback;
use kitbag_base::redaction::Redactor;
use url::Url;

use super::registry::Wanted;
use crate::egress::{Egress, EgressError, Policy, Redirects, Repeatable, ResponseBody, Step, Timeouts};

/// A response and its origin.
pub(super) struct Sent {
    /// Response, with the extension [`AnsweredBy`] unless the request had a body.
    pub(super) response: Response<ResponseBody>,
    /// Whether the response is from the registry's origin, not from a redirect target.
    pub(super) is_own: bool,
}

/// URL of a response, after redirects.
#[derive(Clone)]
pub(super) struct AnsweredBy(pub(super) Url);

/// Sends a request to a URL; follows redirects unless it has a body. `authorization` is sent only to the
/// origin of `base`.
pub(super) async fn send_to(
    egress: &Egress,
    (base, url): (&str, String),
    wanted: &Wanted,
    authorization: Option<&HeaderValue>,
    timeouts: Timeouts,
) -> Result<Sent, EgressError> {
    let Wanted { method, headers, body, .. } = wanted;
    let malformed = |_| EgressError::InvalidRequest { reason: "the registry names a place that is no URL" };
    let is_own = is_below(&parsed(&url)?, base);
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(authorization) = authorization.filter(|_| is_own) {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    let request = request.body(Full::new(body.clone())).map_err(malformed)?;
    if !body.is_empty() {
        // Without `timeouts`: the response comes only after the upload.
        let response = egress.send(request, &Policy::Operator).await?;
        return Ok(Sent { response, is_own });
    }
    let (mut request, mut redirects) = (Repeatable::new(request)?, Redirects::default());
    loop {
        let next = request.next().await.expect("a request without a body can be sent again");
        let url = parsed(&next.uri().to_string())?;
        if url.scheme() != "https" && !is_loopback(&url) {
            let authority = url.authority().to_owned();
            return Err(EgressError::Redirect { authority, reason: "it is another machine, without TLS" });
        }
        let mut response = egress.send_within(next, &Policy::Operator, timeouts).await?;
        if redirects.step(&mut request, &response, &Redactor::default())? == Step::Answer {
            let is_own = is_below(&url, base);
            response.extensions_mut().insert(AnsweredBy(url));
            return Ok(Sent { response, is_own });
        }
    }
}

fn parsed(url: &str) -> Result<Url, EgressError> {
    let reason = "the registry names a place that is no URL";
    Url::parse(url).map_err(|_| EgressError::InvalidRequest { reason })
}

/// Whether a URL has the origin (scheme, host and port) of `base`.
fn is_below(url: &Url, base: &str) -> bool {
    Url::parse(base).is_ok_and(|base| base.origin() == url.origin())
}
