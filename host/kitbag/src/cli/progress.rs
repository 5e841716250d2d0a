//! Progress of a command with several long steps.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::terminal::{note, stderr_is_terminal};

/// Interval of progress lines if standard error is no terminal. Shorter work prints none.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Progress output: a bar on a terminal, else periodic lines.
pub(super) struct StepProgress {
    step: &'static str,
    shown: Shown,
}

enum Shown {
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl StepProgress {
    pub(super) fn new() -> Self {
        let shown = if stderr_is_terminal() {
            Shown::Bar(ProgressBar::no_length())
        } else {
            Shown::Lines { last: Instant::now() }
        };
        Self { step: "", shown }
    }

    /// Shows that `done` of `total` units of a step are done; `total` is 0 if unknown.
    pub(super) fn show(&mut self, step: &'static str, done: u64, total: u64) {
        let is_new = self.step != step;
        self.step = step;
        match &mut self.shown {
            Shown::Bar(bar) => {
                if is_new {
                    let template =
                        if total == 0 { "{msg}  {pos}" } else { "{msg}  {wide_bar} {pos} of {len}  {eta}" };
                    bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
                    bar.set_message(step);
                    bar.reset();
                }
                bar.set_length(total);
                bar.set_position(done);
            }
            Shown::Lines { last } if last.elapsed() >= LINE_INTERVAL => {
                *last = Instant::now();
                if total == 0 {
                    note!("{}: {}", *step, done);
                } else {
                    note!("{}: {} of {}", *step, done, total);
                }
            }
            Shown::Lines { .. } => {}
        }
    }

    /// Hides the bar while `print` runs.
    pub(super) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(print),
            Shown::Lines { .. } => print(),
        }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

impl Drop for StepProgress {
    fn drop(&mut self) {
        self.clear();
    }
}
