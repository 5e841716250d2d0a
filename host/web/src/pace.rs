//! Limits how long a peer may keep the server waiting.
//!
//! A peer has an allowance of waiting time. Time that the server waits uses it up; each byte that the peer
//! sends or receives restores some of it, at the minimum rate and never beyond the initial allowance. So both
//! a long pause and a trickle end a transfer, while a slow but steady one is never cut off, however long it
//! takes.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Minimum pace of a peer.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Maximum pause.
    pub pause: Duration,
    /// Minimum average rate, in bytes per second sent or received.
    pub rate: usize,
}

/// Remaining waiting time of a peer.
#[derive(Debug)]
pub struct Allowance {
    pace: Pace,
    /// Time left when the current wait began.
    left: Duration,
    /// Start of the current wait, if any.
    since: Option<Instant>,
    /// Created at the first wait: most peers never keep the server waiting.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Allowance {
    /// Creates a full allowance.
    pub fn new(pace: Pace) -> Self {
        Self { pace, left: pace.pause, since: None, deadline: None }
    }

    /// Polls a wait for the peer; ready once the allowance is used up.
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

    /// Ends a wait after the peer has sent or received this many bytes.
    pub fn progress(&mut self, bytes: usize) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        #[expect(clippy::cast_precision_loss, reason = "no piece has petabytes")]
        let earned = Duration::from_secs_f64(bytes as f64 / self.pace.rate.max(1) as f64);
        self.left = self.left.saturating_add(earned).min(self.pace.pause);
    }
}
