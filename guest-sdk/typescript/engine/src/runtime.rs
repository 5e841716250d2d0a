//! The engine: a runtime, a context, and the native modules.

#[cfg(target_family = "wasm")]
use rquickjs::Value;
use rquickjs::loader::{BuiltinResolver, ModuleLoader};
use rquickjs::module::ModuleDef;
use rquickjs::promise::PromiseState;
use rquickjs::{CatchResultExt, Context, Ctx, Exception, Module, Object, Promise, Runtime};

use crate::script;
use crate::{compression::Compression, encoding::Encoding, rules::Rules, url::Url};

/// Maximum stack for scripts: less than Cargo.toml sets, to leave room for native functions.
#[cfg(target_family = "wasm")]
const MAX_STACK_BYTES: usize = 192 * 1024;
/// Heap growth after which the cycle collector runs. A run touches the whole heap.
const GC_THRESHOLD_BYTES: usize = 16 << 20;

/// Failure of a module: the exception's text and stack.
#[derive(Debug)]
pub struct EngineError(pub String);

/// A JavaScript engine with its own heap.
pub struct Engine {
    /// Declared before the runtime, which owns it, so that it is dropped first.
    context: Context,
    runtime: Runtime,
}

/// Native modules by name, which scripts import.
#[derive(Default)]
pub(crate) struct Modules {
    resolver: BuiltinResolver,
    loader: ModuleLoader,
}

impl Modules {
    /// Adds a module.
    #[must_use]
    pub(crate) fn with<M: ModuleDef>(self, name: &str, module: M) -> Self {
        Self { resolver: self.resolver.with_module(name), loader: self.loader.with_module(name, module) }
    }
}

pub(crate) fn failed(error: rquickjs::Error) -> EngineError {
    EngineError(error.to_string())
}

impl Engine {
    /// Creates an engine that has not run any code. `host` is its module `kitbag:host`.
    pub fn new<M: ModuleDef>(host: M) -> Result<Self, EngineError> {
        let runtime = Runtime::new().map_err(failed)?;
        Self::on(runtime, Modules::default().with("kitbag:host", host))
    }

    /// Creates an engine on a runtime, with the native modules of this crate and `modules`.
    pub(crate) fn on(runtime: Runtime, modules: Modules) -> Result<Self, EngineError> {
        let modules = modules
            .with("kitbag:compression", Compression)
            .with("kitbag:encoding", Encoding)
            .with("kitbag:rules", Rules)
            .with("kitbag:url", Url);
        #[cfg(feature = "crypto")]
        let modules = modules.with("kitbag:crypto", crate::crypto::Crypto);
        #[cfg(feature = "intl")]
        let modules = modules.with("kitbag:intl", crate::intl::Intl);
        runtime.set_loader(modules.resolver, modules.loader);
        #[cfg(target_family = "wasm")]
        runtime.set_max_stack_size(MAX_STACK_BYTES);
        let context = Context::full(&runtime).map_err(failed)?;
        Ok(Self { context, runtime })
    }

    /// Compiles a script to bytecode of this exact engine. Drops the source, but stack traces keep line numbers.
    pub fn compile(&self, name: &str, source: &str) -> Result<Vec<u8>, EngineError> {
        self.context.with(|ctx| {
            script::compile(&ctx, name, source).catch(&ctx).map_err(|error| EngineError(error.to_string()))
        })
    }

    /// Runs a module until the promise of its `default` export is settled, and returns the value as JSON.
    ///
    /// `wait` is called when no job is ready: it waits for the next external event, such as a timer, and runs
    /// its callback. It returns whether there was anything to wait for.
    pub fn evaluate(
        &self,
        name: &str,
        source: &str,
        mut wait: impl FnMut(&Ctx<'_>) -> rquickjs::Result<bool>,
    ) -> Result<String, EngineError> {
        self.context.with(|ctx| {
            let mut settle = |promise: &Promise<'_>| -> rquickjs::Result<()> {
                loop {
                    while ctx.execute_pending_job() {}
                    if promise.state() != PromiseState::Pending {
                        return Ok(());
                    }
                    if !wait(&ctx)? {
                        return Err(Exception::throw_type(
                            &ctx,
                            "the promise can never be settled: nothing is left to wait for",
                        ));
                    }
                }
            };
            let mut run = || -> rquickjs::Result<String> {
                let (module, done) = Module::declare(ctx.clone(), name, source)?.eval()?;
                settle(&done)?;
                done.finish::<()>()?;
                let exports: Object = module.namespace()?;
                let mut value: rquickjs::Value = exports.get("default")?;
                if let Some(promise) = value.as_promise() {
                    settle(promise)?;
                    value = promise.finish()?;
                }
                let json = ctx.json_stringify(value)?;
                json.map_or(Ok(String::from("undefined")), |json| json.to_string())
            };
            run().catch(&ctx).map_err(|error| EngineError(error.to_string()))
        })
    }

