//! Registry client: requests with authentication, and pull of components.

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode, header};
use kitbag_base::sha256::Sha256;

use super::answer::{self, Pace};
use super::artifact::{self, ACCEPTED, SignatureText};
use super::authorization::{Action, authorization};
use super::reference::ContentDigest;
use super::sending::{AnsweredBy, parsed, send_to};
use super::{PinnedReference, Reference, RegistryError};
use crate::egress::{Egress, EgressError, LedBy, Policy, ResponseBody, Timeouts};

/// Maximum size of a manifest, in bytes: the size that the specification asks registries to accept.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;
/// Maximum size of an error response that is read, in bytes.
const MAX_ERROR_BYTES: u64 = 16 << 10;
/// Maximum length of a quoted error response, in characters.
const MAX_ERROR_CHARS: usize = 200;

/// Client of a registry, for one reference.
pub struct Registry<'e> {
    egress: &'e Egress,
    reference: Reference,
    /// API that has responded; `None` before the first response.
    api: Option<Api>,
    authorization: Option<HeaderValue>,
    pace: Pace,
    credentials: Credentials,
}

/// A registry's API.
struct Api {
    /// URL, without a trailing slash.
    base: String,
    led_by: LedBy,
}

/// Source of the credentials for registries that require authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// Docker's configuration.
    Docker,
    /// No credentials: anonymous access.
    Nobody,
}

/// A pulled component. Its bytes have the digest that the manifest names.
#[derive(Debug)]
pub struct Pulled {
    /// The component.
    pub component: Bytes,
    /// Reference of the component, with the digest of its manifest.
    pub reference: PinnedReference,
    /// Signature annotation of the component, unparsed and unverified.
    pub signature: Option<SignatureText>,
}

/// A request that may be sent again: after authentication, or to another base URL.
pub(super) struct Wanted {
    pub(super) method: Method,
    /// Path relative to the repository's API, or an absolute URL.
    pub(super) place: String,
    pub(super) headers: Vec<(header::HeaderName, String)>,
    pub(super) body: Bytes,
}

/// A fetched manifest.
pub(super) struct Found {
    pub(super) manifest: Bytes,
    pub(super) content_type: String,
    pub(super) digest: ContentDigest,
}

impl Wanted {
    pub(super) fn get(place: String) -> Self {
        Self { method: Method::GET, place, headers: Vec::new(), body: Bytes::new() }
    }
}

impl<'e> Registry<'e> {
    /// Creates a client of the reference's registry. Sends nothing yet.
    pub fn of(egress: &'e Egress, reference: Reference) -> Self {
        let pace = Pace::default();
        let credentials = Credentials::Docker;
        Self { egress, reference, api: None, authorization: None, pace, credentials }
    }

    /// Disables credentials: only public repositories are accessible.
    #[must_use]
    pub fn anonymous(self) -> Self {
        Self { credentials: Credentials::Nobody, ..self }
    }

    /// Sets the time limits.
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

