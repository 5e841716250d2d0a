//! Room on the disk of the data directory: below a reserve nothing is stored that takes any.
//!
//! The reserve is there for what goes on: deletions, records of calls, what the database writes in between.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use thiserror::Error;
use tokio::time::sleep;
use tracing::{info, warn};

/// How old a measurement may be.
const MAX_AGE: Duration = Duration::from_millis(250);
/// How often it is measured when nobody asks, so that the log tells in time.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);
/// The reserve where none is set: this, or this part of the disk.
const MAX_DEFAULT_RESERVE: u64 = 1 << 30;
const DEFAULT_PART: u64 = 20;

/// The disk of one folder; a clone is the same.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Watched>);

#[derive(Debug)]
struct Watched {
    folder: PathBuf,
    /// Bytes.
    reserve: u64,
    measured: Mutex<Option<(Instant, u64)>>,
    is_low: AtomicBool,
}

/// There is too little room on the disk for what would have been stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the server's disk is nearly full, so that nothing can be stored now; reading, searching, calling and \
     deleting go on. Its operator has to make room"
)]
pub struct DiskFull;

impl Disk {
    /// Watches the disk of `folder`. The reserve has `reserve` bytes, or else 1 GiB or a twentieth of the
    /// disk, whichever is less.
    pub fn new(folder: &Path, reserve: Option<u64>) -> io::Result<Self> {
        let reserve = if let Some(reserve) = reserve {
            reserve
        } else {
            let disk = statvfs(folder)?;
            MAX_DEFAULT_RESERVE.min(disk.f_blocks.saturating_mul(disk.f_frsize) / DEFAULT_PART)
        };
        let (measured, is_low) = (Mutex::default(), AtomicBool::new(false));
        Ok(Self(Arc::new(Watched { folder: folder.to_owned(), reserve, measured, is_low })))
    }

    /// Keeps no reserve: for what serves nobody.
    pub fn unwatched() -> Self {
        let (measured, is_low) = (Mutex::default(), AtomicBool::new(false));
        Self(Arc::new(Watched { folder: PathBuf::new(), reserve: 0, measured, is_low }))
    }

    /// Measures now and then, until nobody has a clone any more, so that the log says when room runs out
    /// and when there is some again.
    pub fn watch(&self) {
        let watched = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            while let Some(watched) = watched.upgrade() {
                watched.free();
                drop(watched);
                sleep(WATCH_INTERVAL).await;
            }
        });
    }

    /// Whether `bytes` may be stored, and leave the reserve as it is.
    pub fn room_for(&self, bytes: u64) -> Result<(), DiskFull> {
        self.above(self.0.reserve.saturating_add(bytes))
    }

    /// Whether something small may be stored, such as a setting: until half of the reserve is used up.
    pub fn room_for_a_little(&self) -> Result<(), DiskFull> {
        self.above(self.0.reserve / 2)
    }

    /// Does `work`, which writes as it goes on, for as long as there is room.
    pub async fn while_there_is_room<T>(&self, work: impl Future<Output = T>) -> Result<T, DiskFull> {
        self.room_for(0)?;
        let exhausted = async {
            while self.room_for(0).is_ok() {
                sleep(MAX_AGE).await;
            }
        };
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = exhausted => Err(DiskFull),
        }
    }

    fn above(&self, bytes: u64) -> Result<(), DiskFull> {
        let has_no_reserve = self.0.reserve == 0;
        if has_no_reserve || self.0.free() >= bytes { Ok(()) } else { Err(DiskFull) }
    }
}

impl Watched {
    /// Bytes that are free for this process.
    fn free(&self) -> u64 {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, free)) = *measured
            && at.elapsed() < MAX_AGE
        {
            return free;
        }
        let free = match statvfs(&self.folder) {
            Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
            Err(error) => {
                warn!(%error, folder = %self.folder.display(), "the room on the disk cannot be measured");
                u64::MAX
            }
        };
        *measured = Some((Instant::now(), free));
        let is_low = free < self.reserve;
        if self.is_low.swap(is_low, Ordering::Relaxed) != is_low {
            let reserve = self.reserve;
            if is_low {
                warn!(
                    free,
                    reserve,
                    "the disk is nearly full: nothing is stored that takes room (setting free-disk-space)"
                );
            } else {
                info!(free, reserve, "there is room on the disk again");
            }
        }
        free
    }
}

impl DiskFull {
    /// Whether an operation of the file system failed for want of room.
    pub fn is_behind(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn disk(reserve: u64) -> Disk {
        Disk::new(&std::env::temp_dir(), Some(reserve)).expect("it can be measured")
    }

    fn free() -> u64 {
        disk(1).0.free()
    }

    #[test]
    fn what_would_touch_the_reserve_is_refused_and_what_is_small_may_use_half_of_it() {
        let free = free();

        assert_eq!(disk(free / 2).room_for(0), Ok(()));
        assert_eq!(disk(free / 2).room_for(free), Err(DiskFull));
        let low = disk(free / 2 * 3);
        assert_eq!((low.room_for(0), low.room_for_a_little()), (Err(DiskFull), Ok(())));
        let lower = disk(free.saturating_mul(4));
        assert_eq!((lower.room_for(0), lower.room_for_a_little()), (Err(DiskFull), Err(DiskFull)));
        assert_eq!(Disk::unwatched().room_for(u64::MAX), Ok(()));
    }

    #[test]
    fn by_default_the_reserve_is_a_small_part_of_the_disk() {
        let disk = Disk::new(&std::env::temp_dir(), None).expect("it can be measured");

        assert!((1..=MAX_DEFAULT_RESERVE).contains(&disk.0.reserve), "{}", disk.0.reserve);
    }

    #[tokio::test]
    async fn work_that_writes_ends_when_room_runs_out() {
        let low = disk(u64::MAX);

        assert_eq!(disk(1).while_there_is_room(async { 1 }).await, Ok(1));
        assert_eq!(low.while_there_is_room(pending::<()>()).await, Err(DiskFull));
    }
}
