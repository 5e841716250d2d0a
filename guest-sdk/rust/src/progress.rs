//! How far a long call has come.

/// What [`Ctx::progress`](crate::Ctx::progress) tells the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done; grows from report to report.
    pub progress: f64,
    /// What it grows to, in the same unit.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

impl Progress {
    /// So much is done, in a unit of the toolkit's own. It grows from report to report.
    pub fn new(progress: impl Into<f64>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }

    /// Says what the progress grows to, in the same unit.
    #[must_use]
    pub fn of(mut self, total: impl Into<f64>) -> Self {
        self.total = Some(total.into());
        self
    }

    /// Says in words what is being done.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}
