//! The module `kitbag:host`: time, randomness, timers, requests, and printing to the log.

use rquickjs::function::Func;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{ArrayBuffer, Ctx, Error, Exception, Function, Object, Persistent, Result};
use wasip2::clocks::monotonic_clock;
use wasip2::random::random::{get_random_bytes, get_random_u64};

use super::event_loop::{after, cancel_timer, new_id};
use super::moment::require_call;
use super::{capabilities, http, rejections};
use crate::values::Text;

const NANOSECONDS_PER_MILLISECOND: f64 = 1e6;
/// Maximum time of a timer, in milliseconds: the largest 31-bit number, as in browsers.
const MAX_TIMER_MS: f64 = 2_147_483_647.0;
/// Maximum random bytes per request.
const MAX_RANDOM_BYTES: u32 = 1 << 20;

/// The module `kitbag:host`.
pub(super) struct Host;

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

    fn evaluate<'js>(_ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("monotonicNow", Func::from(monotonic_now))?;
        exports.export("setTimer", Func::from(set_timer))?;
        exports.export("clearTimer", Func::from(cancel_timer))?;
        exports.export("randomBytes", Func::from(random_bytes))?;
        exports.export("sendRequest", Func::from(http::send_request))?;
        exports.export("abortRequest", Func::from(http::abort_request))?;
        exports.export("readBody", Func::from(http::read_body))?;
        exports.export("print", Func::from(print))?;
        Ok(())
    }
}

/// Replaces `Math.random` by one whose numbers differ from call to call: the engine's own is seeded once, and
/// that seed would be in the snapshot.
pub(super) fn define_random(ctx: &Ctx<'_>) -> Result<()> {
    let math: Object = ctx.globals().get("Math")?;
    math.set("random", Func::from(random))
}

/// Logs an exception that the toolkit has not caught, and continues.
pub(super) fn report(ctx: &Ctx<'_>, result: Result<()>) {
    match result {
        Ok(()) => {}
        Err(Error::Exception) => {
            capabilities::write_log(&format!("Uncaught {}", rejections::text(ctx, ctx.catch())))
        }
        Err(error) => capabilities::write_log(&format!("Uncaught {error}")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a call are far below 2^53")]
fn monotonic_now(ctx: Ctx<'_>) -> Result<f64> {
    require_call(&ctx, "asks for the time")?;
    Ok(monotonic_clock::now() as f64 / NANOSECONDS_PER_MILLISECOND)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the time is clamped")]
fn set_timer<'js>(ctx: Ctx<'js>, callback: Function<'js>, milliseconds: f64) -> Result<u32> {
    require_call(&ctx, "sets a timer")?;
    let milliseconds = if milliseconds > 0.0 { milliseconds.min(MAX_TIMER_MS) } else { 0.0 };
    let callback = Persistent::save(&ctx, callback);
    let id = new_id();
    let run = move |ctx: &Ctx<'_>| report(ctx, callback.restore(ctx).and_then(|callback| callback.call(())));
    after(id, (milliseconds * NANOSECONDS_PER_MILLISECOND) as u64, Box::new(run));
    Ok(id)
}

fn random_bytes<'js>(ctx: Ctx<'js>, length: u32) -> Result<ArrayBuffer<'js>> {
    require_call(&ctx, "asks for randomness")?;
    if length > MAX_RANDOM_BYTES {
        return Err(Exception::throw_range(&ctx, "too many random bytes at once"));
    }
    ArrayBuffer::new(ctx, get_random_bytes(u64::from(length)))
}

/// Returns a random number of 53 bits, at least 0 and less than 1.
#[expect(clippy::cast_precision_loss, reason = "a number holds 53 bits")]
fn random(ctx: Ctx<'_>) -> Result<f64> {
    require_call(&ctx, "asks for randomness")?;
    Ok((get_random_u64() >> 11) as f64 / (1_u64 << 53) as f64)
}

fn print(text: Text) {
    capabilities::write_log(&text.0);
}
