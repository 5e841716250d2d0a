//! Discovery, fetching and caching of the external provider's metadata and keys.
//!
//! Invariants:
//! - the provider's metadata is accepted only if it names the configured issuer, letter for letter;
//! - one fetch at a time, and requests cannot cause more fetches than the schedule allows;
//! - while the provider is down, fetched documents stay usable for one day. The limit keeps an attacker who
//!   blocks the connection to the provider from prolonging the use of a withdrawn key.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use kitbag_net::egress::{Egress, EgressError, Policy};
use serde::Deserialize;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;
use tracing::warn;
use url::Url;

use super::error::{AuthError, InvalidSettings};
use super::keys::KeySet;
use super::well_known::metadata_urls;

const MAX_DOCUMENT_BYTES: usize = 512 * 1024;
/// Maximum length of another issuer in an error, in characters.
const MAX_ISSUER_CHARS: usize = 200;
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Minimum intervals between fetches, and maximum ages of documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// Age from which documents are fetched again.
    pub(super) max_age: Duration,
    /// Maximum age of keys while the provider is down.
    pub(super) max_stale: Duration,
    /// Minimum interval between fetches caused by tokens that no key verifies, and between retries while the
    /// provider is down and old keys are usable.
    pub(super) retry: Duration,
    /// Minimum interval between retries while the provider is down and there are no keys.
    pub(super) retry_without_keys: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            max_age: Duration::from_mins(10),
            max_stale: Duration::from_hours(24),
            retry: Duration::from_secs(30),
            retry_without_keys: Duration::from_secs(5),
        }
    }
}

/// The external identity provider.
#[derive(Debug)]
pub(super) struct Provider {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    issuer: String,
    /// Possible URLs of the metadata, in the order of trying.
    well_known: [Url; 2],
    egress: Egress,
    schedule: Schedule,
    current: ArcSwapOption<Snapshot>,
    /// Locked during a fetch.
    attempts: Arc<Mutex<Attempts>>,
}

#[derive(Debug)]
struct Snapshot {
    metadata: Bytes,
    jwks_uri: Url,
    jwks: Bytes,
    keys: Arc<KeySet>,
    /// Time of the metadata fetch; the keys are as old or newer.
    fetched: Instant,
    keys_fetched: Instant,
}

#[derive(Debug, Default)]
struct Attempts {
    last: Option<Instant>,
    last_for_token: Option<Instant>,
}

#[derive(Clone, Copy)]
enum Extent {
    MetadataAndKeys,
    KeysOnly,
}

#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error("the metadata is malformed at line {line}, column {column}")]
    Metadata { line: usize, column: usize },
    #[error("the metadata names another issuer: {0:?}")]
    OtherIssuer(String),
    #[error("the metadata's jwks_uri is no URL, or is less protected than the issuer's")]
    JwksUri,
    #[error("the key set is malformed")]
    Jwks,
}

