//! What a call waits for: timers, and requests under way.
//!
//! One loop, in [`run`]: first everything that can go on without waiting, then one wait for whatever comes first.

use std::cell::{Cell, RefCell};

use rquickjs::Ctx;
use wasip2::clocks::monotonic_clock::{self, subscribe_instant};
use wasip2::io::poll::{Pollable, poll};

/// What happens when its time has come.
pub(super) type Task = Box<dyn for<'js> FnOnce(&Ctx<'js>)>;

struct Waiting {
    /// Nothing else that waits has it.
    key: u32,
    /// Whom it belongs to; several may have one.
    id: u32,
    until: Until,
    task: Task,
}

/// Dropped before the task, which holds what a pollable belongs to.
enum Until {
    /// By the monotonic clock, in nanoseconds.
    Time(u64),
    Ready(Pollable),
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
    add(id, Until::Ready(pollable), task);
}

/// Runs `task` after so many nanoseconds. Of two that are due at the same time the older runs first.
pub(super) fn after(id: u32, nanoseconds: u64, task: Task) {
    add(id, Until::Time(monotonic_clock::now().saturating_add(nanoseconds)), task);
}

fn add(id: u32, until: Until, task: Task) {
    let key = new_id();
    WAITING.with_borrow_mut(|waiting| waiting.push(Waiting { key, id, until, task }));
}

/// Forgets the tasks of an id.
pub(super) fn forget(id: u32) {
    forget_those(|it| it.id == id);
}

/// Forgets a timer. Scripts clear numbers that they made up, too, and those may be a request's.
pub(super) fn forget_timer(id: u32) {
    forget_those(|it| it.id == id && it.time().is_some());
}

fn forget_those(which: impl Fn(&Waiting) -> bool) {
    let forgotten: Vec<_> =
        WAITING.with_borrow_mut(|waiting| waiting.extract_if(.., |it| which(it)).collect());
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
        let Some(ready) = wait() else { return false };
        for key in ready {
            // One that ran before may have ended the wait for this one.
            if let Some(task) = take(key) {
                task(ctx);
                while ctx.execute_pending_job() {}
            }
        }
    }
}

/// Waits for the first, and returns the keys of all whose time has come: timers by their times, then the others.
/// Nothing where nothing is waited for.
fn wait() -> Option<Vec<u32>> {
    WAITING.with_borrow(|waiting| {
        let mut timers: Vec<_> = waiting.iter().filter_map(|it| Some((it.time()?, it.key))).collect();
        timers.sort_unstable();
        let next = timers.first().map(|(due, _)| subscribe_instant(*due));
        let (pollables, keys): (Vec<_>, Vec<_>) =
            waiting.iter().filter_map(|it| Some((it.pollable()?, it.key))).unzip();
        let all: Vec<_> = pollables.into_iter().chain(&next).collect();
        if all.is_empty() {
            return None;
        }

        let ready = poll(&all);
        let now = monotonic_clock::now();
        let due = timers.into_iter().take_while(|(due, _)| *due <= now).map(|(_, key)| key);
        // The one beyond the keys is the timers'.
        let others = ready.into_iter().filter_map(|index| keys.get(index as usize).copied());
        Some(due.chain(others).collect())
    })
}

fn take(key: u32) -> Option<Task> {
    WAITING.with_borrow_mut(|waiting| {
        let index = waiting.iter().position(|it| it.key == key)?;
        Some(waiting.remove(index).task)
    })
}

impl Waiting {
    fn time(&self) -> Option<u64> {
        match self.until {
            Until::Time(due) => Some(due),
            Until::Ready(_) => None,
        }
    }

    fn pollable(&self) -> Option<&Pollable> {
        match &self.until {
            Until::Time(_) => None,
            Until::Ready(pollable) => Some(pollable),
        }
    }
}
