//! Server in its own process, so that its use of resources can be measured.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;

/// Length of a tick in `/proc/PID/stat`: Linux reports 100 per second on every machine.
const TICK: Duration = Duration::from_millis(10);

/// Time limit for a server to accept connections.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Interval between attempts to connect to a starting server.
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);

/// Processor time of a process, in user and kernel mode.
pub(crate) struct ProcessorTime {
    pub(crate) own: Duration,
    /// Processor time of ended children and their ended children.
    #[allow(dead_code, reason = "not every benchmark measures several processes")]
    pub(crate) of_ended_children: Duration,
    /// Process id of the parent.
    #[allow(dead_code, reason = "not every benchmark measures several processes")]
    pub(crate) parent: u32,
}

/// Reads the processor time of a process so far.
pub(crate) fn processor_time_of(process: u32) -> Outcome<ProcessorTime> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may contain any characters. After it: the state, the parent, and, as fields 14 to 17, times.
    let (_, after_name) = stat.rsplit_once(')').ok_or("/proc/PID/stat has a name in parentheses")?;
    let fields: Vec<u32> =
        after_name.split_whitespace().map(|field| field.parse().unwrap_or_default()).collect();
    let [_, parent, .., user, kernel, user_of_children, kernel_of_children] =
        fields.get(..15).ok_or("/proc/PID/stat has 52 fields")?
    else {
        return Err("15 fields are more than six".into());
    };
    Ok(ProcessorTime {
        own: TICK * (user + kernel),
        of_ended_children: TICK * (user_of_children + kernel_of_children),
        parent: *parent,
    })
}

/// Running server. It ends when this value is dropped.
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `command` and waits until it prints its address: a line with `http://ADDRESS`.
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let stdout = process.stdout.take().ok_or("standard output is piped")?;
        let address = BufReader::new(stdout).lines().map_while(Result::ok).find_map(|line| address_in(&line));
        match address {
            Some(address) => Ok(Self { process, address }),
            None => Err(format!("{command:?} ended without serving: {}", process.wait()?).into()),
        }
    }

    /// Starts `command`, which should listen on `address`, and waits until it accepts connections. Its
    /// standard output is discarded.
    #[allow(dead_code, reason = "one of the benchmarks starts servers that do not print their address")]
    pub(crate) fn start_at(address: SocketAddr, command: &mut Command) -> Outcome<Self> {
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let mut server = Self { process, address };
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(address).is_err() {
            if let Some(status) = server.process.try_wait()? {
                return Err(format!("{command:?} ended without serving: {status}").into());
            }
            if Instant::now() >= deadline {
                return Err(format!("{command:?} does not listen on {address}").into());
            }
            thread::sleep(CONNECT_INTERVAL);
        }
        Ok(server)
    }

    /// Listening address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Process id.
    #[allow(dead_code, reason = "one of the benchmarks samples it by itself")]
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Processor time so far, in user and kernel mode.
    pub(crate) fn processor_time(&self) -> Outcome<Duration> {
        Ok(processor_time_of(self.process.id())?.own)
    }

    /// Memory in KiB (PSS): pages shared with other processes count proportionally.
    pub(crate) fn memory(&self) -> Outcome<u32> {
        self.pages("Pss:")
    }

    /// Memory in KiB without pages of files.
    #[allow(dead_code, reason = "one of the benchmarks measures it")]
    pub(crate) fn anonymous_memory(&self) -> Outcome<u32> {
        self.pages("Pss_Anon:")
    }

    /// Memory of one kind in KiB, as in `/proc/PID/smaps_rollup`.
    fn pages(&self, kind: &str) -> Outcome<u32> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.process.id()))?;
        let line = rollup.lines().find_map(|line| line.strip_prefix(kind));
        let kibibytes = line.ok_or_else(|| format!("smaps_rollup has no line {kind}"))?;
        Ok(kibibytes.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Errors are ignored: it may have ended already, and a drop cannot report them.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, url) = line.split_once("http://")?;
    url.split(['/', ' ']).next()?.parse().ok()
}
