//! Files in a bucket with the Amazon S3 protocol. Requests go through [`Egress`], like all others.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use kitbag_net::egress::{Egress, EgressError, Policy};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, RetryConfig};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::ObjectsError;

/// Maximum number of retries of a request, and their time limit.
const MAX_RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of a response other than an object, in bytes: an error, or the result of an upload.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// A bucket, with its access key.
#[derive(Clone, Debug)]
pub struct BucketLocation {
    /// Name of the bucket.
    pub bucket: String,
    /// Prefix of all object names; may be empty.
    pub prefix: String,
    /// URL of the service; `None` for Amazon's in the region.
    pub endpoint: Option<Url>,
    /// Region of the bucket.
    pub region: String,
    /// Id of the access key.
    pub key_id: String,
    /// Secret of the access key.
    pub secret: SecretString,
}

/// Opens a bucket. Sends no request.
pub(super) fn open(location: &BucketLocation, egress: Egress) -> Result<PrefixStore<AmazonS3>, ObjectsError> {
    let retry = RetryConfig {
        backoff: BackoffConfig { init_backoff: Duration::from_millis(100), ..BackoffConfig::default() },
        max_retries: MAX_RETRIES,
        retry_timeout: RETRY_TIMEOUT,
    };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&location.bucket)
        .with_region(&location.region)
        .with_access_key_id(&location.key_id)
        .with_secret_access_key(location.secret.expose_secret())
        .with_retry(retry)
        .with_http_connector(OverEgress(egress));
    if let Some(endpoint) = &location.endpoint {
        builder = builder
            .with_endpoint(endpoint.as_str().trim_end_matches('/'))
            .with_allow_http(endpoint.scheme() == "http");
    }
    Ok(PrefixStore::new(builder.build()?, location.prefix.as_str()))
}

/// Sends the requests for a bucket.
#[derive(Clone, Debug)]
struct OverEgress(Egress);

impl HttpConnector for OverEgress {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for OverEgress {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_read = request.method() == http::Method::GET;
        let response = self.0.send(request, &Policy::Operator).await.map_err(not_answered)?;
        let (head, body) = response.into_parts();
        let body = if is_read && head.status.is_success() {
            HttpResponseBody::new(body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error)))
        } else {
            let body = Limited::new(body, MAX_ANSWER_BYTES);
            HttpResponseBody::new(
                body.map_err(|error| HttpError::new(HttpErrorKind::Decode, io::Error::other(error))),
            )
        };
        Ok(HttpResponse::from_parts(head, body))
    }
}

/// Classifies errors for retries. Objects are never overwritten with other bytes, so each request may be
/// repeated.
fn not_answered(error: EgressError) -> HttpError {
    let kind = match &error {
        EgressError::Resolve { .. } | EgressError::Connect { .. } => HttpErrorKind::Connect,
        EgressError::Timeout { .. } => HttpErrorKind::Timeout,
        EgressError::Protocol { .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}
