//! Sends requests to a registry, and follows redirects: registries store blobs on other servers.
//!
//! Invariants:
//! - `Authorization` is sent only to the registry's origin;
//! - a registry at a public address leads to public addresses alone ([`LedBy`]);
//! - plain HTTP is used only within this machine.

use http::{HeaderValue, Request, Response, header};
use http_body_util::Full;
use kitbag_base::loopback::is_loopback;
use kitbag_base::redaction::Redactor;
use url::Url;

use super::registry::Wanted;
use crate::egress::{Egress, EgressError, LedBy, Redirects, Repeatable, ResponseBody, Step, Timeouts};

/// Response extension: the server that has answered, after redirects.
#[derive(Clone)]
pub(super) struct AnsweredBy {
    pub(super) url: Url,
    /// Whether the response is from the registry's origin, not from a redirect target.
    pub(super) is_own: bool,
}

impl AnsweredBy {
    /// Returns the extension of a response of [`send_to`].
    pub(super) fn of<T>(response: &Response<T>) -> &Self {
        response.extensions().get().expect("each response of a registry has the extension")
    }
}

/// Sends a request to a URL; follows redirects unless it has a body. `authorization` is sent only to the
/// registry's origin. The response has the extension [`AnsweredBy`].
pub(super) async fn send_to(
    egress: &Egress,
    registry: &mut LedBy,
    url: &str,
    wanted: &Wanted,
    authorization: Option<&HeaderValue>,
    timeouts: Timeouts,
) -> Result<Response<ResponseBody>, EgressError> {
    let Wanted { method, headers, body, .. } = wanted;
    let malformed = |_| EgressError::InvalidRequest { reason: "the registry names a place that is no URL" };
    let url = parsed(url)?;
    let mut request = Request::builder().method(method).uri(url.as_str());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(authorization) = authorization.filter(|_| registry.is_at(&url)) {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    let request = request.body(Full::new(body.clone())).map_err(malformed)?;
    if !body.is_empty() {
        // Without `timeouts`: the response comes only after the upload.
        let response = egress.send(request, &registry.policy(&url)).await?;
        return Ok(answered(response, url, registry));
    }
    let mut request = Repeatable::new(request)?;
    let mut redirects = Redirects::default();
    loop {
        let next = request.next().await.expect("a request without a body can be sent again");
        let url = parsed(&next.uri().to_string())?;
        if url.scheme() != "https" && !is_loopback(&url) {
            let authority = url.authority().to_owned();
            return Err(EgressError::Redirect { authority, reason: "it is another machine, without TLS" });
        }
        let response = egress.send_within(next, &registry.policy(&url), timeouts).await?;
        let response = answered(response, url, registry);
        if redirects.step(&mut request, &response, &Redactor::default())? == Step::Answer {
            return Ok(response);
        }
    }
}

pub(super) fn parsed(url: &str) -> Result<Url, EgressError> {
    let reason = "the registry names a place that is no URL";
    Url::parse(url).map_err(|_| EgressError::InvalidRequest { reason })
}

fn answered(mut response: Response<ResponseBody>, url: Url, registry: &mut LedBy) -> Response<ResponseBody> {
    registry.observe(&url, &response);
    let is_own = registry.is_at(&url);
    response.extensions_mut().insert(AnsweredBy { url, is_own });
    response
}
