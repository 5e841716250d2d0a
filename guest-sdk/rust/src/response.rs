//! An HTTP response.

use http::response::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::FetchError;

#[cfg(target_family = "wasm")]
type Body = wstd::http::Body;
#[cfg(not(target_family = "wasm"))]
type Body = Vec<u8>;

/// A response; its body is read once, when it is asked for.
#[derive(Debug)]
pub struct Response {
    head: Parts,
    body: Body,
}

impl Response {
    /// A response of one's own making, for tests. A status that HTTP does not know is 500.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let (mut head, ()) = http::Response::new(()).into_parts();
        head.status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { head, body: body.into().into() }
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Reads the body.
    pub async fn bytes(self) -> Result<Vec<u8>, FetchError> {
        Ok(self.into_bytes().await?.1)
    }

    /// Reads the body as UTF-8; what is none becomes U+FFFD.
    pub async fn text(self) -> Result<String, FetchError> {
        Ok(self.into_text().await?.1)
    }

    /// Reads head and body.
    pub(crate) async fn into_text(self) -> Result<(Parts, String), FetchError> {
        let (head, body) = self.into_bytes().await?;
        let text = String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok((head, text))
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn from_sandbox(response: wstd::http::Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body }
    }

    #[cfg(target_family = "wasm")]
    async fn into_bytes(mut self) -> Result<(Parts, Vec<u8>), FetchError> {
        match self.body.contents().await {
            Ok(bytes) => Ok((self.head, bytes.to_vec())),
            Err(error) => Err(crate::sandbox::network_error(&error)),
        }
    }

    #[cfg(not(target_family = "wasm"))]
    #[expect(clippy::unused_async, reason = "inside the sandbox the body is still on its way")]
    async fn into_bytes(self) -> Result<(Parts, Vec<u8>), FetchError> {
        Ok((self.head, self.body))
    }
}

/// Status 200 with the value as JSON.
impl From<Value> for Response {
    fn from(value: Value) -> Self {
        let mut response = Self::new(200, value.to_string());
        response.head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
