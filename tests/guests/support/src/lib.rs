//! Shared code of the test guests.
//!
//! The guests stand for toolkits that are not written with an SDK, so they use the contract directly. A guest
//! has one function for each of the contract's two exports, and calls [`toolkit!`] with their names.

pub mod clock;
pub mod greeter;
pub mod http;

/// Bindings to the world `kitbag:toolkit/toolkit`. A component has only the imports that its guest calls,
/// although the world lists more.
#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/current",
        world: "toolkit",
        pub_export_macro: true,
        default_bindings_module: "guest_support::bindings",
    });
}

pub use kitbag_manifest::{
    ApiKey, Auth, Auths, BasicAuth, ConfigField, ConfigKind, OAuth2AuthorizationCode,
    OAuth2ClientCredentials, ToolAnnotations, ToolDefinition, ToolkitDefinition, Visibility,
};
pub use serde_json;
pub use wasip2;

pub use self::bindings::exports::kitbag::toolkit::tools::{
    CallError, Content, ContentAnnotations, ContentBlock, EmbeddedResource, Guest, Invocation, Media,
    ResourceBody, ResourceLink, ToolError, ToolResult,
};
pub use self::bindings::kitbag::toolkit::{ask, cache, ingest, knowledge, log, progress, search, secrets};

use serde_json::{Value, json};

/// What a call returns.
pub type Outcome = Result<ToolResult, CallError>;

/// Makes a component from `fn() -> ToolkitDefinition` and `fn(&Invocation) -> Outcome`.
#[macro_export]
macro_rules! toolkit {
    ($describe:path, $call:path) => {
        /// The toolkit.
        pub struct Toolkit;

        impl $crate::Guest for Toolkit {
            fn describe() -> String {
                $crate::serde_json::to_string(&$describe()).expect("plain data always serialises")
            }

            fn call(invocation: $crate::Invocation) -> $crate::Outcome {
                $call(&invocation)
            }
        }

        // A native linker does not accept the names of a component's exports.
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
        mod export {
            use super::Toolkit;

            $crate::bindings::export!(Toolkit with_types_in $crate::bindings);
        }
    };
}

/// Returns a valid declaration that grants nothing and is shared by all users, so that tests may call it as
/// any user.
pub fn definition(id: &str, tools: Vec<ToolDefinition>) -> ToolkitDefinition {
    ToolkitDefinition {
        id: id.to_owned(),
        name: format!("Guest {id}"),
        description: "A guest of the test suite.".to_owned(),
        icon: "🧪".to_owned(),
        version: "1.0.0".to_owned(),
        tools,
        visibility: Visibility::Shared,
        ..ToolkitDefinition::default()
    }
}

/// Returns a tool that takes any arguments.
pub fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({ "type": "object" }),
        ..ToolDefinition::default()
    }
}

/// Returns content without annotations.
pub fn block(content: Content) -> ContentBlock {
    let annotations = ContentAnnotations { audience: Vec::new(), priority: None, last_modified: None };
    ContentBlock { content, annotations }
}

/// Returns the call's arguments.
pub fn arguments(invocation: &Invocation) -> Value {
    serde_json::from_str(&invocation.arguments).unwrap_or_default()
}

/// Returns a result with text only.
pub fn text(text: impl Into<String>) -> Outcome {
    Ok(ToolResult { text: text.into(), structured: None, content: Vec::new() })
}

/// Returns a result whose text is its structured value as JSON.
pub fn structured(value: &Value) -> Outcome {
    Ok(ToolResult { text: value.to_string(), structured: Some(value.to_string()), content: Vec::new() })
}

/// Returns an error that the model may read.
pub fn error(message: impl Into<String>) -> Outcome {
    Err(CallError::ToolError(ToolError { message: message.into(), retryable: false, data: None }))
}

/// Returns the failure for a tool that the declaration does not list.
pub fn unknown(tool: &str) -> Outcome {
    Err(CallError::Failure(format!("there is no tool {tool:?}")))
}
