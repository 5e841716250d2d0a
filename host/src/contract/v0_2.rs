//! Version 0.2, frozen in `wit/v0_2`.

mod documents;
mod extraction;
mod result;

use wasmtime::component::InstancePre;
use wasmtime::{Engine, Store};

use super::{CallError, ExtractError, Extracted, TOOLS, ToolCall, ToolResult};
/// The interfaces that capabilities implement.
pub(crate) use toolkit::kitbag::toolkit as interfaces;

use extractor::exports::kitbag::extractor::extraction as wit_extraction;
use toolkit::exports::kitbag::toolkit::tools;

mod toolkit {
    wasmtime::component::bindgen!({
        path: "../wit/v0_2",
        world: "toolkit",
        imports: {
            "kitbag:toolkit/log": trappable,
            "kitbag:toolkit/progress": trappable,
            default: async | trappable,
        },
        exports: { default: async },
    });
}

mod extractor {
    wasmtime::component::bindgen!({
        path: "../wit/v0_2/extractor",
        world: "extractor",
        exports: { default: async },
    });
}

/// The name of the contract with toolkits, for messages.
pub(crate) const NAME: &str = "kitbag:toolkit@0.2";
/// The interface of the types of `wasi:http`, as wasmtime links it for this version.
pub(crate) const WASI_HTTP_TYPES: &str = "wasi:http/types@0.2.12";

/// Whether an export with this name makes a component a toolkit.
pub(crate) fn is_toolkit(export: &str) -> bool {
    export.strip_prefix(TOOLS).is_some_and(|version| version.starts_with("@0.2."))
}

/// A linked toolkit, which can be instantiated repeatedly.
pub(crate) struct LinkedToolkit<T: 'static>(toolkit::ToolkitPre<T>);

/// An instance of a toolkit.
pub(crate) struct Toolkit(toolkit::Toolkit);

impl<T: Send> LinkedToolkit<T> {
    /// Fails if the component lacks the exports of a toolkit.
    pub(crate) fn new(linked: InstancePre<T>) -> wasmtime::Result<Self> {
        toolkit::ToolkitPre::new(linked).map(Self)
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.0.engine()
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<T>) -> wasmtime::Result<Toolkit> {
        self.0.instantiate_async(store).await.map(Toolkit)
    }
}

impl Toolkit {
    /// Runs one tool.
    pub(crate) async fn call<T: Send>(
        &self,
        store: &mut Store<T>,
        call: ToolCall,
    ) -> wasmtime::Result<Result<ToolResult, CallError>> {
        let ToolCall { tool, arguments, user_id, config } = call;
        let invocation = tools::Invocation { tool, arguments, user_id, config };
        let returned = self.0.kitbag_toolkit_tools().call_call(store, &invocation).await?;
        Ok(returned.map(Into::into).map_err(Into::into))
    }

    /// Runs `describe`. Returns the manifest, not validated.
    pub(crate) async fn describe<T: Send>(&self, store: &mut Store<T>) -> wasmtime::Result<String> {
        self.0.kitbag_toolkit_tools().call_describe(store).await
    }
}

/// A linked extractor, which can be instantiated repeatedly.
pub(crate) struct LinkedExtractor<T: 'static>(extractor::ExtractorPre<T>);

impl<T: Send> LinkedExtractor<T> {
    /// Fails if the component lacks the exports of an extractor.
    pub(crate) fn new(linked: InstancePre<T>) -> wasmtime::Result<Self> {
        extractor::ExtractorPre::new(linked).map(Self)
    }

    /// Reads a whole file in a new instance.
    pub(crate) async fn extract(
        &self,
        store: &mut Store<T>,
        file: &[u8],
    ) -> wasmtime::Result<Result<Extracted, ExtractError>> {
        let extractor = self.0.instantiate_async(&mut *store).await?;
        let read = extractor.kitbag_extractor_extraction().call_extract(store, file).await?;
        Ok(read.map(Into::into).map_err(Into::into))
    }
}