/// Parsed members of the metadata (RFC 8414, section 2).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl Provider {
    pub(super) fn new(issuer: &str, egress: Egress) -> Result<Self, InvalidSettings> {
        Self::with_schedule(issuer, egress, Schedule::default())
    }

    pub(super) fn with_schedule(
        issuer: &str,
        egress: Egress,
        schedule: Schedule,
    ) -> Result<Self, InvalidSettings> {
        let well_known = metadata_urls(issuer).ok_or_else(|| InvalidSettings::Issuer(issuer.to_owned()))?;
        let shared = Shared {
            issuer: issuer.to_owned(),
            well_known,
            egress,
            schedule,
            current: ArcSwapOption::empty(),
            attempts: Arc::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the provider's keys; fetches them if they are missing or too old.
    pub(super) async fn keys(&self) -> Result<Arc<KeySet>, AuthError> {
        Ok(Arc::clone(&self.snapshot().await?.keys))
    }

    /// Returns the provider's metadata, unmodified JSON.
    pub(super) async fn metadata(&self) -> Result<Bytes, AuthError> {
        Ok(self.snapshot().await?.metadata.clone())
    }

    /// Returns newer keys than `seen`, fetching them if the schedule allows; otherwise the current keys.
    pub(super) async fn keys_after_refusal(&self, seen: &Arc<KeySet>) -> Arc<KeySet> {
        let mut attempts = Arc::clone(&self.shared.attempts).lock_owned().await;
        // The previous holder of the lock may have fetched newer keys already.
        let current =
            self.shared.current.load_full().map_or_else(|| Arc::clone(seen), |now| Arc::clone(&now.keys));
        let newer = current.generation() != seen.generation();
        if newer || !is_due(attempts.last_for_token, self.shared.schedule.retry) {
            return current;
        }
        attempts.last_for_token = Some(Instant::now());
        self.fetch(Extent::KeysOnly, attempts).await.map_or(current, |snapshot| Arc::clone(&snapshot.keys))
    }

    async fn snapshot(&self) -> Result<Arc<Snapshot>, AuthError> {
        let schedule = self.shared.schedule;
        let Some(current) = self.shared.current.load_full() else {
            let attempts = Arc::clone(&self.shared.attempts).lock_owned().await;
            if let Some(fetched_meanwhile) = self.shared.current.load_full() {
                return Ok(fetched_meanwhile);
            }
            if !is_due(attempts.last, schedule.retry_without_keys) {
                return Err(AuthError::Unavailable);
            }
            return self.fetch(Extent::MetadataAndKeys, attempts).await.ok_or(AuthError::Unavailable);
        };
        if current.fetched.elapsed() < schedule.max_age {
            return Ok(current);
        }
        let too_old = |snapshot: &Snapshot| snapshot.keys_fetched.elapsed() >= schedule.max_stale;
        let still_good = |snapshot: Arc<Snapshot>| {
            if too_old(&snapshot) { Err(AuthError::Unavailable) } else { Ok(snapshot) }
        };
        // While another request fetches, use the old keys.
        let Ok(attempts) = Arc::clone(&self.shared.attempts).try_lock_owned() else {
            return still_good(current);
        };
        if !is_due(attempts.last, schedule.retry) {
            return still_good(self.shared.current.load_full().unwrap_or(current));
        }
        match self.fetch(Extent::MetadataAndKeys, attempts).await {
            Some(fetched) => Ok(fetched),
            None => still_good(current),
        }
    }

    /// Fetches in a separate task: a client that disconnects must not cancel a fetch that others wait for.
    async fn fetch(&self, extent: Extent, mut attempts: OwnedMutexGuard<Attempts>) -> Option<Arc<Snapshot>> {
        let shared = Arc::clone(&self.shared);
        let fetching = tokio::spawn(async move {
            attempts.last = Some(Instant::now());
            match shared.fetch(extent).await {
                Ok(snapshot) => {
                    let snapshot = Arc::new(snapshot);
                    shared.current.store(Some(Arc::clone(&snapshot)));
                    Some(snapshot)
                }
                Err(error) => {
                    warn!(issuer = %shared.issuer, error = &error as &dyn std::error::Error, "identity provider not usable");
                    None
                }
            }
        });
        fetching.await.ok().flatten()
    }
}

impl Shared {
    async fn fetch(&self, extent: Extent) -> Result<Snapshot, FetchError> {
        let previous = self.current.load_full();
        let (metadata, jwks_uri, fetched) = if let (Extent::KeysOnly, Some(previous)) = (extent, &previous) {
            // Keep the metadata's fetch time: such tokens must not delay its renewal.
            (previous.metadata.clone(), previous.jwks_uri.clone(), previous.fetched)
        } else {
            let (metadata, jwks_uri) = self.discover().await?;
            (metadata, jwks_uri, Instant::now())
        };
        let keys_fetched = Instant::now();
        let jwks = self.get(&jwks_uri).await?;
        let keys = match &previous {
            Some(previous) if previous.jwks == jwks => Arc::clone(&previous.keys),
            _ => {
                let generation = previous.map_or(0, |previous| previous.keys.generation() + 1);
                Arc::new(KeySet::parse(&jwks, generation).ok_or(FetchError::Jwks)?)
            }
        };
        Ok(Snapshot { metadata, jwks_uri, jwks, keys, fetched, keys_fetched })
    }

    async fn discover(&self) -> Result<(Bytes, Url), FetchError> {
        let [first, second] = &self.well_known;
        match self.metadata_at(first).await {
            Ok(found) => Ok(found),
            Err(first_error) => match self.metadata_at(second).await {
                Ok(found) => Ok(found),
                // Of two errors, report the one that is not an HTTP status: it explains more.
                Err(FetchError::Egress(EgressError::Status { .. })) => Err(first_error),
                Err(second_error) => Err(second_error),
            },
        }
    }

    async fn metadata_at(&self, url: &Url) -> Result<(Bytes, Url), FetchError> {
        let document = self.get(url).await?;
        let metadata: Metadata = serde_json::from_slice(&document)
            .map_err(|error| FetchError::Metadata { line: error.line(), column: error.column() })?;
        if metadata.issuer != self.issuer {
            let issuer = metadata.issuer.chars().take(MAX_ISSUER_CHARS).collect();
            return Err(FetchError::OtherIssuer(issuer));
        }
        let jwks_uri = Url::parse(&metadata.jwks_uri).map_err(|_| FetchError::JwksUri)?;
        // Keys fetched over plain HTTP could be replaced in transit.
        if jwks_uri.scheme() != "https" && jwks_uri.scheme() != url.scheme() {
            return Err(FetchError::JwksUri);
        }
        Ok((document, jwks_uri))
    }

    async fn get(&self, url: &Url) -> Result<Bytes, EgressError> {
        self.egress.get_bytes(url, &Policy::Operator, MAX_DOCUMENT_BYTES, FETCH_TIMEOUT).await
    }
}

fn is_due(last: Option<Instant>, interval: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= interval)
}
