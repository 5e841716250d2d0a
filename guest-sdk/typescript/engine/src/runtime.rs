//! The engine itself: a runtime, a context, and the native modules.

use rquickjs::loader::{BuiltinResolver, ModuleLoader};
use rquickjs::{CatchResultExt, Context, Ctx, Module, Object, Runtime};

use crate::{compression::Compression, crypto::Crypto, encoding::Encoding, url::Url};

/// Why a module did not run: the exception's text and stack.
#[derive(Debug)]
pub struct EngineError(pub String);

/// One engine with a heap of its own.
pub struct Engine {
    /// Before the runtime, which it belongs to: it is dropped first.
    context: Context,
    runtime: Runtime,
}

impl Engine {
    /// Makes an engine that has run nothing.
    pub fn new() -> Result<Self, EngineError> {
        let failed = |error: rquickjs::Error| EngineError(error.to_string());
        let runtime = Runtime::new().map_err(failed)?;
        let names = ["kitbag:compression", "kitbag:crypto", "kitbag:encoding", "kitbag:url"];
        let resolver = names.into_iter().fold(BuiltinResolver::default(), BuiltinResolver::with_module);
        let loader = ModuleLoader::default()
            .with_module("kitbag:compression", Compression)
            .with_module("kitbag:crypto", Crypto)
            .with_module("kitbag:encoding", Encoding)
            .with_module("kitbag:url", Url);
        #[cfg(feature = "intl")]
        let (resolver, loader) =
            (resolver.with_module("kitbag:intl"), loader.with_module("kitbag:intl", crate::intl::Intl));
        runtime.set_loader(resolver, loader);
        let context = Context::full(&runtime).map_err(failed)?;
        Ok(Self { context, runtime })
    }

    /// Runs a module to its end, with all promises that can be settled, and returns its exports' `default` as
    /// JSON.
    pub fn evaluate(&self, name: &str, source: &str) -> Result<String, EngineError> {
        self.context.with(|ctx| {
            let run = || -> rquickjs::Result<String> {
                let (module, done) = Module::declare(ctx.clone(), name, source)?.eval()?;
                done.finish::<()>()?;
                let exports: Object = module.namespace()?;
                let value: rquickjs::Value = exports.get("default")?;
                let value = match value.as_promise() {
                    Some(promise) => promise.finish()?,
                    None => value,
                };
                let json = ctx.json_stringify(value)?;
                json.map_or(Ok(String::from("undefined")), |json| json.to_string())
            };
            run().catch(&ctx).map_err(|error| EngineError(error.to_string()))
        })
    }

    /// Lets `setup` add what a context has beside the language.
    pub fn with<R>(&self, setup: impl FnOnce(Ctx<'_>) -> R) -> R {
        self.context.with(setup)
    }

    /// Frees what is in cycles.
    pub fn collect_garbage(&self) {
        self.runtime.run_gc();
    }
}
