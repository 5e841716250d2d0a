//! Response that is read line by line as it arrives.

use std::time::Duration;

use http_body_util::BodyExt;
use kitbag_net::egress::ResponseBody;
use tokio::time::timeout;

use crate::cli::error::CliError;

/// Longest silence of a server: it sends an empty line every 15 s.
const READ_TIMEOUT: Duration = Duration::from_secs(45);

/// Line reader of a response.
pub(in crate::cli) struct Lines {
    body: ResponseBody,
    received: Vec<u8>,
    /// Number of leading bytes of `received` that contain no line break.
    searched: usize,
}

impl Lines {
    pub(super) fn of(body: ResponseBody) -> Self {
        Self { body, received: Vec::new(), searched: 0 }
    }

    /// Returns the next line without its line break; `None` at the end of the response.
    pub(in crate::cli) async fn next(&mut self) -> Result<Option<String>, CliError> {
        loop {
            if let Some(line) = self.line() {
                return Ok(Some(line));
            }
            let frame = timeout(READ_TIMEOUT, self.body.frame()).await;
            match frame.map_err(|_| CliError::new("the server has fallen silent"))? {
                None => return Ok(None),
                Some(Err(error)) => return Err(CliError::new(format!("the answer broke off: {error}"))),
                Some(Ok(frame)) => self.received.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            }
        }
    }

    fn line(&mut self) -> Option<String> {
        let Some(end) = self.received[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.received.len();
            return None;
        };
        let line: Vec<u8> = self.received.drain(..=self.searched + end).collect();
        self.searched = 0;
        Some(String::from_utf8_lossy(&line[..line.len() - 1]).into_owned())
    }
}