    /// Calls `listen` with a promise, its reason and whether it has a handler now: when a promise without a
    /// handler is rejected, and when a handler is attached to it later.
    #[cfg(target_family = "wasm")]
    pub(crate) fn on_rejection(
        &self,
        listen: impl for<'js> Fn(Ctx<'js>, Value<'js>, Value<'js>, bool) + 'static,
    ) {
        self.runtime.set_host_promise_rejection_tracker(Some(Box::new(listen)));
    }

    /// Stops scripts when `must_end`, which is called periodically, returns true.
    #[cfg(target_family = "wasm")]
    pub(crate) fn interrupt_when(&self, must_end: impl Fn() -> bool + 'static) {
        self.runtime.set_interrupt_handler(Some(Box::new(must_end)));
    }

    /// Removes the interrupt handler: during calls, the host enforces the limits.
    #[cfg(target_family = "wasm")]
    pub(crate) fn clear_interrupt(&self) {
        self.runtime.set_interrupt_handler(None);
    }

    /// Calls `setup` with the context, for example to define globals.
    pub fn with<R>(&self, setup: impl FnOnce(Ctx<'_>) -> R) -> R {
        self.context.with(setup)
    }

    /// Frees garbage in cycles, and sets the heap size at which the cycle collector runs next.
    pub fn collect_garbage(&self) {
        self.runtime.run_gc();
        let used = usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or_default();
        self.runtime.set_gc_threshold(used + GC_THRESHOLD_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use rquickjs::module::{Declarations, Exports};

    use super::*;

    /// A host module without exports.
    struct EmptyHost;

    impl ModuleDef for EmptyHost {
        fn declare(_: &Declarations<'_>) -> rquickjs::Result<()> {
            Ok(())
        }

        fn evaluate<'js>(_: &Ctx<'js>, _: &Exports<'js>) -> rquickjs::Result<()> {
            Ok(())
        }
    }

    fn evaluate(source: &str) -> Result<String, String> {
        let engine = Engine::new(EmptyHost).expect("an engine");
        engine.evaluate("test.js", source, |_| Ok(false)).map_err(|EngineError(why)| why)
    }

    #[test]
    fn promises_are_waited_for_and_one_that_nothing_can_settle_is_an_error() {
        let settled = evaluate("export default (async () => { await null; return [await 1, 'é']; })()");
        assert_eq!(settled.as_deref(), Ok(r#"[1,"é"]"#));

        let never = evaluate("export default new Promise(() => {})").expect_err("it never ends");
        assert!(never.contains("can never be settled"), "{never}");
    }

    #[test]
    fn an_error_has_its_place() {
        let thrown = evaluate("const ok = 1;\nfunction fails() { throw new TypeError('no'); }\nfails();");

        let text = thrown.expect_err("it throws");
        assert!(text.contains("no") && text.contains("at fails (test.js:2:"), "{text}");
    }

    #[test]
    fn bytecode_has_no_source_and_keeps_its_lines() {
        let engine = Engine::new(EmptyHost).expect("an engine");

        let bytecode = engine.compile("test.js", "/* a remark */ (() => () => 1)()").expect("it compiles");

        let text = String::from_utf8_lossy(&bytecode);
        assert!(text.contains("test.js") && !text.contains("a remark"));
        assert!(engine.compile("test.js", "const = 1").is_err());
    }

    #[test]
    fn other_modules_cannot_be_imported() {
        for name in ["fs", "./file.js", "kitbag:nothing", "https://a.example/a.js"] {
            let refused = evaluate(&format!("import {name:?}; export default 1;"));
            assert!(refused.is_err(), "{name}");
        }
    }
}
