//! Anchors of the audit log, appended to a file or sent to a URL every hour, at the start and at the end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use jiff::Timestamp;
use kitbag_base::metrics::Reading;
use kitbag_base::tasks::off_thread;
use kitbag_database::DatabaseError;
use kitbag_database::audit::{Anchoring, Audit};
use kitbag_net::egress::{Egress, EgressError, Policy};
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::error::StartError;
use crate::settings::{AuditAnchor, Settings, SettingsError};

/// Time until the next attempt after a failure, if that is less than the interval.
const PAUSE: Duration = Duration::from_mins(1);
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of an ignored response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 << 10;
/// Time limit for the last anchor.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The running task that makes anchors.
pub(super) struct Anchors {
    stop: CancellationToken,
    task: JoinHandle<()>,
    last: LastAnchor,
}

/// Time of the last written anchor, in seconds since 1970; 0 before the first one.
#[derive(Clone, Debug, Default)]
pub(super) struct LastAnchor(Arc<AtomicI64>);

/// Where anchors go.
enum Target {
    File(PathBuf),
    Url { url: Uri, egress: Egress },
}

#[derive(Debug, Error)]
enum AnchorError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("cannot write to the file: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    Request(#[from] EgressError),
    #[error("the service has answered {0}")]
    Status(StatusCode),
}

struct Task {
    anchoring: Anchoring,
    target: Target,
    interval: Duration,
    last: LastAnchor,
    /// Whether the last attempt failed, which is logged once.
    is_failing: bool,
}

impl Anchors {
    /// Starts to make anchors; `None` if the settings do not ask for them. Fails if a file cannot be written to.
    pub(super) fn start(
        settings: &Settings,
        audit: &Audit,
        egress: &Egress,
    ) -> Result<Option<Self>, StartError> {
        let Some(setting) = settings.audit_anchor.get() else { return Ok(None) };
        let target = Target::of(setting, egress)?;
        let (stop, last) = (CancellationToken::new(), LastAnchor::default());
        let task = Task {
            anchoring: audit.anchoring(),
            target,
            interval: settings.bounds.anchor_interval,
            last: last.clone(),
            is_failing: false,
        };
        let task = tokio::spawn(task.run(stop.clone()));
        Ok(Some(Self { stop, task, last }))
    }

    /// Returns the time of the last anchor, which changes.
    pub(super) fn last(&self) -> LastAnchor {
        self.last.clone()
    }

    /// Writes a last anchor, and ends.
    pub(super) async fn close(mut self) {
        self.stop.cancel();
        if timeout(CLOSE_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
            warn!("the last anchor of the audit log was not written in time");
        }
    }
}

impl LastAnchor {
    /// Returns the metric.
    pub(super) fn reading(&self) -> Reading {
        let help = "When the ends of the audit log were last written to audit-anchor; 0: not since the start";
        Reading::timestamp("audit_anchor_timestamp", help, self.0.load(Ordering::Relaxed))
    }
}

impl Task {
    async fn run(mut self, stop: CancellationToken) {
        loop {
            let is_last = stop.is_cancelled();
            let pause = match self.anchor().await {
                Ok(()) => self.interval,
                Err(cause) => {
                    if !self.is_failing || is_last {
                        error!(%cause, "the ends of the audit log were not anchored (setting audit-anchor)");
                    }
                    self.is_failing = true;
                    PAUSE.min(self.interval)
                }
            };
            if is_last {
                return;
            }
            let _ = timeout(pause, stop.cancelled()).await;
        }
    }

    async fn anchor(&mut self) -> Result<(), AnchorError> {
        let Some(next) = self.anchoring.next().await? else { return Ok(()) };
        self.target.write(&next.signed).await?;
        self.anchoring.written(next);
        self.last.0.store(Timestamp::now().as_second(), Ordering::Relaxed);
        if self.is_failing {
            info!("the ends of the audit log are anchored again");
        }
        self.is_failing = false;
        Ok(())
    }
}

impl Target {
    fn of(setting: &AuditAnchor, egress: &Egress) -> Result<Self, StartError> {
        match setting {
            AuditAnchor::File(path) => {
                open(path).map_err(|cause| StartError::Anchor { path: path.clone(), cause })?;
                Ok(Self::File(path.clone()))
            }
            AuditAnchor::Url(url) => {
                let url = url.as_str().parse().map_err(|_| SettingsError::AuditAnchor)?;
                Ok(Self::Url { url, egress: egress.clone() })
            }
        }
    }

    async fn write(&self, line: &str) -> Result<(), AnchorError> {
        match self {
            Self::File(path) => {
                let (path, line) = (path.clone(), line.to_owned());
                Ok(off_thread(move || append(&path, &line)).await?)
            }
            Self::Url { url, egress } => {
                let mut request = Request::new(Full::from(Bytes::from(line.to_owned())));
                *request.method_mut() = Method::POST;
                *request.uri_mut() = url.clone();
                // RFC 7515, section 9.2.1.
                request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/jose"));
                let answer = egress.exchange(request, &Policy::Operator, MAX_RESPONSE_BYTES, TIMEOUT).await?;
                if !answer.status().is_success() {
                    return Err(AnchorError::Status(answer.status()));
                }
                Ok(())
            }
        }
    }
}

/// Opens the file for appending, on each occasion, since it may be rotated.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// Appends a line. It begins a new one even if a line before it was not completed.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = open(path)?;
    let mut text = format!("{line}\n");
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.insert(0, '\n');
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_data()
}