    pub(super) fn credentials(&self) -> Credentials {
        self.credentials
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

    /// Returns the error for a registry that requires authentication when there are no credentials.
    pub(super) fn without_credentials(&self) -> RegistryError {
        let registry = self.host().to_owned();
        match self.credentials {
            Credentials::Docker => RegistryError::NoCredentials { registry },
            Credentials::Nobody => RegistryError::NotPublic { registry },
        }
    }

    /// Policy of a request to a URL that the registry names.
    pub(super) fn policy(&self, url: &url::Url) -> Policy {
        let api = self.api.as_ref().expect("only a registry that has responded names URLs");
        api.led_by.policy(url)
    }

    /// Whether the registry is on this machine (loopback).
    pub(super) fn is_on_this_machine(&self) -> bool {
        self.reference.hosts().len() > 1
    }

    /// Pulls the component that the reference names, of at most `limit` bytes.
    pub async fn pull(mut self, limit: u64) -> Result<Pulled, RegistryError> {
        let name = self.reference.manifest_name().to_owned();
        let Found { manifest, content_type, digest } = self.manifest(&name).await?;
        expect_digest("the manifest", &digest, self.reference.digest())?;

        let layer = artifact::layer(&self.reference, &manifest, &content_type)?;
        let expected = layer.content_digest()?;
        let signature = layer.signature();
        let size = layer.size;
        if size > limit {
            return Err(RegistryError::TooLarge { size, limit });
        }
        let component = self.blob(&expected, size).await?;
        Ok(Pulled { component, reference: self.reference.pinned(digest), signature })
    }

    /// Fetches the manifest of this tag or digest.
    pub(super) async fn manifest(&mut self, name: &str) -> Result<Found, RegistryError> {
        let what = "the manifest";
        let accepted = (header::ACCEPT, ACCEPTED.join(", "));
        let wanted = Wanted { headers: vec![accepted], ..Wanted::get(format!("manifests/{name}")) };
        let response = self.ask(&wanted, Action::Pull).await?;
        let response = self.expect(response, StatusCode::OK, what).await?;
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let manifest =
            answer::read(response, self.host(), what, MAX_MANIFEST_BYTES, self.pace.patience).await?;
        let digest = ContentDigest::of_sha256(Sha256::digest(&manifest));
        Ok(Found { manifest, content_type, digest })
    }

    /// Fetches a blob of exactly `size` bytes, and checks its digest.
    async fn blob(&mut self, digest: &ContentDigest, size: u64) -> Result<Bytes, RegistryError> {
        let what = "the component";
        let wanted = Wanted::get(format!("blobs/{digest}"));
        let response = self.ask(&wanted, Action::Pull).await?;
        let response = self.expect(response, StatusCode::OK, what).await?;
        let content = answer::read(response, self.host(), what, size, self.pace.time_for(size)).await?;
        let received = content.len() as u64;
        if received < size {
            return Err(RegistryError::Truncated { received, size });
        }
        expect_digest(what, &ContentDigest::of_sha256(Sha256::digest(&content)), Some(digest))?;
        Ok(content)
    }

    /// Sends a request; after a 401, authenticates and sends it once more.
    pub(super) async fn ask(
        &mut self,
        wanted: &Wanted,
        action: Action,
    ) -> Result<Response<ResponseBody>, RegistryError> {
        let response = self.send(wanted).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        // A redirect target must not receive the registry's credentials.
        if !AnsweredBy::of(&response).is_own {
            return Err(RegistryError::Unreadable(
                "the place that it leads to asks for a sign-in".to_owned(),
            ));
        }
        self.authorization = Some(authorization(self, response.headers(), action).await?);
        let response = self.send(wanted).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(RegistryError::Refused { registry: self.host().to_owned() })
            }
            _ => Ok(response),
        }
    }

    /// Sends a request to the API, at the first base URL that responds.
    async fn send(&mut self, wanted: &Wanted) -> Result<Response<ResponseBody>, RegistryError> {
        if let Some(mut api) = self.api.take() {
            let sent = self.send_to(&mut api, wanted).await;
            self.api = Some(api);
            return Ok(sent?);
        }
        let mut last_error = None;
        for base in self.reference.hosts() {
            let mut api = Api { led_by: LedBy::server_of(&parsed(&base)?), base };
            match self.send_to(&mut api, wanted).await {
                Ok(sent) => {
                    self.api = Some(api);
                    return Ok(sent);
                }
                // The server speaks TLS: no fallback to plain HTTP.
                Err(error) if error.is_distrust() => return Err(error.into()),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.expect("a registry has a URL").into())
    }

    async fn send_to(&self, api: &mut Api, wanted: &Wanted) -> Result<Response<ResponseBody>, EgressError> {
        let Api { base, led_by } = api;
        let place = &wanted.place;
        let is_url = place.starts_with("http://") || place.starts_with("https://");
        let url = if is_url { place.clone() } else { format!("{base}/v2/{}/{place}", self.reference.name()) };
        send_to(self.egress, led_by, &url, wanted, self.authorization.as_ref(), self.timeouts()).await
    }

    /// Returns the response if it has the expected status; otherwise an error.
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
            // Nothing is quoted of a server that the registry leads to.
            _ if !AnsweredBy::of(&response).is_own => {
                Err(RegistryError::Status { what, status, detail: String::new() })
            }
            _ => {
                let body =
                    answer::read(response, self.host(), what, MAX_ERROR_BYTES, self.pace.patience).await;
                let text = body.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
                let text = text.trim().chars().take(MAX_ERROR_CHARS);
                let detail = text.flat_map(char::escape_debug).collect();
                Err(RegistryError::Status { what, status, detail })
            }
        }
    }
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
