//! Handler errors: those shown to the model, and all others.

use kitbag_manifest::{credentials, knowledge};
use serde::Serialize;
use serde_json::Value;

use crate::AskError;

/// Any error, converted by `?`. The model learns only that the tool failed; the causes go to the log.
///
/// If its chain contains a [`ToolError`], an [`SvcError`] or [`AskError::Unsupported`], the model sees that one instead.
pub type Failure = anyhow::Error;

/// The usual return type of handlers.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error whose message is shown to the model.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// async fn find(_: NoArgs, _ctx: Ctx) -> Result<String> {
///     Err(ToolError::new("The library is closed; try again tomorrow.").retryable().into())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    message: String,
    retryable: bool,
    data: Option<Value>,
}

impl ToolError {
    /// Creates an error that is not retryable.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false, data: None }
    }

    /// Marks the error as retryable: the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Marks the error as not retryable.
    pub(crate) fn not_retryable(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// Attaches data for the log; the model does not see it. A value that JSON cannot represent is omitted.
    #[must_use]
    pub fn data(mut self, data: impl Serialize) -> Self {
        self.data = serde_json::to_value(data).ok();
        self
    }

    /// Returns the message that the model reads.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Returns the data for the log.
    pub fn log_data(&self) -> Option<&Value> {
        self.data.as_ref()
    }

    /// Returns the first error in the chain that the model may read.
    pub(crate) fn within(failure: &Failure) -> Option<Self> {
        failure.chain().find_map(|error| {
            let own = error.downcast_ref::<Self>().cloned();
            let of_svc = || error.downcast_ref::<SvcError>().map(Self::from);
            let of_ask = || error.downcast_ref::<AskError>().filter(|it| **it == AskError::Unsupported);
            own.or_else(of_svc).or_else(|| of_ask().map(|it| Self::new(it.to_string())))
        })
    }
}

/// Failure of an HTTP request that got no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The host is not listed in `egress`, or did not answer.
    #[error("network error: {0}")]
    Network(String),
    /// The request is malformed and cannot be sent.
    #[error("invalid request: {0}")]
    InvalidRequest(String),
}

/// Failure of a knowledge base request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SvcError {
    /// The calling user has no document with this id.
    #[error("{}", knowledge::NOT_FOUND)]
    NotFound,
    /// The request breaks a rule. The text names the rule and the path of the offending field.
    #[error("{}", knowledge::refused(.0))]
    Invalid(String),
    /// The knowledge base is temporarily unavailable. The text is the reason.
    #[error("{}", knowledge::unavailable(.0))]
    Unavailable(String),
}

impl From<&SvcError> for ToolError {
    fn from(error: &SvcError) -> Self {
        let shown = Self::new(error.to_string());
        if matches!(error, SvcError::Unavailable(_)) { shown.retryable() } else { shown }
    }
}

/// Call errors as distinguished by the WIT contract.
#[derive(Debug)]
pub(crate) enum CallError {
    /// An error that is shown to the model.
    Tool(ToolError),
    /// The arguments fit the schema but not the handler's types. Shown to the model.
    InvalidParams(String),
    /// Any other error, for the log only.
    Failure(String),
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        ToolError::within(&failure).map_or_else(|| Self::Failure(format!("{failure:#}")), Self::Tool)
    }
}

/// Failure to read a credential.
pub(crate) enum SecretError {
    /// The toolkit does not declare the credential.
    Undeclared,
    /// The vault is temporarily unavailable. The text is the reason and may be shown to a user.
    #[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "a test can always read credentials"))]
    Unavailable(String),
}

impl SecretError {
    pub(crate) fn explain(self, name: &str) -> Failure {
        match self {
            Self::Undeclared => Failure::msg(credentials::undeclared(name)),
            Self::Unavailable(why) => ToolError::new(credentials::unavailable(name, &why)).retryable().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use serde_json::json;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] ToolError);

    fn shown(failure: Failure) -> Option<ToolError> {
        match CallError::from(failure) {
            CallError::Tool(error) => Some(error),
            CallError::InvalidParams(_) | CallError::Failure(_) => None,
        }
    }

    #[test]
    fn a_tool_error_is_found_wherever_it_is_in_the_chain() {
        let error = ToolError::new("no such city").data(json!({ "asked": "Atlantis" }));

        assert_eq!(shown(error.clone().into()), Some(error.clone()));
        assert_eq!(shown(Failure::from(error.clone()).context("outer")), Some(error.clone()));
        assert_eq!(
            shown(Err::<(), _>(error.clone()).context("a").context("b").unwrap_err()),
            Some(error.clone())
        );
        assert_eq!(shown(Outer(error.clone()).into()), Some(error));
    }

    #[test]
    fn any_other_error_is_for_the_log_with_its_causes() {
        let error = std::io::Error::other("disk on fire");

        let CallError::Failure(detail) = CallError::from(Failure::from(error).context("reading the list"))
        else {
            panic!("it is not a tool error");
        };

        assert_eq!(detail, "reading the list: disk on fire");
    }

    #[test]
    fn only_an_unavailable_knowledge_base_is_worth_trying_again() {
        let retryable = |error: SvcError| shown(error.into()).expect("the model reads it").is_retryable();

        assert!(retryable(SvcError::Unavailable("busy".into())));
        assert!(!retryable(SvcError::NotFound));
        assert!(!retryable(SvcError::Invalid("documents[0].title: must not be empty".into())));
    }
}
