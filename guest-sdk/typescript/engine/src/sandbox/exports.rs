//! What the builder calls while it makes a component: [`allocate`], [`compile`], [`reserve`], [`start`]. None is in the
//! component.

#![expect(unsafe_code, reason = "memory is handed over by its address")]

use std::cell::RefCell;

use rquickjs::{CatchResultExt, CaughtError, Ctx, Error, Function, Module, Object, Persistent, Value};

use super::allocator::{self, Handed, Survivors};
use super::{capabilities, host, http, moment, rejections};
use crate::runtime::{Engine, EngineError};

/// The bundle's name in stack traces.
const BUNDLE: &str = "toolkit.js";
/// Most memory that a toolkit's top level may take; a call, which begins with it, has 64 MiB by default.
const MAX_START_BYTES: usize = 48 << 20;

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
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
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
    allocator::hand_over(length)
}

/// Makes room for survivors of so many bytes. It is the first thing that the instance does whose memory is to be the
/// snapshot.
#[unsafe(no_mangle)]
extern "C" fn reserve(bytes: usize) {
    allocator::reserve(bytes);
}

/// Compiles a bundle, a module, to what [`start`] takes. Returns where the answer is: the address in the upper half, its
/// length in the lower one. Its first byte is 0, and the bytecode follows; or 1, and the text of a failure.
///
/// An engine that compiles is thrown away: its memory is full of what compiling left.
///
/// # Safety
/// The memory must come from `allocate`, and have this length.
#[unsafe(no_mangle)]
unsafe extern "C" fn compile(bundle: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller keeps the contract of this function.
    let bundle = unsafe { Handed::take(bundle, length) };
    tell_panics();
    let bytecode =
        Engine::new(host::Host).and_then(|engine| engine.compile(BUNDLE, &String::from_utf8_lossy(&bundle)));
    answered(bytecode)
}

/// Runs a compiled bundle, which exports `call`, and keeps it with its manifest. Answers as [`compile`] does.
///
/// A bundle is started twice, by two instances. The first one is given no survivors, and answers which there are
/// (`Survivors::to_bytes`), or nothing where it cannot tell. The second one is given those, and answers where the snapshot
/// ends, in four bytes, little-endian; or nothing where they were others this time. A snapshot is the whole memory of the
/// first instance then.
///
/// # Safety
/// All memories must come from `allocate`, and have these lengths. The bytecode must come from `compile`.
#[unsafe(no_mangle)]
unsafe extern "C" fn start(
    bytecode: *mut u8,
    bytecode_length: usize,
    manifest: *mut u8,
    manifest_length: usize,
    survivors: *mut u8,
    survivors_length: usize,
) -> u64 {
    // SAFETY: the caller keeps the contract of this function.
    let [bytecode, manifest, survivors] = unsafe {
        [
            Handed::take(bytecode, bytecode_length),
            Handed::take(manifest, manifest_length),
            Handed::take(survivors, survivors_length),
        ]
    };
    let manifest = String::from_utf8_lossy(&manifest).into_owned();
    let known = Survivors::from_bytes(&survivors);
    drop(survivors);
    let is_first = known.is_none();
    known.map_or_else(allocator::begin_first, allocator::begin_second);
    answered(started(bytecode, manifest).map(|toolkit| {
        let learned = if is_first {
            allocator::end_first().map(|survivors| survivors.to_bytes())
        } else {
            allocator::end_second().and_then(|end| Some(u32::try_from(end).ok()?.to_le_bytes().to_vec()))
        };
        TOOLKIT.set(Some(toolkit));
        moment::end_of_making();
        learned.unwrap_or_default()
    }))
}

fn answered(result: Result<Vec<u8>, EngineError>) -> u64 {
    let answer = match result {
        Ok(bytes) => [&[0][..], &bytes].concat(),
        Err(EngineError(why)) => [&[1][..], why.as_bytes()].concat(),
    };
    ANSWER.with_borrow_mut(|kept| {
        *kept = answer;
        ((kept.as_ptr() as usize as u64) << 32) | kept.len() as u64
    })
}

fn started(bytecode: Handed, manifest: String) -> Result<Toolkit, EngineError> {
    tell_panics();
    let engine = Engine::new(super::Host)?;
    engine.bound(moment::is_over, MAX_START_BYTES);
    rejections::watch(&engine);
    let call = engine.with(|ctx| {
        let _making = moment::making(&ctx);
        let mut run = || -> rquickjs::Result<_> {
            host::define_random(&ctx)?;
            http::grant(has_egress(&ctx, &manifest)?);
            // SAFETY: the builder has it from `compile`.
            let module = unsafe { Module::load(ctx.clone(), &bytecode)? };
            drop(bytecode);
            let (module, done) = module.eval()?;
            done.finish::<()>()?;
            // What the top level did not wait for belongs to it all the same.
            while ctx.execute_pending_job() {}
            let exports: Object = module.namespace()?;
            let call: Function = exports.get("call")?;
            Ok(Persistent::save(&ctx, call))
        };
        run().catch(&ctx).map_err(|error| EngineError(failure(&error)))
    });
    if let Some(asked) = moment::asked_too_early() {
        return Err(EngineError(asked));
    }
    let call = call?;
    rejections::tell();
    engine.unbound();
    engine.settle();
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

/// A panic ends in a trap, which says nothing.
fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| capabilities::write_log(&format!("the engine failed: {panic}"))));
}
