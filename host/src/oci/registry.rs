//! A registry: sends requests to it, and pulls components.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;

use super::answer::{self, Pace};
use super::artifact::{self, ACCEPTED};
use super::authorization::{Action, authorization};
use super::reference::ContentDigest;
use super::{PinnedReference, Reference, RegistryError};
use crate::egress::{Egress, EgressError, Policy, Redirects, Repeatable, ResponseBody, Step, Timeouts};
use crate::redaction::Redactor;
use crate::sha256::Sha256;
use crate::signatures::Signature;

/// Largest manifest, as the specification asks registries to take them, in bytes.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// How much is read of an error.
const MAX_ERROR_BYTES: u64 = 16 << 10;
/// How much is shown of an error, in characters.
const MAX_ERROR_CHARS: usize = 200;

/// A registry, for one name in it.
pub struct Registry<'e> {
    egress: &'e Egress,
    reference: Reference,
    /// URL of its API that answers, of those that it may have.
    base: Option<String>,
    authorization: Option<HeaderValue>,
    pace: Pace,
}

/// A component that was pulled. Its bytes have the digest that the manifest names.
#[derive(Debug)]
pub struct Pulled {
    /// The component.
    pub component: Bytes,
    /// Where it was, with the digest of the manifest.
    pub reference: PinnedReference,
    /// The signature of its bytes, if the registry has one. It is not verified.
    pub signature: Option<Signature>,
}

/// A request that may be sent again: after a sign-in, or to another place.
pub(super) struct Wanted {
    pub(super) method: Method,
    /// Below the API, or a URL.
    pub(super) place: String,
    pub(super) headers: Vec<(header::HeaderName, String)>,
    pub(super) body: Bytes,
}

impl<'e> Registry<'e> {
    /// The registry of a reference. Nothing is sent yet.
    pub fn of(egress: &'e Egress, reference: Reference) -> Self {
        Self { egress, reference, base: None, authorization: None, pace: Pace::default() }
    }

    /// Waits only for so long.
    #[cfg(test)]
    pub(super) fn with_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    pub(super) fn host(&self) -> &str {
        self.reference.registry()
    }

    pub(super) fn reference(&self) -> &Reference {
        &self.reference
    }

    /// URL of the API, once it has answered.
    pub(super) fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    pub(super) fn egress(&self) -> &Egress {
        self.egress
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        Timeouts { connect: None, first_byte: Some(self.pace.patience) }
    }

    /// Whether the registry is reached without a network.
    pub(super) fn is_on_this_machine(&self) -> bool {
        self.reference.hosts().len() > 1
    }

    /// Pulls the component that the reference names, of at most `limit` bytes.
    pub async fn pull(mut self, limit: u64) -> Result<Pulled, RegistryError> {
        let what = "the manifest";
        let place = format!("manifests/{}", self.reference.manifest_name());
        let accepted = (header::ACCEPT, ACCEPTED.join(", "));
        let wanted = Wanted { method: Method::GET, place, headers: vec![accepted], body: Bytes::new() };
        let response = self.ask(&wanted, Action::Pull).await?;
        let response = self.expect(response, StatusCode::OK, what).await?;
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let manifest =
            answer::read(response, (self.host(), what), MAX_MANIFEST_BYTES, self.pace.patience).await?;
        let digest = ContentDigest::of_sha256(Sha256::digest(&manifest));
        expect_digest(what, &digest, self.reference.digest())?;

        let layer = artifact::layer(&self.reference, &manifest, &content_type)?;
        let (expected, signature, size) = (layer.content_digest()?, layer.signature()?, layer.size);
        if size > limit {
            return Err(RegistryError::TooLarge { size, limit });
        }
        let component = self.blob(&expected, size).await?;
        Ok(Pulled { component, reference: self.reference.pinned(digest), signature })
    }

    /// Reads a blob of this size.
    async fn blob(&mut self, digest: &ContentDigest, size: u64) -> Result<Bytes, RegistryError> {
        let what = "the component";
        let (place, headers) = (format!("blobs/{digest}"), Vec::new());
        let wanted = Wanted { method: Method::GET, place, headers, body: Bytes::new() };
        let response = self.ask(&wanted, Action::Pull).await?;
        let response = self.expect(response, StatusCode::OK, what).await?;
        let content = answer::read(response, (self.host(), what), size, self.pace.time_for(size)).await?;
        let received = content.len() as u64;
        if received < size {
            return Err(RegistryError::Truncated { received, size });
        }
        expect_digest(what, &ContentDigest::of_sha256(Sha256::digest(&content)), Some(digest))?;
        Ok(content)
    }

