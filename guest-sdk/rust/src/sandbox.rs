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
pub(crate) mod platform;
mod svc;

use std::marker::PhantomData;

use self::bindings::exports::kitbag::toolkit::tools;
use self::platform::Platform;
use crate::error::CallError;
use crate::{Ctx, Toolkit};

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
        let ctx = Ctx::new(&toolkit, user_id, config, Platform::of(&toolkit));

        let result = wstd::runtime::block_on(tool.call(&arguments, ctx))?;
        Ok(tools::ToolResult {
            text: result.text,
            structured: result.structured.map(|value| value.to_string()),
            content: result.content.into_iter().map(Into::into).collect(),
        })
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
