//! Event loop of a call: timers, and requests in flight.
//!
//! The loop is in [`run`]: it runs everything that is ready, then waits once for the first event.

use std::cell::{Cell, RefCell};

use rquickjs::Ctx;
use wasip2::clocks::monotonic_clock::{self, subscribe_instant};
use wasip2::io::poll::{Pollable, poll};

/// Function that runs when its timer is due or its pollable is ready.
pub(super) type Task = Box<dyn for<'js> FnOnce(&Ctx<'js>)>;

struct PendingTask {
    /// Key, unique among all pending tasks.
    key: u32,
    /// Id of the task's timer or request; several tasks may have the same id.
    id: u32,
    until: Until,
    task: Task,
}

/// Event that a task waits for. Declared before the task, so that it is dropped first: the task owns the
/// pollable's parent.
enum Until {
    /// Due time on the monotonic clock, in nanoseconds.
    Time(u64),
    Ready(Pollable),
}

thread_local! {
    static PENDING_TASKS: RefCell<Vec<PendingTask>> = const { RefCell::new(Vec::new()) };
    static LAST_ID: Cell<u32> = const { Cell::new(0) };
}

/// Returns a number that is unique within this call.
pub(super) fn new_id() -> u32 {
    LAST_ID.set(LAST_ID.get() + 1);
    LAST_ID.get()
}

/// Runs `task` once `pollable` is ready. Several tasks may have one id.
pub(super) fn when_ready(id: u32, pollable: Pollable, task: Task) {
    add(id, Until::Ready(pollable), task);
}

/// Runs `task` after the given time. Of two that are due at the same time, the older one runs first.
pub(super) fn after(id: u32, nanoseconds: u64, task: Task) {
    add(id, Until::Time(monotonic_clock::now().saturating_add(nanoseconds)), task);
}

fn add(id: u32, until: Until, task: Task) {
    let key = new_id();
    PENDING_TASKS.with_borrow_mut(|waiting| waiting.push(PendingTask { key, id, until, task }));
}

/// Cancels the tasks of an id.
pub(super) fn cancel(id: u32) {
    cancel_where(|it| it.id == id);
}

/// Cancels a timer; does nothing for the id of a request, because scripts may pass any number.
pub(super) fn cancel_timer(id: u32) {
    cancel_where(|it| it.id == id && it.time().is_some());
}

fn cancel_where(which: impl Fn(&PendingTask) -> bool) {
    let cancelled: Vec<_> =
        PENDING_TASKS.with_borrow_mut(|waiting| waiting.extract_if(.., |it| which(it)).collect());
    // Dropped outside of the borrow, because dropping a task may run arbitrary code.
    drop(cancelled);
}

/// Runs until `is_done` returns `true`. Returns `false` if there is nothing left to wait for before that.
pub(super) fn run(ctx: &Ctx<'_>, is_done: impl Fn() -> bool) -> bool {
    loop {
        while ctx.execute_pending_job() {}
        if is_done() {
            return true;
        }
        let Some(ready) = wait() else { return false };
        for key in ready {
            // An earlier task may have cancelled this one.
            if let Some(task) = take(key) {
                task(ctx);
                while ctx.execute_pending_job() {}
            }
        }
    }
}

/// Waits for the first event, and returns the keys of all tasks that are due or ready: timers in the order of
/// their times, then the others. `None` if there are no pending tasks.
fn wait() -> Option<Vec<u32>> {
    PENDING_TASKS.with_borrow(|waiting| {
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
        // The index beyond the keys is that of the timers.
        let others = ready.into_iter().filter_map(|index| keys.get(index as usize).copied());
        Some(due.chain(others).collect())
    })
}

fn take(key: u32) -> Option<Task> {
    PENDING_TASKS.with_borrow_mut(|waiting| {
        let index = waiting.iter().position(|it| it.key == key)?;
        Some(waiting.remove(index).task)
    })
}

impl PendingTask {
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
