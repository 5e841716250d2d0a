//! What the compiler process does to itself before it reads anything that a stranger made.

use std::io;

use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, getrlimit, nice, setrlimit};

use super::protocol::Request;

/// Added to the nice value: about a quarter of a busy core. At the lowest priority, that of long calls, deploys on a
/// busy machine would starve until their wall time is over.
const NICENESS: i32 = 5;
/// File descriptors: those that were passed, and what an engine and a runtime need.
const MAX_OPEN_FILES: u64 = 64;
/// Seconds between `SIGXCPU` and `SIGKILL`.
const KILL_DELAY_SECONDS: u64 = 5;

/// Has the kernel end this process when the thread ends that started it.
pub(super) fn die_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Drops all privileges that compiling does not need. Must be called while there is one thread.
pub(super) fn confine(request: &Request) -> io::Result<()> {
    // The parent may have died before `die_with_parent`.
    if getppid().map(Pid::as_raw_pid) != Some(request.parent) {
        return Err(io::Error::other("nobody waits for the result"));
    }
    nice(NICENESS)?;
    bound(Resource::Core, 0, 0)?;
    // Not the address space: an engine reserves gigabytes of it that it never touches.
    bound(Resource::Data, request.memory, request.memory)?;
    bound(Resource::Cpu, request.seconds, request.seconds.saturating_add(KILL_DELAY_SECONDS))?;
    bound(Resource::Fsize, request.max_file, request.max_file)?;
    bound(Resource::Nofile, MAX_OPEN_FILES, MAX_OPEN_FILES)?;
    open_nothing().map(drop)
}

/// Lowers soft and hard limit; one that is lower already stays.
fn bound(resource: Resource, current: u64, maximum: u64) -> io::Result<()> {
    let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(current.min(allowed)), maximum: Some(maximum.min(allowed)) };
    Ok(setrlimit(resource, limit)?)
}

/// Has the kernel refuse this thread, and those that it starts, each file and each connection that is not open
/// already, and more rights by any program. Says whether the kernel can.
#[cfg(target_os = "linux")]
fn open_nothing() -> io::Result<bool> {
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
fn open_nothing() -> io::Result<bool> {
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
            let is_enforced = open_nothing().expect("it can be asked for");
            is_enforced
                .then(|| (File::open("/proc/self/status").is_ok(), TcpListener::bind("127.0.0.1:0").is_ok()))
        });

        let opened = opened.join().expect("no panic");

        assert!(matches!(opened, None | Some((false, _))), "{opened:?}");
        assert!(File::open("/proc/self/status").is_ok(), "other threads are not concerned");
    }
}
