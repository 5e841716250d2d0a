//! What a call waits for: timers, and requests under way.
//!
//! One loop, in [`run`]: first everything that can go on without waiting, then one wait for whatever comes first.

use std::cell::{Cell, RefCell};

use rquickjs::Ctx;
use wasip2::io::poll::{Pollable, poll};

/// What happens when its time has come.
pub(super) type Task = Box<dyn for<'js> FnOnce(&Ctx<'js>)>;

struct Waiting {
    id: u32,
    /// Dropped before the task, which holds what it belongs to.
    pollable: Pollable,
    task: Task,
}

thread_local! {
    static WAITING: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
    static LAST_ID: Cell<u32> = const { Cell::new(0) };
}

/// Returns a number that nothing else of this call has.
pub(super) fn new_id() -> u32 {
    LAST_ID.set(LAST_ID.get() + 1);
    LAST_ID.get()
}

/// Runs `task` once `pollable` is ready. Several tasks may have one id.
pub(super) fn when_ready(id: u32, pollable: Pollable, task: Task) {
    WAITING.with_borrow_mut(|waiting| waiting.push(Waiting { id, pollable, task }));
}

/// Forgets the tasks of an id.
pub(super) fn forget(id: u32) {
    let forgotten: Vec<_> =
        WAITING.with_borrow_mut(|waiting| waiting.extract_if(.., |it| it.id == id).collect());
    // Outside of the borrow: what a task holds may be anything.
    drop(forgotten);
}

/// Runs until `is_done` says so. Returns whether it ever did: it does not where nothing is left to wait for.
pub(super) fn run(ctx: &Ctx<'_>, is_done: impl Fn() -> bool) -> bool {
    loop {
        while ctx.execute_pending_job() {}
        if is_done() {
            return true;
        }
        let due = wait();
        if due.is_empty() {
            return false;
        }
        for task in due {
            task(ctx);
            while ctx.execute_pending_job() {}
        }
    }
}

/// Waits for the first that is ready, and returns the tasks of all that are; none where nothing is waited for.
fn wait() -> Vec<Task> {
    WAITING.with_borrow_mut(|waiting| {
        if waiting.is_empty() {
            return Vec::new();
        }
        let pollables: Vec<_> = waiting.iter().map(|it| &it.pollable).collect();
        let ready = poll(&pollables);
        let mut index = 0;
        let is_ready = |_: &mut Waiting| {
            index += 1;
            ready.binary_search(&(index - 1)).is_ok()
        };
        waiting.extract_if(.., is_ready).map(|it| it.task).collect()
    })
}
