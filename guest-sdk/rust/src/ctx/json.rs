//! JSON over HTTP, with errors that a model can act on.

use http::StatusCode;
use http::response::Parts;
use serde::de::DeserializeOwned;

use crate::arguments::{ParseError, parse};
use crate::{Ctx, FetchError, Request, ToolError};

impl Ctx {
    /// Calls a JSON API and parses the response body.
    ///
    /// | what happens | the error |
    /// |---|---|
    /// | status 4xx other than 429 | not retryable |
    /// | status 429, 5xx, or no response | retryable |
    /// | the body is not JSON | retryable for GET, HEAD and OPTIONS; others may already have taken effect |
    /// | the body is JSON that does not fit `T` | not retryable; names the path |
    /// | the body is empty, and `T` does not accept `null` | not retryable |
    /// | the request cannot be built | not retryable |
    ///
    /// A status below 400 counts as success: the host has already followed redirects. An empty body, such as
    /// that of a 204, is read as `null`, which `()` and `Option` accept.
    pub async fn fetch_json<T: DeserializeOwned>(&self, request: impl Into<Request>) -> Result<T, ToolError> {
        self.fetch_json_with(request, |_, _| None).await
    }

    /// Like [`fetch_json`](Self::fetch_json), with a mapping for the API's own error responses.
    ///
    /// `error_map` gets head and body text of each response whose status is an error (4xx or 5xx). If it
    /// returns an error, that is the result; if it returns `None`, the table of `fetch_json` applies.
    ///
    /// ```
    /// # use kitbag_toolkit::prelude::*;
    /// # #[derive(Deserialize)] struct Book { title: String }
    /// async fn find(_: NoArgs, ctx: Ctx) -> Result<String> {
    ///     let book: Book = ctx
    ///         .fetch_json_with("https://books.example/1", |head, _body| {
    ///             (head.status == 404).then(|| ToolError::new("There is no such book."))
    ///         })
    ///         .await?;
    ///     Ok(book.title)
    /// }
    /// ```
    pub async fn fetch_json_with<T: DeserializeOwned>(
        &self,
        request: impl Into<Request>,
        error_map: impl FnOnce(&Parts, &str) -> Option<ToolError>,
    ) -> Result<T, ToolError> {
        let request = request.into();
        let host = request.host().to_owned();
        let is_safe = request.method().is_safe();

        let response = self.fetch(request).await.map_err(|error| error.for_model(&host))?;
        let (head, body) = response.into_text().await.map_err(|error| error.for_model(&host))?;

        if head.status.is_client_error() || head.status.is_server_error() {
            return Err(error_map(&head, &body).unwrap_or_else(|| from_status(&host, head.status)));
        }
        if body.trim().is_empty() {
            let status = head.status.as_u16();
            let empty =
                || ToolError::new(format!("{host} answered with HTTP status {status} and an empty body"));
            return parse("null").map_err(|_| empty());
        }
        parse(&body).map_err(|error| {
            let error = error.for_model(&host);
            if is_safe { error } else { error.not_retryable() }
        })
    }
}

impl FetchError {
    pub(crate) fn for_model(&self, server: &str) -> ToolError {
        let error = ToolError::new(format!("{server} gave no answer: {self}"));
        if matches!(self, Self::Network(_)) { error.retryable() } else { error }
    }
}

impl ParseError {
    pub(crate) fn for_model(self, server: &str) -> ToolError {
        match self {
            Self::Malformed(why) => {
                ToolError::new(format!("{server} answered with malformed JSON: {why}")).retryable()
            }
            Self::Shape(why) => ToolError::new(format!("{server} answered with unexpected JSON at {why}")),
        }
    }
}

fn from_status(host: &str, status: StatusCode) -> ToolError {
    let error = ToolError::new(format!("{host} answered with HTTP status {status}"));
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        error.retryable()
    } else {
        error
    }
}
