//! Reads responses of registries, with a size and a time limit.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::RegistryError;
use crate::egress::ResponseBody;

/// Time limit of a response, by its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Time limit of any response, without the time for its size.
    pub(super) patience: Duration,
    /// Minimum rate: each so many bytes extend the time limit by one second.
    pub(super) bytes_per_second: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { patience: Duration::from_secs(30), bytes_per_second: 16 << 10 }
    }
}

impl Pace {
    /// Time limit of a response of this many bytes.
    pub(super) fn time_for(self, bytes: u64) -> Duration {
        self.patience + Duration::from_secs(bytes / self.bytes_per_second.max(1))
    }
}

/// Reads a response body of at most `limit` bytes within `time`. Stops reading once the limit is exceeded.
pub(super) async fn read(
    response: Response<ResponseBody>,
    registry: &str,
    what: &'static str,
    limit: u64,
    time: Duration,
) -> Result<Bytes, RegistryError> {
    let mut body = response.into_body();
    let began = Instant::now();
    let mut received = Vec::new();
    let deadline = began + time;
    loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Ok(None) => return Ok(received.into()),
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => {
                let registry = registry.to_owned();
                let received = received.len() as u64;
                return Err(RegistryError::BrokenOff { registry, what, received });
            }
            Err(_) => {
                let received = received.len() as u64;
                let seconds = began.elapsed().as_secs();
                return Err(RegistryError::TooSlow {
                    registry: registry.to_owned(),
                    what,
                    received,
                    seconds,
                });
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        if (received.len() + data.len()) as u64 > limit {
            return Err(RegistryError::TooLong { what, limit });
        }
        received.extend_from_slice(&data);
    }
}
