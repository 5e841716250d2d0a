//! Promises that were rejected and that nobody listens to. What they say would be lost.

use std::cell::RefCell;

use rquickjs::{Coerced, Ctx, Persistent, Result, Value};

use super::capabilities::write_log;
use crate::runtime::Engine;

/// Most of them that are told; a loop may make any number.
const MAX_TOLD: usize = 20;

/// A rejected promise, and why it was.
struct Rejected {
    promise: Persistent<Value<'static>>,
    reason: String,
}

thread_local! {
    static REJECTED: RefCell<Vec<Rejected>> = const { RefCell::new(Vec::new()) };
}

/// Remembers promises from when they are rejected until somebody listens.
pub(super) fn watch(engine: &Engine) {
    engine.on_rejection(|ctx, promise, reason, is_handled| {
        let promise = Persistent::save(&ctx, promise);
        // Dropped outside of the borrow, like all that scripts made.
        let forgotten = REJECTED.with_borrow_mut(|rejected| {
            if !is_handled && rejected.len() < MAX_TOLD {
                rejected.push(Rejected { promise, reason: text(&ctx, reason) });
                return None;
            }
            let index = rejected.iter().position(|it| it.promise == promise)?;
            Some(rejected.swap_remove(index))
        });
        drop(forgotten);
    });
}

/// Tells the log of those that nobody listens to; returns how many.
pub(super) fn tell() -> usize {
    let rejected = REJECTED.take();
    for Rejected { reason, .. } in &rejected {
        write_log(&format!("a promise was rejected, and nobody awaits it: {reason}"));
    }
    rejected.len()
}

/// What was thrown, as text: with its stack where it has one.
pub(super) fn text<'js>(ctx: &Ctx<'js>, thrown: Value<'js>) -> String {
    let stack = thrown.as_exception().and_then(rquickjs::Exception::stack);
    let text: Result<Coerced<String>> = rquickjs::FromJs::from_js(ctx, thrown);
    let text = text.map_or_else(|_| "something that cannot be shown".to_owned(), |Coerced(text)| text);
    match stack {
        Some(stack) => format!("{text}\n{}", stack.trim_end()),
        None => text,
    }
}
