//! How long a peer may keep the server waiting.
//!
//! A peer has an allowance of waiting time. The server's waiting for it uses the allowance up, and each byte that it sends
//! or takes restores some of it, at the least rate that is allowed and never beyond where it began. So a pause ends a
//! transfer as a drip does, and a slow one that goes on is never cut off, however long it takes.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// How slow a peer may be.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long it may pause.
    pub pause: Duration,
    /// Bytes a second that it must send or take on average.
    pub rate: usize,
}

/// The waiting time that is left to a peer.
#[derive(Debug)]
pub struct Allowance {
    pace: Pace,
    /// What was left when the server began to wait.
    left: Duration,
    /// When the server began to wait, while it does.
    since: Option<Instant>,
    /// Made when the server first waits: most peers never keep it waiting.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Allowance {
    /// The whole allowance.
    pub fn new(pace: Pace) -> Self {
        Self { pace, left: pace.pause, since: None, deadline: None }
    }

    /// Waits for the peer; ready once its allowance is used up.
    pub fn poll_used_up(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let starts = self.since.is_none();
        let since = *self.since.get_or_insert_with(Instant::now);
        let deadline = since + self.left;
        let wait = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if starts {
            wait.as_mut().reset(deadline);
        }
        wait.as_mut().poll(context)
    }

    /// Ends a wait: the peer has sent or taken so many bytes.
    pub fn progress(&mut self, bytes: usize) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        #[expect(clippy::cast_precision_loss, reason = "no piece has petabytes")]
        let earned = Duration::from_secs_f64(bytes as f64 / self.pace.rate.max(1) as f64);
        self.left = self.left.saturating_add(earned).min(self.pace.pause);
    }
}
