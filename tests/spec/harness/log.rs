//! What a server wrote to its log.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::Dispatch;
use tracing_subscriber::EnvFilter;

/// One server's log. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The whole log, as written: one JSON object per line.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no writer panicked")).into_owned()
    }

    /// The lines about calls, oldest first. They have no content of calls: operators may see them all.
    pub(crate) fn calls(&self) -> Vec<Value> {
        let text = self.text();
        let events = text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON"));
        events.filter(|event: &Value| event["target"] == "kitbag::toolkit").collect()
    }

    /// The subscriber to a server's events. It writes all of Kitbag's own, so that tests see any leak.
    pub(super) fn subscriber(&self) -> Dispatch {
        let log = self.clone();
        tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_env_filter(EnvFilter::new("warn,kitbag=debug,rmcp=error"))
            .with_writer(move || log.clone())
            .finish()
            .into()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
