//! Free space on the disk of the data directory. Below a reserve, nothing that needs space is stored.
//!
//! The reserve is for what must continue: deletions, records of calls, intermediate writes of the database.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;
use thiserror::Error;
use tokio::time::sleep;
use tracing::{info, warn};

/// Maximum age of a cached measurement.
const MAX_AGE: Duration = Duration::from_millis(250);
/// Interval of the measurements that write changes to the log.
const WATCH_INTERVAL: Duration = Duration::from_secs(5);
/// Default reserve: the smaller of this many bytes and this fraction of the disk.
const MAX_DEFAULT_RESERVE: u64 = 1 << 30;
const DEFAULT_RESERVE_DIVISOR: u64 = 20;

/// Free space of the disk that contains a folder. Clones share its state.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Watched>);

#[derive(Debug, Default)]
struct Watched {
    folder: PathBuf,
    /// Reserve in bytes.
    reserve: u64,
    /// Sum of all reservations, in bytes.
    reserved: AtomicU64,
    measured: Mutex<Option<(Instant, u64)>>,
    is_low: AtomicBool,
    /// Free bytes to report instead of measuring.
    #[cfg(any(test, feature = "testing"))]
    fake_free: Option<u64>,
}

/// Bytes that are reserved for a write. Dropping it releases them; written bytes then count as used space.
#[derive(Debug)]
#[must_use]
pub struct Reservation {
    disk: Disk,
    bytes: u64,
}

/// Error: there is too little free space on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the server's disk is nearly full, so that nothing can be stored now; reading, searching, calling and \
     deleting go on. Its operator has to make room"
)]
pub struct DiskFull;

impl Disk {
    /// Creates the state for the disk of `folder`, with a reserve in bytes; by default 1 GiB, or a twentieth
    /// of the disk if that is less.
    pub fn new(folder: &Path, reserve: Option<u64>) -> io::Result<Self> {
        let reserve = if let Some(reserve) = reserve {
            reserve
        } else {
            let disk = statvfs(folder)?;
            MAX_DEFAULT_RESERVE.min(disk.f_blocks.saturating_mul(disk.f_frsize) / DEFAULT_RESERVE_DIVISOR)
        };
        Ok(Self::with_reserve(folder.to_owned(), reserve))
    }

    /// Creates a disk without a reserve, for commands that run without a server.
    pub fn unwatched() -> Self {
        Self::with_reserve(PathBuf::new(), 0)
    }

    fn with_reserve(folder: PathBuf, reserve: u64) -> Self {
        Self(Arc::new(Watched { folder, reserve, ..Watched::default() }))
    }

