//! An HTTP response.

use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::parse;
use crate::{FetchError, ToolError};

/// An HTTP response. Its body is read on demand, and only once.
#[derive(Debug)]
pub struct Response {
    head: Parts,
    body: Body,
}

impl Response {
    /// Creates a response, for tests. An invalid HTTP status becomes 500.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let (mut head, ()) = http::Response::new(()).into_parts();
        head.status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { head, body: Body::Whole(body.into()) }
    }

    /// Adds a header, for tests. A header that is not valid in HTTP is ignored.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            self.head.headers.append(name, value);
        }
        self
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

    /// Reads the body as UTF-8; invalid sequences become U+FFFD.
    pub async fn text(self) -> Result<String, FetchError> {
        Ok(self.into_text().await?.1)
    }

    /// Reads the body as JSON for any status. The error is retryable unless the body is JSON that does
    /// not fit `T`.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, ToolError> {
        let text = self.text().await.map_err(|error| error.for_model("The server"))?;
        parse(&text).map_err(|error| error.for_model("The server"))
    }

    /// Reads the body as text; returns it with the response's head.
    pub(crate) async fn into_text(self) -> Result<(Parts, String), FetchError> {
        let (head, body) = self.into_bytes().await?;
        let text = String::from_utf8(body)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok((head, text))
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn from_sandbox(
        status: StatusCode,
        headers: HeaderMap,
        body: wasip2::http::types::IncomingBody,
    ) -> Self {
        let mut response = Self::new(status.as_u16(), Vec::new());
        response.head.headers = headers;
        response.body = Body::Arriving(body);
        response
    }

    async fn into_bytes(self) -> Result<(Parts, Vec<u8>), FetchError> {
        Ok((self.head, self.body.read().await?))
    }
}

#[derive(Debug)]
enum Body {
    Whole(Vec<u8>),
    #[cfg(target_family = "wasm")]
    Arriving(wasip2::http::types::IncomingBody),
}

impl Body {
    #[cfg(target_family = "wasm")]
    async fn read(self) -> Result<Vec<u8>, FetchError> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::Arriving(body) => crate::sandbox::read(body).await,
        }
    }

    #[cfg(not(target_family = "wasm"))]
    fn read(self) -> std::future::Ready<Result<Vec<u8>, FetchError>> {
        let Self::Whole(bytes) = self;
        std::future::ready(Ok(bytes))
    }
}

/// Creates a response with status 200 and the value as its JSON body.
impl From<Value> for Response {
    fn from(value: Value) -> Self {
        let mut response = Self::new(200, value.to_string());
        response.head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
