//! What the builder calls while it makes a component: [`allocate`] and [`start`]. Neither is in the component.

#![expect(unsafe_code, reason = "memory is handed over by its address")]

use std::cell::RefCell;

use rquickjs::{CatchResultExt, Ctx, Function, Module, Object, Persistent};

use super::{host, moment};
use crate::runtime::{Engine, EngineError};

/// The bundle's name in stack traces.
const BUNDLE: &str = "toolkit.js";

/// The toolkit, once it is started.
struct Toolkit {
    /// Before the engine, which it belongs to.
    call: Persistent<Function<'static>>,
    engine: Engine,
    /// JSON.
    manifest: String,
}

thread_local! {
    static TOOLKIT: RefCell<Option<Toolkit>> = const { RefCell::new(None) };
    static FAILURE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Hands the function that makes calls, and the manifest, to `action`.
pub(super) fn with_toolkit<R>(
    action: impl for<'js> FnOnce(&Ctx<'js>, Function<'js>, &str) -> rquickjs::Result<R>,
) -> rquickjs::Result<R> {
    TOOLKIT.with_borrow(|toolkit| {
        let Toolkit { call, engine, manifest } =
            toolkit.as_ref().expect("the builder has started the toolkit");
        engine.with(|ctx| action(&ctx, call.clone().restore(&ctx)?, manifest))
    })
}

/// Returns the address of memory for so many bytes.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Runs a bundle, which exports `call`, and keeps it with its manifest. Returns where the text of a failure is: the
/// address in the upper half, its length in the lower one; 0 where there is none.
///
/// # Safety
/// Both memories must come from `allocate`, and have these lengths.
#[unsafe(no_mangle)]
unsafe extern "C" fn start(
    bundle: *mut u8,
    bundle_length: usize,
    manifest: *mut u8,
    manifest_length: usize,
) -> u64 {
    // SAFETY: the caller keeps the contract of this function.
    let [bundle, manifest] = unsafe { [taken(bundle, bundle_length), taken(manifest, manifest_length)] };
    match started(&bundle, manifest) {
        Ok(toolkit) => {
            TOOLKIT.set(Some(toolkit));
            moment::end_of_making();
            0
        }
        Err(EngineError(why)) => FAILURE.with_borrow_mut(|kept| {
            *kept = why;
            ((kept.as_ptr() as usize as u64) << 32) | kept.len() as u64
        }),
    }
}

/// Takes memory of [`allocate`] as a text.
///
/// # Safety
/// As for [`start`].
unsafe fn taken(pointer: *mut u8, length: usize) -> String {
    // SAFETY: the caller keeps the contract of this function.
    let bytes = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) };
    String::from_utf8_lossy(&bytes).into_owned()
}

fn started(bundle: &str, manifest: String) -> Result<Toolkit, EngineError> {
    let engine = Engine::new(super::Host)?;
    let call = engine.with(|ctx| {
        let _making = moment::making(&ctx);
        let run = || -> rquickjs::Result<_> {
            host::define_random(&ctx)?;
            let (module, done) = Module::declare(ctx.clone(), BUNDLE, bundle)?.eval()?;
            done.finish::<()>()?;
            let exports: Object = module.namespace()?;
            let call: Function = exports.get("call")?;
            Ok(Persistent::save(&ctx, call))
        };
        run().catch(&ctx).map_err(|error| EngineError(error.to_string()))
    });
    if let Some(asked) = moment::asked_too_early() {
        return Err(EngineError(asked));
    }
    let call = call?;
    engine.collect_garbage();
    Ok(Toolkit { call, engine, manifest })
}
