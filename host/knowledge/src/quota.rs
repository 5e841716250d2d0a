//! Limits: documents and bytes of users and of collections, uploads of users per minute.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use bytesize::ByteSize;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota as Rate};
use kitbag_base::shares::{Share, Shares};
use kitbag_database::Holder;
use thiserror::Error;

/// Largest number of simultaneous file uploads per user.
const MAX_UPLOADS_AT_ONCE: usize = 4;
/// Number of admitted uploads after which full rate-limit buckets are discarded: a new bucket would be equal.
const FORGET_EVERY: u32 = 1024;

/// Storage limits of one holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Largest number of documents.
    pub documents: u64,
    /// Largest size in bytes: stored metadata and text as given, text read from files, and the files.
    pub bytes: u64,
}

/// Storage limits of each user, and of each collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of each user's own documents.
    pub per_user: Quota,
    /// Of each collection.
    pub per_collection: Quota,
}

/// Storage that a holder's documents take, those in its bin too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of documents.
    pub documents: u64,
    /// Size in bytes, counted like [`Quota::bytes`].
    pub bytes: u64,
}

/// Quota error: names current usage, limit and remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QuotaExceeded {
    /// Too many documents.
    #[error(
        "{} {used} of the {quota} documents that {} may have, and these would be {more} more. Delete \
         some and empty the bin, or ask the operator for more (setting documents-per-{})",
        .of.has(), .of.pronoun(), .of.name()
    )]
    Documents {
        /// Whose quota it is.
        of: HolderKind,
        /// Current number of documents.
        used: u64,
        /// Largest allowed number of documents.
        quota: u64,
        /// Number of documents that would have been added.
        more: u64,
    },
    /// Too many bytes.
    #[error(
        "{} documents take {} of the {} that they may take, and this would be {} more. Delete some, large \
         files first, and empty the bin, or ask the operator for more (setting documents-size-per-{})",
        .of.possessive(), ByteSize(*.used), ByteSize(*.quota), ByteSize(*.more), .of.name()
    )]
    Bytes {
        /// Whose quota it is.
        of: HolderKind,
        /// Current size in bytes.
        used: u64,
        /// Largest allowed size in bytes.
        quota: u64,
        /// Number of bytes that would have been added.
        more: u64,
    },
}

/// Kind of a holder with a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderKind {
    /// The user who reads the message.
    User,
    /// A collection.
    Collection,
}

impl HolderKind {
    /// Kind of a holder.
    pub(super) fn of(holder: &Holder) -> Self {
        if holder.collection_id().is_some() { Self::Collection } else { Self::User }
    }

    /// Name in settings.
    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Collection => "collection",
        }
    }

    fn has(self) -> &'static str {
        match self {
            Self::User => "you have",
            Self::Collection => "the collection has",
        }
    }

    fn pronoun(self) -> &'static str {
        match self {
            Self::User => "you",
            Self::Collection => "it",
        }
    }

    fn possessive(self) -> &'static str {
        match self {
            Self::User => "your",
            Self::Collection => "the collection's",
        }
    }
}

/// Upload refused by a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TooManyUploads {
    /// Too many uploads within a minute.
    #[error("too many uploads within a minute (setting uploads-per-minute). Try again in {seconds} s")]
    AMinute {
        /// Time until the next upload is admitted, in seconds.
        seconds: u64,
    },
    /// Too many simultaneous uploads.
    #[error("{MAX_UPLOADS_AT_ONCE} of your files are on their way already. Wait for one of them to arrive")]
    AtOnce,
}

impl Default for Quota {
    /// No limit: for a knowledge base without users.
    fn default() -> Self {
        Self { documents: u64::MAX, bytes: u64::MAX }
    }
}

