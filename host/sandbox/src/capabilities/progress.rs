//! `kitbag:toolkit/progress`: progress of a long call. Always granted.
//!
//! Reports are dropped if the client did not ask for them, if they come too fast, if the value does not grow,
//! or if the client reads slowly. The guest never waits.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use wasmtime::component::{HasData, Linker};

use super::CallContext;
use crate::contract::interfaces::progress;

/// A progress report of a guest, in the guest's own unit.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressReport {
    /// Current value, larger than in the previous report.
    pub progress: f64,
    /// Final value, if known.
    pub total: Option<f64>,
    /// Description of the current step, at most [`MAX_MESSAGE_BYTES`] bytes.
    pub message: Option<String>,
}

/// Channel that receives progress reports.
pub type ProgressListener = mpsc::Sender<ProgressReport>;

/// Maximum length of a message, in bytes; a longer one is cut. Clients get less of it, after redaction: a part
/// of a secret before a cut would not be found.
pub const MAX_MESSAGE_BYTES: usize = 16 << 10;

/// Minimum time between two reports; a report that comes sooner is dropped.
const MIN_INTERVAL: Duration = Duration::from_millis(25);

/// The progress capability of one invocation.
#[derive(Debug, Default)]
pub struct Progress {
    listener: Option<ProgressListener>,
    last: Option<(Instant, f64)>,
}

impl Progress {
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        Self { listener: call.progress.cloned(), last: None }
    }

    fn accepts(&self, now: Instant, progress: f64) -> bool {
        let grows = |(at, before)| now.duration_since(at) >= MIN_INTERVAL && progress > before;
        progress.is_finite() && self.last.is_none_or(grows)
    }
}

impl progress::Host for Progress {
    fn report(&mut self, progress: f64, total: Option<f64>, message: Option<String>) -> wasmtime::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let now = Instant::now();
        if !self.accepts(now, progress) {
            return Ok(());
        }
        let total = total.filter(|total| total.is_finite());
        let report = ProgressReport { progress, total, message: message.map(cut) };
        if listener.try_send(report).is_ok() {
            self.last = Some((now, progress));
        }
        Ok(())
    }
}

fn cut(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
    message
}

/// Links the capability; `progress` finds the invocation's progress in the store's state.
pub fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    progress: fn(&mut T) -> &mut Progress,
) -> wasmtime::Result<()> {
    struct HasProgress;
    impl HasData for HasProgress {
        type Data<'a> = &'a mut Progress;
    }
    progress::add_to_linker::<T, HasProgress>(linker, progress)
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;
    use crate::contract::interfaces::progress::Host as _;

    fn report(progress: &mut Progress, value: f64, message: Option<&str>) {
        progress.report(value, Some(f64::NAN), message.map(str::to_owned)).expect("reporting never traps");
    }

    fn received(reports: &mut mpsc::Receiver<ProgressReport>) -> Vec<f64> {
        std::iter::from_fn(|| reports.try_recv().ok()).map(|report| report.progress).collect()
    }

    #[test]
    fn a_flood_of_reports_becomes_a_trickle() {
        let (listener, mut reports) = mpsc::channel(1000);
        let mut progress = Progress { listener: Some(listener), last: None };

        (0..1000).for_each(|value| report(&mut progress, f64::from(value), None));
        assert_eq!(received(&mut reports), [0.0]);

        sleep(MIN_INTERVAL);
        report(&mut progress, 1000.0, None);
        assert_eq!(received(&mut reports), [1000.0]);
    }

    #[test]
    fn progress_only_grows_and_is_a_number() {
        let (listener, mut reports) = mpsc::channel(1000);
        let mut progress = Progress { listener: Some(listener), last: None };

        for value in [f64::NAN, f64::INFINITY, 2.0, 2.0, 1.0, 3.0] {
            report(&mut progress, value, None);
            sleep(MIN_INTERVAL);
        }

        assert_eq!(received(&mut reports), [2.0, 3.0]);
    }

    #[test]
    fn a_long_message_is_cut_between_letters_and_a_total_is_a_number() {
        let (listener, mut reports) = mpsc::channel(1);
        let mut progress = Progress { listener: Some(listener), last: None };

        report(&mut progress, 1.0, Some(&format!("a{}", "é".repeat(MAX_MESSAGE_BYTES))));

        let report = reports.try_recv().expect("a report");
        assert_eq!(report.message.map(|message| message.len()), Some(MAX_MESSAGE_BYTES - 1));
        assert_eq!(report.total, None);
    }

    #[test]
    fn a_guest_does_not_wait_for_a_slow_client() {
        let (listener, mut reports) = mpsc::channel(1);
        let mut progress = Progress { listener: Some(listener), last: None };

        for value in 0..3 {
            report(&mut progress, f64::from(value), None);
            sleep(MIN_INTERVAL);
        }

        assert_eq!(received(&mut reports), [0.0]);
    }
}
