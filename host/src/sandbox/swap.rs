//! Whether the kernel may move memory to disk.
//!
//! wasmtime 48 asks the kernel which pages a finished call wrote (`PAGEMAP_SCAN`) and clears those. The
//! answer leaves out pages that are in swap (bytecodealliance/wasmtime#14357): the next call in the same
//! place would find what the one before left there. So the question is asked only where there is no swap.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tracing::error;

/// How often the kernel's list of swap areas is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// What holds for an engine as long as it lives, and what became of it.
#[derive(Debug)]
pub(super) struct Swap {
    may_be_used: bool,
    came: AtomicBool,
}

impl Swap {
    /// Looks whether there is swap now, and where there is none, whether it comes.
    pub(super) fn watch() -> io::Result<Arc<Self>> {
        let swap = Arc::new(Self { may_be_used: is_on(), came: AtomicBool::new(false) });
        if !swap.may_be_used {
            let weak = Arc::downgrade(&swap);
            thread::Builder::new().name("swap-watch".to_owned()).spawn(move || {
                while let Some(swap) = weak.upgrade() {
                    if is_on() {
                        error!(
                            "swap was turned on while the server runs, so no more calls are taken: {REMEDY}"
                        );
                        return swap.came.store(true, Ordering::Release);
                    }
                    drop(swap);
                    thread::sleep(INTERVAL);
                }
            })?;
        }
        Ok(swap)
    }

    /// Whether the engine has to expect pages in swap.
    pub(super) fn may_be_used(&self) -> bool {
        self.may_be_used
    }

    /// Fails where swap came although the engine does not expect it: no instance may begin.
    pub(super) fn check(&self) -> wasmtime::Result<()> {
        if self.came.load(Ordering::Acquire) {
            wasmtime::bail!("swap was turned on after the server started: {REMEDY}");
        }
        Ok(())
    }
}

const REMEDY: &str = "restart the server, which then clears memory in a way that is safe with swap";

/// Reads the kernel's list of swap areas (proc(5)). Where there is no such list, there may be swap.
fn is_on() -> bool {
    fs::read_to_string("/proc/swaps").map_or(true, |areas| has_any(&areas))
}

/// The first line is a heading.
fn has_any(areas: &str) -> bool {
    areas.lines().skip(1).any(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_a_line_below_the_heading() {
        let heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

        assert!(!has_any(heading));
        assert!(has_any(&format!("{heading}/dev/zram0 partition\t8388604\t\t0\t\t100\n")));
    }

    #[test]
    fn no_call_begins_once_swap_came() {
        let swap = Swap { may_be_used: false, came: AtomicBool::new(false) };
        swap.check().expect("none came");

        swap.came.store(true, Ordering::Release);
        assert!(swap.check().is_err_and(|why| why.to_string().contains("restart the server")));
    }
}
