//! The module `kitbag:host`, implemented natively without a sandbox.

#![allow(clippy::needless_pass_by_value, reason = "functions that JavaScript calls own their arguments")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Persistent, Result, Value};

/// The module `kitbag:host`, with one set of timers per thread.
pub(crate) struct Host;

impl ModuleDef for Host {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in [
            "monotonicNow",
            "setTimer",
            "clearTimer",
            "randomBytes",
            "sendRequest",
            "abortRequest",
            "readBody",
            "print",
        ] {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("monotonicNow", Function::new(ctx.clone(), monotonic_now)?)?;
        exports.export("setTimer", Function::new(ctx.clone(), set_timer)?)?;
        exports.export("clearTimer", Function::new(ctx.clone(), clear_timer)?)?;
        exports.export("randomBytes", Function::new(ctx.clone(), random_bytes)?)?;
        exports.export("sendRequest", Function::new(ctx.clone(), send_request)?)?;
        exports.export("abortRequest", Function::new(ctx.clone(), clear_timer)?)?;
        exports.export("readBody", Function::new(ctx.clone(), |_id: u32, _done: Function<'_>| {})?)?;
        exports.export("print", Function::new(ctx.clone(), print)?)?;
        Ok(())
    }
}

/// Waits for the next timer and calls its callback; returns `false` if there is no timer.
pub(crate) fn wait(ctx: &Ctx<'_>) -> Result<bool> {
    let next = TIMERS.with_borrow_mut(|timers| timers.queue.pop_first());
    let Some(((due, _), callback)) = next else {
        return Ok(false);
    };
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
    callback.restore(ctx)?.call::<_, ()>(())?;
    Ok(true)
}

/// Drops all timers. Must be called before the engine, which owns their callbacks, is dropped.
pub(crate) fn forget_timers() {
    TIMERS.take();
}

pub(crate) fn print(text: String) {
    eprintln!("{text}");
}

#[derive(Default)]
struct Timers {
    last_id: u32,
    /// Callbacks by due time and id.
    queue: BTreeMap<(Instant, u32), Persistent<Function<'static>>>,
}

thread_local! {
    static TIMERS: RefCell<Timers> = RefCell::default();
    static START: Instant = Instant::now();
}

fn monotonic_now() -> f64 {
    START.with(Instant::elapsed).as_secs_f64() * 1000.0
}

fn set_timer<'js>(ctx: Ctx<'js>, callback: Function<'js>, milliseconds: f64) -> u32 {
    let due = Instant::now() + Duration::from_secs_f64(milliseconds.clamp(0.0, f64::from(i32::MAX)) / 1000.0);
    TIMERS.with_borrow_mut(|timers| {
        timers.last_id += 1;
        timers.queue.insert((due, timers.last_id), Persistent::save(&ctx, callback));
        timers.last_id
    })
}

fn clear_timer(id: u32) {
    TIMERS.with_borrow_mut(|timers| timers.queue.retain(|(_, other), _| *other != id));
}

fn random_bytes(ctx: Ctx<'_>, length: usize) -> Result<ArrayBuffer<'_>> {
    let mut bytes = vec![0; length];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| Exception::throw_type(&ctx, &error.to_string()))?;
    ArrayBuffer::new(ctx, bytes)
}

/// There is no network: calls `done` with an error, asynchronously.
fn send_request<'js>(
    ctx: Ctx<'js>,
    _method: String,
    _url: String,
    _headers: Value<'js>,
    _body: Value<'js>,
    done: Function<'js>,
) -> Result<u32> {
    let answer = move || done.call::<_, ()>(("network error: this machine has no network",));
    Ok(set_timer(ctx.clone(), Function::new(ctx, answer)?, 0.0))
}
