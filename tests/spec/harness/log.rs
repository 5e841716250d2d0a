//! Log output of a server.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::Dispatch;
use tracing_subscriber::EnvFilter;

/// Log of one server. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The whole log, as written: one JSON object per line.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no writer panicked")).into_owned()
    }

    /// Log lines about calls, oldest first. They contain no content of calls: operators may see them all.
    pub(crate) fn calls(&self) -> Vec<Value> {
        let text = self.text();
        let events = text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON"));
        events.filter(|event: &Value| event["target"] == "kitbag::toolkit").collect()
    }

    /// Subscriber to a server's events. Writes all events of Kitbag, so that tests detect any leak.
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
