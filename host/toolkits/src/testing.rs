//! Helpers of tests, in this crate and others.

use std::time::Duration;

use kitbag_base::disk::Disk;
use kitbag_database::Database;
use kitbag_database::peers::{Process, Profile};
use kitbag_net::egress::{Egress, EgressSettings};
use kitbag_sandbox::capabilities::Services;
use kitbag_sandbox::capabilities::fetch::FetchLimits;
use kitbag_sandbox::compiler::{CompileLimits, Compiler, Program};
use kitbag_sandbox::{Background, Limits, Sandbox};
use tokio_util::sync::CancellationToken;

/// Creates a compiler without a program, so that nothing can be compiled.
pub fn compiler() -> Compiler {
    let limits = CompileLimits::new(Duration::from_secs(1), 1 << 20);
    Compiler::new(Program::at("/nonexistent"), limits, Disk::unwatched(), CancellationToken::new())
}

/// Registers a process, whose data directory is gone at once.
pub async fn process(database: &Database) -> Process {
    let data = tempfile::tempdir().expect("a scratch directory");
    let process = Process::register(database, Profile::of_this_program(""), data.path());
    process.await.expect("nothing keeps it from joining")
}

/// Creates a sandbox with small limits.
pub fn sandbox() -> Sandbox {
    let fetch = FetchLimits { in_flight: 1, requests: 1, request_body: 1 << 10, response_body: 1 << 10 };
    let limits = Limits {
        call_time: Duration::from_secs(1),
        memory: 1 << 20,
        table_elements: 100,
        resources: 10,
        result: 1 << 10,
        log: 1 << 10,
        instances: 1,
        kept_memory: 0,
        fetch,
    };
    let services = Services::new(Egress::new(EgressSettings::default()));
    Sandbox::new(limits, services, Background::start().expect("threads")).expect("an engine")
}
