//! Version 0.2, frozen in `wit/v0_2`.

mod documents;
mod extraction;
mod result;

use wasmtime::component::{Instance, InstancePre};
use wasmtime::error::Context as _;
use wasmtime::{Engine, Store};

use super::{
    COMPLETION, CallError, CompletionSubject, ExtractError, Extracted, GuestCall, PROMPTS, RESOURCES, TOOLS,
    Target, ToolResult,
};
/// The interfaces that capabilities implement.
pub(crate) use toolkit::kitbag::toolkit as interfaces;

use extractor::exports::kitbag::extractor::extraction as wit_extraction;
use toolkit::exports::kitbag::toolkit::{completion, prompts, resources, tools};

mod toolkit {
    wasmtime::component::bindgen!({
        path: "../../wit/v0_2",
        world: "toolkit-with-offers",
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
        path: "../../wit/v0_2/extractor",
        world: "extractor",
        exports: { default: async },
    });
}

/// Name of the contract with toolkits, for messages.
pub(crate) const NAME: &str = "kitbag:toolkit@0.2";
/// The interface of the types of `wasi:http`, as wasmtime links it for this version.
pub(crate) const WASI_HTTP_TYPES: &str = "wasi:http/types@0.2.12";

/// The version of the interfaces that toolkits export.
const VERSION: &str = "@0.2.0";

/// Whether an export with this name makes a component a toolkit.
pub(crate) fn is_toolkit(export: &str) -> bool {
    is_export(export, TOOLS)
}

/// Returns the optional toolkit interface that this export provides, if any.
pub(crate) fn optional_export(export: &str) -> Option<&'static str> {
    [PROMPTS, RESOURCES, COMPLETION].into_iter().find(|interface| is_export(export, interface))
}

fn is_export(export: &str, interface: &str) -> bool {
    export.strip_prefix(interface).is_some_and(|version| version.starts_with("@0.2."))
}

/// A linked toolkit, which can be instantiated repeatedly.
pub(crate) struct LinkedToolkit<T: 'static> {
    linked: InstancePre<T>,
    tools: tools::GuestIndices,
    prompts: Option<prompts::GuestIndices>,
    resources: Option<resources::GuestIndices>,
    completion: Option<completion::GuestIndices>,
}

impl<T: Send> LinkedToolkit<T> {
    /// Fails if the component lacks the exports of a toolkit, or has one with another type.
    pub(crate) fn new(linked: InstancePre<T>) -> wasmtime::Result<Self> {
        let component = linked.component();
        let exports =
            |interface: &str| component.get_export_index(None, format!("{interface}{VERSION}")).is_some();
        Ok(Self {
            tools: tools::GuestIndices::new(&linked)?,
            prompts: exports(PROMPTS).then(|| prompts::GuestIndices::new(&linked)).transpose()?,
            resources: exports(RESOURCES).then(|| resources::GuestIndices::new(&linked)).transpose()?,
            completion: exports(COMPLETION).then(|| completion::GuestIndices::new(&linked)).transpose()?,
            linked,
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.linked.engine()
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<T>) -> wasmtime::Result<Toolkit<'_, T>> {
        let instance = self.linked.instantiate_async(store).await?;
        Ok(Toolkit { linked: self, instance })
    }
}

/// An instance of a toolkit.
pub(crate) struct Toolkit<'a, T: 'static> {
    linked: &'a LinkedToolkit<T>,
    instance: Instance,
}

impl<T: Send> Toolkit<'_, T> {
    /// Runs one call.
    pub(crate) async fn call(
        &self,
        store: &mut Store<T>,
        call: GuestCall,
    ) -> wasmtime::Result<Result<ToolResult, CallError>> {
        let Self { linked, instance } = self;
        let GuestCall { target, arguments, user_id, config } = call;
        let returned = match target {
            Target::Tool(tool) => {
                let guest = linked.tools.load(&mut *store, instance)?;
                let invocation = tools::Invocation { tool, arguments, user_id, config };
                guest.call_call(store, &invocation).await?.map(Into::into)
            }
            Target::Prompt(prompt) => {
                let guest = linked.prompts.as_ref().context("there is no export of prompts")?;
                let guest = guest.load(&mut *store, instance)?;
                let request = prompts::PromptRequest { prompt, arguments, user_id, config };
                guest.call_get(store, &request).await?.map(result::of_messages)
            }
            Target::Resource { name, uri } => {
                let guest = linked.resources.as_ref().context("there is no export of resources")?;
                let guest = guest.load(&mut *store, instance)?;
                let request = resources::ResourceRequest { name, uri, variables: arguments, user_id, config };
                let returned = guest.call_read(store, &request).await?;
                returned.map(|contents| result::of_contents(request.uri, contents))
            }
            Target::Completion { subject, argument, value } => {
                let guest = linked.completion.as_ref().context("there is no export of completions")?;
                let guest = guest.load(&mut *store, instance)?;
                let subject = match subject {
                    CompletionSubject::Prompt(name) => completion::Completed::Prompt(name),
                    CompletionSubject::Resource(name) => completion::Completed::Resource(name),
                };
                let others = arguments;
                let request =
                    completion::CompletionRequest { subject, argument, value, others, user_id, config };
                guest.call_complete(store, &request).await?.map(|values| result::of_values(&values))
            }
        };
        Ok(returned.map_err(Into::into))
    }

    /// Runs `describe`. Returns the manifest, not validated.
    pub(crate) async fn describe(&self, store: &mut Store<T>) -> wasmtime::Result<String> {
        let guest = self.linked.tools.load(&mut *store, &self.instance)?;
        guest.call_describe(store).await
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