    /// Sends a request, and once more after a sign-in if the registry asks for one.
    pub(super) async fn ask(
        &mut self,
        wanted: &Wanted,
        action: Action,
    ) -> Result<Response<ResponseBody>, RegistryError> {
        let (response, is_own) = self.send(wanted).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        // Where it keeps blobs says nothing about where its credentials go.
        if !is_own {
            return Err(RegistryError::Unreadable(
                "the place that it leads to asks for a sign-in".to_owned(),
            ));
        }
        self.authorization = Some(authorization(self, response.headers(), action).await?);
        let (response, _) = self.send(wanted).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(RegistryError::Refused { registry: self.host().to_owned() })
            }
            _ => Ok(response),
        }
    }

    /// Sends a request to the API, at the first of its URLs that answers. Returns whether the registry itself answers, and not a
    /// place that it leads to.
    async fn send(&mut self, wanted: &Wanted) -> Result<(Response<ResponseBody>, bool), RegistryError> {
        if let Some(base) = &self.base {
            return Ok(self.send_to(base, wanted).await?);
        }
        let mut last_error = None;
        for base in self.reference.hosts() {
            match self.send_to(&base, wanted).await {
                Ok(response) => {
                    self.base = Some(base);
                    return Ok(response);
                }
                // It speaks TLS: nothing is sent to it in the clear.
                Err(error) if error.is_distrust() => return Err(error.into()),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.expect("a registry has a URL").into())
    }

    /// Sends a request, and follows redirects: registries keep blobs elsewhere. The sign-in stays with its origin.
    async fn send_to(
        &self,
        base: &str,
        wanted: &Wanted,
    ) -> Result<(Response<ResponseBody>, bool), EgressError> {
        let Wanted { method, place, headers, body, .. } = wanted;
        let is_url = place.starts_with("http://") || place.starts_with("https://");
        let url = if is_url { place.clone() } else { format!("{base}/v2/{}/{place}", self.reference.name()) };
        let is_own = !is_url || is_below(&url, base);
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(authorization) = self.authorization.as_ref().filter(|_| is_own) {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let malformed =
            |_| EgressError::InvalidRequest { reason: "the registry names a place that is no URL" };
        let request = request.body(Full::new(body.clone())).map_err(malformed)?;
        if !body.is_empty() {
            // Not answered before it has been sent.
            return Ok((self.egress.send(request, &Policy::Operator).await?, is_own));
        }
        let (mut request, mut redirects) = (Repeatable::new(request)?, Redirects::default());
        loop {
            let next = request.next().await.expect("a request without a body can be sent again");
            let is_own = is_below(&next.uri().to_string(), base);
            let response = self.egress.send_within(next, &Policy::Operator, self.timeouts()).await?;
            match redirects.step(&mut request, &response, &Redactor::default())? {
                Step::Answer => return Ok((response, is_own)),
                Step::Follow => {}
            }
        }
    }

    /// Passes an answer with this status on; any other is an error.
    pub(super) async fn expect(
        &self,
        response: Response<ResponseBody>,
        expected: StatusCode,
        what: &'static str,
    ) -> Result<Response<ResponseBody>, RegistryError> {
        let status = response.status();
        match status {
            status if status == expected => Ok(response),
            StatusCode::NOT_FOUND => Err(RegistryError::NotFound(self.reference.to_string())),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(RegistryError::Refused { registry: self.host().to_owned() })
            }
            _ => {
                let body =
                    answer::read(response, (self.host(), what), MAX_ERROR_BYTES, self.pace.patience).await;
                let text = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
                let detail = text.trim().chars().take(MAX_ERROR_CHARS).collect();
                Err(RegistryError::Status { what, status, detail })
            }
        }
    }
}

/// Whether a URL has the scheme, host and port of another.
fn is_below(url: &str, base: &str) -> bool {
    let [url, base] = [url, base].map(|text| url::Url::parse(text).map(|url| url.origin()));
    matches!((url, base), (Ok(url), Ok(base)) if url == base)
}

fn expect_digest(
    what: &'static str,
    found: &ContentDigest,
    expected: Option<&ContentDigest>,
) -> Result<(), RegistryError> {
    match expected {
        Some(expected) if expected != found => {
            Err(RegistryError::WrongDigest { what, found: found.to_string(), expected: expected.to_string() })
        }
        _ => Ok(()),
    }
}