impl Quota {
    /// Refuses a change that exceeds the quota. A change that reduces an existing excess is accepted.
    pub(super) fn check(self, of: HolderKind, before: Usage, after: Usage) -> Result<(), QuotaExceeded> {
        if after.documents > self.documents.max(before.documents) {
            let used = before.documents;
            let more = after.documents - before.documents;
            return Err(QuotaExceeded::Documents { of, used, quota: self.documents, more });
        }
        if after.bytes > self.bytes.max(before.bytes) {
            let used = before.bytes;
            let more = after.bytes - before.bytes;
            return Err(QuotaExceeded::Bytes { of, used, quota: self.bytes, more });
        }
        Ok(())
    }
}

/// Upload limits of users: rate per minute, and simultaneous uploads.
pub(super) struct Uploads {
    buckets: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
    asked: AtomicU32,
    on_their_way: Shares,
}

impl Uploads {
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        Self {
            buckets: DefaultKeyedRateLimiter::keyed(Rate::per_minute(per_minute)),
            clock: DefaultClock::default(),
            asked: AtomicU32::new(0),
            on_their_way: Shares::per_holder(MAX_UPLOADS_AT_ONCE),
        }
    }

    /// Counts an upload of `user`, or refuses it.
    pub(super) fn admit(&self, user: &str) -> Result<(), TooManyUploads> {
        if self.asked.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(&user.to_owned()).map_err(|until| TooManyUploads::AMinute {
            seconds: until.wait_time_from(self.clock.now()).as_secs() + 1,
        })
    }

    /// Starts a file upload, or refuses it. Hold the returned value until the file has arrived.
    pub(super) fn begin(&self, user: &str) -> Result<Share, TooManyUploads> {
        self.on_their_way.take(user, 1).map_err(|_exceeded| TooManyUploads::AtOnce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_refuses_what_is_more_and_never_what_is_less() {
        let quota = Quota { documents: 2, bytes: 100 };
        let usage = |documents, bytes| Usage { documents, bytes };

        for (before, after, is_refused) in [
            (usage(0, 0), usage(2, 100), false),
            (usage(2, 100), usage(3, 100), true),
            (usage(2, 100), usage(2, 101), true),
            // The quota was larger before.
            (usage(9, 900), usage(8, 900), false),
            (usage(9, 900), usage(9, 899), false),
            (usage(9, 900), usage(9, 901), true),
        ] {
            assert_eq!(
                quota.check(HolderKind::User, before, after).is_err(),
                is_refused,
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn a_refusal_says_what_there_is_what_there_may_be_and_what_to_do() {
        let quota = Quota { documents: 2, bytes: 2 << 30 };
        let refusal = |before, after| {
            quota.check(HolderKind::User, before, after).expect_err("it is too much").to_string()
        };

        let used = Usage { documents: 2, bytes: 2 << 30 };
        let documents = refusal(used, Usage { documents: 5, ..used });
        let bytes = refusal(used, Usage { bytes: 3 << 30, ..used });

        assert!(documents.contains("2 of the 2 documents") && documents.contains("3 more"), "{documents}");
        assert!(bytes.contains("2.0 GiB of the 2.0 GiB") && bytes.contains("1.0 GiB more"), "{bytes}");
        assert!(bytes.contains("Delete some") && bytes.contains("documents-size-per-user"), "{bytes}");
    }

    #[test]
    fn each_user_has_uploads_of_their_own_and_so_many_at_once() {
        let uploads = Uploads::new(NonZeroU32::new(2).expect("not zero"));

        assert!(uploads.admit("ana").is_ok() && uploads.admit("ana").is_ok());
        assert_eq!(uploads.admit("ana"), Err(TooManyUploads::AMinute { seconds: 30 }));
        assert!(uploads.admit("ben").is_ok());

        let mut on_their_way: Vec<_> =
            (0..MAX_UPLOADS_AT_ONCE).map(|_| uploads.begin("ana").expect("there is room")).collect();
        assert_eq!(uploads.begin("ana").err(), Some(TooManyUploads::AtOnce));
        assert!(uploads.begin("ben").is_ok());
        on_their_way.pop();
        assert!(uploads.begin("ana").is_ok());
        on_their_way.clear();
        assert_eq!(uploads.on_their_way.holders(), 0);
    }
}
