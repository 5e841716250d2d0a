//! Confines the compiler process before it reads untrusted data.

use std::io;

use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, getrlimit, nice, setrlimit};

use super::protocol::Request;

/// Increment of the nice value: gives about a quarter of a busy core. At the lowest priority, which long
/// calls have, deploys on a busy machine would starve until their wall time is over.
const NICENESS: i32 = 5;
/// Maximum number of file descriptors: the received ones, and those of an engine and a runtime.
const MAX_OPEN_FILES: u64 = 64;
/// Seconds between `SIGXCPU` and `SIGKILL`.
const KILL_DELAY_SECONDS: u64 = 5;

/// Asks the kernel to kill this process when the thread that started it ends.
pub(super) fn die_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Drops all privileges that compiling does not need. Must be called while the process has one thread.
pub(super) fn confine(request: &Request) -> io::Result<()> {
    // The parent may have died before `die_with_parent`.
    if getppid().map(Pid::as_raw_pid) != Some(request.parent) {
        return Err(io::Error::other("the server has ended"));
    }
    nice(NICENESS)?;
    bound(Resource::Core, 0, 0)?;
    // Not the address space: an engine reserves gigabytes of it that it never touches.
    bound(Resource::Data, request.memory, request.memory)?;
    bound(Resource::Cpu, request.seconds, request.seconds.saturating_add(KILL_DELAY_SECONDS))?;
    bound(Resource::Fsize, request.max_file, request.max_file)?;
    bound(Resource::Nofile, MAX_OPEN_FILES, MAX_OPEN_FILES)?;
    restrict_access().map(drop)
}

/// Lowers the soft and the hard limit. Existing limits that are lower stay.
fn bound(resource: Resource, current: u64, maximum: u64) -> io::Result<()> {
    let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(current.min(allowed)), maximum: Some(maximum.min(allowed)) };
    Ok(setrlimit(resource, limit)?)
}

/// Denies this thread, and those it starts, with Landlock: opening files and connections, and gaining
/// privileges by executing programs. Returns whether the kernel enforces it.
#[cfg(target_os = "linux")]
fn restrict_access() -> io::Result<bool> {
    use landlock::{ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetStatus, Scope};

    const NEWEST_ABI: ABI = ABI::V6;

    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST_ABI))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(NEWEST_ABI)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST_ABI)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    Ok(ruleset.map_err(io::Error::other)?.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(not(target_os = "linux"))]
fn restrict_access() -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_that_has_given_everything_up_opens_no_file_where_the_kernel_can_see_to_it() {
        let opened = thread::spawn(|| {
            let is_enforced = restrict_access().expect("it can be asked for");
            is_enforced
                .then(|| (File::open("/proc/self/status").is_ok(), TcpListener::bind("127.0.0.1:0").is_ok()))
        });

        let opened = opened.join().expect("no panic");

        assert!(matches!(opened, None | Some((false, _))), "{opened:?}");
        assert!(File::open("/proc/self/status").is_ok(), "other threads are not concerned");
    }
}
