//! Response of a test to a request of the handler.

use serde_json::Value;

use crate::{FetchError, Response};

/// Reply of a test's upstream, converted from a [`Response`], a JSON [`Value`], a [`FetchError`],
/// or a [`Result`] of these.
pub struct Answer(pub(super) Result<Response, FetchError>);

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self(Ok(response))
    }
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self(Ok(value.into()))
    }
}

impl From<FetchError> for Answer {
    fn from(error: FetchError) -> Self {
        Self(Err(error))
    }
}

impl<R: Into<Response>> From<Result<R, FetchError>> for Answer {
    fn from(result: Result<R, FetchError>) -> Self {
        Self(result.map(Into::into))
    }
}