    /// Creates a disk that always has this many free bytes above its reserve.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_room(bytes: u64) -> Self {
        Self(Arc::new(Watched { reserve: 1, fake_free: Some(bytes.saturating_add(1)), ..Watched::default() }))
    }

    /// Measures regularly until all clones are dropped, and logs when the free space falls below the reserve
    /// or rises above it again.
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

    /// Reserves `bytes` for a write. Fails if they would reduce the free space below the reserve.
    ///
    /// Until it is dropped, a reservation counts in full, even for bytes that are already written: a file
    /// that is written and then copied needs space for both.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, DiskFull> {
        let Watched { reserve, reserved, .. } = &*self.0;
        let add = |reserved: u64| reserved.checked_add(bytes);
        let before = reserved.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add).map_err(|_| DiskFull)?;
        let reservation = Reservation { disk: self.clone(), bytes };
        let needed = reserve.saturating_add(before).saturating_add(bytes);
        // Measured now: a reservation made since the last measurement may have been written and released.
        if *reserve == 0 || self.0.free_now() >= needed { Ok(reservation) } else { Err(DiskFull) }
    }

    /// Returns the free bytes, measured now, and the reserve in bytes.
    pub fn free_and_reserve(&self) -> (u64, u64) {
        (self.0.free_now(), self.0.reserve)
    }

    /// Returns the number of bytes that may be written: free space minus the reserve and all reservations.
    pub fn room(&self) -> u64 {
        if self.0.reserve == 0 {
            return u64::MAX;
        }
        let taken = self.0.reserve.saturating_add(self.0.reserved.load(Ordering::SeqCst));
        self.0.free_now().saturating_sub(taken)
    }

    /// Fails if the free space is below the reserve.
    pub fn has_reserve(&self) -> Result<(), DiskFull> {
        self.has_free(self.0.reserve)
    }

    /// Fails if even small data, such as a setting, may not be stored: the free space is below half of the
    /// reserve.
    pub fn room_for_a_little(&self) -> Result<(), DiskFull> {
        self.has_free(self.0.reserve / 2)
    }

    /// Runs `work`, which writes to the disk, and aborts it when the free space falls below the reserve.
    pub async fn while_there_is_room<T>(&self, work: impl Future<Output = T>) -> Result<T, DiskFull> {
        self.has_reserve()?;
        let exhausted = async {
            while self.has_reserve().is_ok() {
                sleep(MAX_AGE).await;
            }
        };
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = exhausted => Err(DiskFull),
        }
    }

    fn has_free(&self, bytes: u64) -> Result<(), DiskFull> {
        let has_no_reserve = self.0.reserve == 0;
        if has_no_reserve || self.0.free() >= bytes { Ok(()) } else { Err(DiskFull) }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.disk.0.reserved.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

impl Watched {
    /// Free bytes for this process, at most [`MAX_AGE`] old.
    fn free(&self) -> u64 {
        let measured = *self.lock();
        match measured {
            Some((at, free)) if at.elapsed() < MAX_AGE => free,
            _ => self.free_now(),
        }
    }

    /// Free bytes for this process, measured now.
    fn free_now(&self) -> u64 {
        #[cfg(any(test, feature = "testing"))]
        if let Some(free) = self.fake_free {
            return free;
        }
        let free = match statvfs(&self.folder) {
            Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
            Err(error) => {
                warn!(%error, folder = %self.folder.display(), "the room on the disk cannot be measured");
                u64::MAX
            }
        };
        *self.lock() = Some((Instant::now(), free));
        let is_low = free < self.reserve;
        if self.is_low.swap(is_low, Ordering::Relaxed) != is_low {
            let reserve = self.reserve;
            let folder = self.folder.display();
            if is_low {
                warn!(
                    %folder,
                    free,
                    reserve,
                    "the disk is nearly full: nothing is stored that takes room (setting free-disk-space)"
                );
            } else {
                info!(%folder, free, reserve, "there is room on the disk again");
            }
        }
        free
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Instant, u64)>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DiskFull {
    /// Whether a file system error was caused by a full disk or quota.
    pub fn caused(error: &io::Error) -> bool {
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

        let disk_with_room = disk(free / 2);
        assert_eq!(disk_with_room.has_reserve(), Ok(()));
        assert_eq!(disk_with_room.reserve(free).err(), Some(DiskFull));
        let low = disk(free / 2 * 3);
        assert_eq!((low.has_reserve(), low.room(), low.room_for_a_little()), (Err(DiskFull), 0, Ok(())));
        let lower = disk(free.saturating_mul(4));
        assert_eq!((lower.has_reserve(), lower.room_for_a_little()), (Err(DiskFull), Err(DiskFull)));
        assert!(Disk::unwatched().reserve(u64::MAX).is_ok());
    }

    #[test]
    fn what_is_under_way_is_added_up_and_given_back_when_it_has_ended() {
        let disk = Disk::with_room(100);

        let first = disk.reserve(60).expect("there is room");
        assert_eq!(disk.reserve(41).err(), Some(DiskFull), "60 are taken");
        assert_eq!(disk.room(), 40);
        let second = disk.reserve(40).expect("that much is left");
        assert_eq!(disk.has_reserve(), Ok(()), "what is under way goes on");
        drop(first);

        assert_eq!(disk.reserve(u64::MAX).err(), Some(DiskFull));
        assert!(disk.reserve(60).is_ok());
        drop(second);
        assert_eq!(disk.room(), 100, "whatever was refused holds nothing");
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
