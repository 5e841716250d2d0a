//! Logging of unhandled promise rejections, whose reasons would otherwise be lost.

use std::cell::RefCell;

use rquickjs::{Coerced, Ctx, Persistent, Result, Value};

use super::capabilities::write_log;
use crate::runtime::Engine;

/// Maximum number of rejections that are logged; a loop may create any number.
const MAX_LOGGED: usize = 20;

/// Rejected promise and its reason.
struct Rejected {
    promise: Persistent<Value<'static>>,
    reason: String,
}

thread_local! {
    static REJECTED: RefCell<Vec<Rejected>> = const { RefCell::new(Vec::new()) };
}

/// Collects promises that are rejected, and removes them when a handler is attached.
pub(super) fn watch(engine: &Engine) {
    engine.on_rejection(|ctx, promise, reason, is_handled| {
        let promise = Persistent::save(&ctx, promise);
        // Dropped outside of the borrow, like all values of scripts.
        let removed = REJECTED.with_borrow_mut(|rejected| {
            if !is_handled && rejected.len() < MAX_LOGGED {
                rejected.push(Rejected { promise, reason: text(&ctx, reason) });
                return None;
            }
            let index = rejected.iter().position(|it| it.promise == promise)?;
            Some(rejected.swap_remove(index))
        });
        drop(removed);
    });
}

/// Logs the rejections without a handler, and returns their number.
pub(super) fn log_unhandled() -> usize {
    let rejected = REJECTED.take();
    for Rejected { reason, .. } in &rejected {
        write_log(&format!("a promise was rejected, and nobody awaits it: {reason}"));
    }
    rejected.len()
}

/// Returns a thrown value as text, with its stack if it has one.
pub(super) fn text<'js>(ctx: &Ctx<'js>, thrown: Value<'js>) -> String {
    let stack = thrown.as_exception().and_then(rquickjs::Exception::stack);
    let text: Result<Coerced<String>> = rquickjs::FromJs::from_js(ctx, thrown);
    let text = text.map_or_else(|_| "something that cannot be shown".to_owned(), |Coerced(text)| text);
    match stack {
        Some(stack) => format!("{text}\n{}", stack.trim_end()),
        None => text,
    }
}
