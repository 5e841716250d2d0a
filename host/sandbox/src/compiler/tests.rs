//! Misbehaving compiler processes, simulated by shell scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;
use tokio::time::sleep;

use super::*;

/// A script that writes its process id to the file `pid`.
struct Script {
    folder: TempDir,
    program: PathBuf,
}

impl Script {
    fn new(body: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let program = folder.path().join("compiler");
        let pid = folder.path().join("pid");
        fs::write(&program, format!("#!/bin/sh\necho $$ > {}\n{body}\n", pid.display())).expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("it is ours");
        Self { folder, program }
    }

    fn compiler(&self, time: Duration) -> Compiler {
        self.compiler_on(Disk::unwatched(), time)
    }

    fn compiler_on(&self, disk: Disk, time: Duration) -> Compiler {
        let limits = CompileLimits { time, wall: time, memory: 1 << 30 };
        Compiler::new(Program::at(&self.program), limits, disk, CancellationToken::new())
    }

    async fn outcome(&self, compiler: &Compiler) -> Result<(), CompileError> {
        let code = tempfile::tempfile().expect("a scratch file");
        let job = || Job {
            component: tempfile::tempfile().expect("a scratch file"),
            code_version: String::new(),
            code: &code,
        };
        loop {
            match compiler.toolkit(job(), "ana").await {
                // Another test is forking a process, which still has the script open for writing.
                Err(CompileError::Failed(reason)) if reason.contains("Text file busy") => {}
                outcome => return outcome,
            }
        }
    }

    fn process(&self) -> Option<u32> {
        fs::read_to_string(self.folder.path().join("pid")).ok()?.trim().parse().ok()
    }

    async fn assert_gone(&self) {
        let process = self.process().expect("it has started");
        for _ in 0..1_000 {
            if !Path::new(&format!("/proc/{process}")).exists() {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("the process is still there");
    }
}

#[track_caller]
fn limit(outcome: Result<(), CompileError>) -> LimitReached {
    match outcome {
        Err(CompileError::Limit(limit)) => limit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_process_that_never_ends_is_ended() {
    let script = Script::new("exec sleep 1000");

    let started = Instant::now();
    let outcome = script.outcome(&script.compiler(Duration::from_secs(1))).await;

    assert_eq!(limit(outcome), LimitReached::WallTime(Duration::from_secs(1)));
    assert!(started.elapsed() < Duration::from_mins(1));
    script.assert_gone().await;
}

#[tokio::test]
async fn a_process_that_says_too_much_is_ended_and_its_complaints_block_nobody() {
    let script = Script::new("cat /dev/zero");
    let outcome = script.outcome(&script.compiler(Duration::from_mins(10))).await;
    assert_eq!(limit(outcome), LimitReached::Response(protocol::max_response(0)));

    let script = Script::new("head -c 1000000 /dev/zero >&2; echo '{\"Failed\":\"tired\"}'");
    let outcome = script.outcome(&script.compiler(Duration::from_mins(10))).await;
    assert!(matches!(&outcome, Err(CompileError::Failed(reason)) if reason == "tired"), "{outcome:?}");
}

#[tokio::test]
async fn how_a_process_died_is_told_apart() {
    let time = Duration::from_mins(10);
    let memory = 1 << 30;
    let code = LimitReached::MachineCode(MAX_FILE_BYTES);

    for (body, expected) in [
        ("kill -XCPU $$", LimitReached::ProcessorTime(time)),
        ("kill -XFSZ $$", code),
        ("echo 'memory allocation of 32 bytes failed' >&2; kill -ABRT $$", LimitReached::Memory(memory)),
    ] {
        let script = Script::new(body);
        assert_eq!(limit(script.outcome(&script.compiler(time)).await), expected, "{body}");
    }
    for body in ["kill -KILL $$", "kill -SEGV $$", "exit 1", "echo nonsense", "true"] {
        let script = Script::new(body);
        let died = limit(script.outcome(&script.compiler(time)).await);
        assert!(matches!(died, LimitReached::Crash(_)), "{body}: {died:?}");
    }
}

#[tokio::test]
async fn a_process_whose_result_nobody_wants_any_more_is_ended() {
    let script = Script::new("exec sleep 1000");
    let compiler = script.compiler(Duration::from_mins(10));
    {
        let outcome = script.outcome(&compiler);
        tokio::pin!(outcome);
        while script.process().is_none() {
            assert!(tokio::time::timeout(Duration::from_millis(10), &mut outcome).await.is_err());
        }
    }
    script.assert_gone().await;

    let script = Script::new("exec sleep 1000");
    let stopping = CancellationToken::new();
    let limits = CompileLimits::new(Duration::from_mins(10), 1 << 30);
    let compiler = Compiler::new(Program::at(&script.program), limits, Disk::unwatched(), stopping.clone());
    let stop = async {
        while script.process().is_none() {
            sleep(Duration::from_millis(10)).await;
        }
        stopping.cancel();
    };

    let (outcome, ()) = tokio::join!(script.outcome(&compiler), stop);

    assert!(matches!(outcome, Err(CompileError::Stopping)), "{outcome:?}");
    script.assert_gone().await;
    assert!(matches!(script.outcome(&compiler).await, Err(CompileError::Stopping)));
}

#[tokio::test]
async fn the_process_gets_nothing_of_the_environment_and_no_argument_but_one() {
    let script = Script::new("printf '{\"Failed\":\"%s %s\"}' \"$*\" \"$HOME$USER$KITBAG_TOKEN$LANG\"");

    let outcome = script.outcome(&script.compiler(Duration::from_mins(10))).await;

    assert!(
        matches!(&outcome, Err(CompileError::Failed(said)) if said == "compile-component "),
        "{outcome:?}"
    );
}

/// A script that responds with the maximum file size of its request.
fn reports_max_file() -> Script {
    Script::new("printf '{\"Failed\":\"%s\"}' \"$(tr -d '\"' | grep -o 'max_file:[0-9]*')\"")
}

#[tokio::test]
async fn the_process_may_write_no_more_than_the_disk_has_room_for() {
    let script = reports_max_file();
    let ten_minutes = Duration::from_mins(10);

    for (disk, expected) in [
        (Disk::with_room(12_345), "max_file:12345".to_owned()),
        (Disk::with_room(u64::MAX - 1), format!("max_file:{MAX_FILE_BYTES}")),
        (Disk::unwatched(), format!("max_file:{MAX_FILE_BYTES}")),
    ] {
        let outcome = script.outcome(&script.compiler_on(disk, ten_minutes)).await;
        assert!(matches!(&outcome, Err(CompileError::Failed(said)) if *said == expected), "{outcome:?}");
    }

    let too_large = Script::new("kill -XFSZ $$");
    let outcome = too_large.outcome(&too_large.compiler_on(Disk::with_room(12_345), ten_minutes)).await;
    assert!(matches!(outcome, Err(CompileError::DiskFull(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_process_that_writes_ends_when_the_disk_is_full() {
    let script = Script::new("exec sleep 1000");
    let folder = tempfile::tempdir().expect("a scratch directory");
    let disk = Disk::new(folder.path(), Some(u64::MAX)).expect("it can be measured");

    let outcome = script.outcome(&script.compiler_on(disk, Duration::from_mins(10))).await;

    assert!(matches!(outcome, Err(CompileError::DiskFull(_))), "{outcome:?}");
    assert_eq!(script.process(), None, "nothing was started");
}
