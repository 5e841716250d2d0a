//! The component's side of the WIT contract: exports that the host calls, and imports.

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
#[doc(hidden)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "toolkit-with-offers",
        pub_export_macro: true,
    });
}
mod cache;
mod content;
mod fetch;
mod network;
mod offers;
mod svc;

use std::borrow::Cow;
use std::marker::PhantomData;

use serde_json::{Map, Value};

use self::bindings::exports::kitbag::toolkit::tools;
use self::bindings::kitbag::toolkit::{ask, log, progress, secrets};
use crate::ctx::SecretError;
use crate::error::CallError;
use crate::{AskError, Asked, Ctx, Progress, Toolkit};

pub(crate) use self::fetch::read;

/// Access to the author's crate; implemented by `export!`.
pub trait Author {
    /// Creates the toolkit.
    fn toolkit() -> Toolkit;
}

/// The component's exports.
pub struct Component<A>(PhantomData<A>);

impl<A: Author> tools::Guest for Component<A> {
    fn describe() -> String {
        serde_json::to_string(&A::toolkit().definition()).expect("plain data always serialises")
    }

    fn call(invocation: tools::Invocation) -> Result<tools::ToolResult, tools::CallError> {
        let tools::Invocation { tool, arguments, user_id, config } = invocation;
        let toolkit = A::toolkit();
        let Some(tool) = toolkit.find(&tool) else {
            return Err(tools::CallError::Failure(format!("the toolkit has no tool {tool:?}")));
        };
        let ctx = Ctx::new(&toolkit, user_id, config, Platform { egress: toolkit.egress_entries().to_vec() });

        let result = wstd::runtime::block_on(tool.call(&arguments, ctx))?;
        Ok(tools::ToolResult {
            text: result.text,
            structured: result.structured.map(|value| value.to_string()),
            content: result.content.into_iter().map(Into::into).collect(),
        })
    }
}

/// Host functions behind [`Ctx`]; each method calls one import.
pub(crate) struct Platform {
    /// Declared `egress`; error messages name the missing entry when the host refuses a request.
    egress: Vec<Cow<'static, str>>,
}

impl Platform {
    pub(crate) fn log(&self, arguments: Vec<String>) {
        log::write(&arguments);
    }

    pub(crate) fn progress(&self, report: Progress) {
        progress::report(report.progress, report.total, report.message.as_deref());
    }

    pub(crate) fn secret(&self, name: &str) -> Result<Option<String>, SecretError> {
        secrets::get(name).map_err(|error| match error {
            secrets::SecretError::Undeclared => SecretError::Undeclared,
            secrets::SecretError::Unavailable(why) => SecretError::Unavailable(why),
        })
    }

    #[expect(clippy::unused_async, reason = "the import is synchronous only in the current contract")]
    pub(crate) async fn ask(
        &self,
        key: &str,
        message: &str,
        schema: &str,
    ) -> Result<Asked<Map<String, Value>>, AskError> {
        match ask::ask(key, message, schema) {
            Ok(ask::Answer::Accepted(fields)) => {
                Ok(Asked::Accepted(serde_json::from_str(&fields).expect("the host sends an object")))
            }
            Ok(ask::Answer::Declined) => Ok(Asked::Declined),
            Ok(ask::Answer::Cancelled) => Ok(Asked::Cancelled),
            Err(ask::AskError::Unsupported) => Err(AskError::Unsupported),
            Err(ask::AskError::Invalid(why)) => Err(AskError::Invalid(why)),
        }
    }
}

impl From<CallError> for tools::CallError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Tool(error) => Self::ToolError(tools::ToolError {
                message: error.message().to_owned(),
                retryable: error.is_retryable(),
                data: error.log_data().map(ToString::to_string),
            }),
            CallError::InvalidParams(why) => Self::InvalidParams(why),
            CallError::Failure(detail) => Self::Failure(detail),
        }
    }
}
