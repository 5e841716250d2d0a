//! Progress reports of a long call.

/// A progress report for [`Ctx::progress`](crate::Ctx::progress).
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Amount of work done; increases with each report.
    pub progress: f64,
    /// Total amount of work, in the same unit.
    pub total: Option<f64>,
    /// Text that describes the current work.
    pub message: Option<String>,
}

impl Progress {
    /// Creates a report of the work done, in any unit. The value increases with each report.
    pub fn new(progress: impl Into<f64>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }

    /// Sets the total amount of work, in the same unit.
    #[must_use]
    pub fn of(mut self, total: impl Into<f64>) -> Self {
        self.total = Some(total.into());
        self
    }

    /// Sets a text that describes the current work.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}
