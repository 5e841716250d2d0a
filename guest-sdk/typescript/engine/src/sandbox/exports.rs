//! Exports that the builder calls to make a component: [`allocate`], [`compile`], [`reserve`], [`start`]. The
//! component does not have them.

#![expect(unsafe_code, reason = "memory is passed by address")]

use std::cell::RefCell;

use rquickjs::{
    CatchResultExt, CaughtError, Ctx, Error, Function, Object, Persistent, Promise, Runtime, Value,
};

use super::allocator::{self, Input, SnapshotAllocator, Survivors};
use super::{capabilities, host, http, moment, rejections};
use crate::runtime::{Engine, EngineError, Modules, failed};
use crate::script;

/// The bundle's name in stack traces.
const BUNDLE_NAME: &str = "toolkit.js";

/// A toolkit that has been started.
struct Toolkit {
    /// Declared before the engine, which owns it, so that it is dropped first.
    call: Persistent<Function<'static>>,
    engine: Engine,
    /// The manifest as JSON.
    manifest: String,
}

thread_local! {
    static TOOLKIT: RefCell<Option<Toolkit>> = const { RefCell::new(None) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `action` with the toolkit's function for calls.
pub(super) fn with_toolkit<R>(
    action: impl for<'js> FnOnce(&Ctx<'js>, Function<'js>) -> rquickjs::Result<R>,
) -> rquickjs::Result<R> {
    TOOLKIT.with_borrow(|toolkit| {
        let Toolkit { call, engine, .. } = toolkit.as_ref().expect("the builder has started the toolkit");
        engine.with(|ctx| action(&ctx, call.clone().restore(&ctx)?))
    })
}

/// Returns the manifest as JSON, which the builder has checked.
pub(super) fn manifest() -> String {
    TOOLKIT.with_borrow(|toolkit| toolkit.as_ref().map(|it| it.manifest.clone()).unwrap_or_default())
}

/// Allocates `length` bytes of memory and returns the address.
#[unsafe(no_mangle)]
extern "C" fn allocate(length: usize) -> *mut u8 {
    Input::allocate(length)
}

/// Grows the memory for survivors of `bytes` bytes. Must be the first call to the instance that becomes the
/// snapshot.
#[unsafe(no_mangle)]
extern "C" fn reserve(bytes: usize) {
    allocator::reserve(bytes);
}

/// Compiles a bundle to bytecode for [`start`]. Returns the location of the answer: its
/// address in the upper 32 bits, its length in the lower 32 bits. The first byte of the answer is 0, followed
/// by the bytecode, or 1, followed by an error message.
///
/// The instance should be discarded afterwards: its memory is full of leftovers of compiling.
///
/// # Safety
/// The memory must come from `allocate` with the same length.
#[unsafe(no_mangle)]
unsafe extern "C" fn compile(bundle: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller upholds the contract of this function.
    let bundle = unsafe { Input::take(bundle, length) };
    log_panics();
    let bytecode =
        new_engine().and_then(|engine| engine.compile(BUNDLE_NAME, &String::from_utf8_lossy(&bundle)));
    store_answer(bytecode)
}

/// Runs a compiled bundle, a script whose value is a promise of the function for calls. Stores that function
/// and the manifest. Answers like [`compile`].
///
/// The builder starts a bundle twice, in two instances. The first start gets no survivors and answers with them
/// ([`Survivors`]), or with an empty answer if they cannot be determined. The second start gets them and
/// answers with the length of the snapshot, a little-endian `u32`, or with an empty answer if it differed
/// from the first. After an empty answer, the whole memory of the first instance is the snapshot.
///
/// # Safety
/// All memory blocks must come from `allocate` with the same lengths. The bytecode must come from `compile`.
#[unsafe(no_mangle)]
unsafe extern "C" fn start(
    bytecode: *mut u8,
    bytecode_length: usize,
    manifest: *mut u8,
    manifest_length: usize,
    survivors: *mut u8,
    survivors_length: usize,
) -> u64 {
    // SAFETY: the caller upholds the contract of this function.
    let [bytecode, manifest, survivors] = unsafe {
        [
            Input::take(bytecode, bytecode_length),
            Input::take(manifest, manifest_length),
            Input::take(survivors, survivors_length),
        ]
    };
    let manifest = String::from_utf8_lossy(&manifest).into_owned();
    let survivors = Survivors::decode(survivors);
    let is_first = survivors.is_none();
    survivors.map_or_else(allocator::begin_first, allocator::begin_second);
    store_answer(start_toolkit(bytecode, manifest).map(|toolkit| {
        TOOLKIT.set(Some(toolkit));
        moment::finish_build();
        let answer = if is_first {
            allocator::end_first().map(Survivors::into_bytes)
        } else {
            allocator::end_second().map(|length| length.to_le_bytes().to_vec())
        };
        answer.unwrap_or_default()
    }))
}

/// Stores an answer for the builder, and returns its location.
fn store_answer(result: Result<Vec<u8>, EngineError>) -> u64 {
    let answer = match result {
        Ok(bytes) => [&[0][..], &bytes].concat(),
        Err(EngineError(why)) => [&[1][..], why.as_bytes()].concat(),
    };
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        ((kept.as_ptr() as usize as u64) << 32) | kept.len() as u64
    })
}

/// Creates an engine whose heap can become a snapshot, with the capabilities of a toolkit.
fn new_engine() -> Result<Engine, EngineError> {
    let runtime = Runtime::new_with_alloc(SnapshotAllocator).map_err(failed)?;
    let modules =
        Modules::default().with("kitbag:host", host::Host).with("kitbag:toolkit", capabilities::Capabilities);
    Engine::on(runtime, modules)
}

fn start_toolkit(bytecode: Input, manifest: String) -> Result<Toolkit, EngineError> {
    log_panics();
    let engine = new_engine()?;
    engine.interrupt_when(moment::has_violation);
    rejections::watch(&engine);
    let call = engine.with(|ctx| {
        let _top_level = moment::enter_top_level(&ctx);
        let run = || -> rquickjs::Result<_> {
            host::define_random(&ctx)?;
            http::grant(has_egress(&ctx, &manifest)?);
            // SAFETY: the builder got the bytecode from `compile`.
            let promise: Promise = unsafe { script::run(&ctx, &bytecode)? }.get()?;
            drop(bytecode);
            let call: Function = promise.finish()?;
            // Pending jobs that the top level has not awaited run before the snapshot too.
            while ctx.execute_pending_job() {}
            Ok(Persistent::save(&ctx, call))
        };
        run().catch(&ctx).map_err(|error| EngineError(failure(&error)))
    });
    if let Some(violation) = moment::take_violation() {
        return Err(EngineError(violation));
    }
    let call = call?;
    rejections::log_unhandled();
    engine.clear_interrupt();
    engine.collect_garbage();
    Ok(Toolkit { call, engine, manifest })
}

fn failure(error: &CaughtError<'_>) -> String {
    match error {
        CaughtError::Error(Error::WouldBlock) => "its top level awaits what never comes".to_owned(),
        other => other.to_string(),
    }
}

fn has_egress(ctx: &Ctx<'_>, manifest: &str) -> rquickjs::Result<bool> {
    let manifest: Object = ctx.json_parse(manifest)?.get()?;
    Ok(!manifest.get::<_, Vec<Value>>("egress")?.is_empty())
}

/// Installs a panic hook that logs the message: a panic ends in a trap, which has none.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| capabilities::write_log(&format!("the engine failed: {panic}"))));
}
