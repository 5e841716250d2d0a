//! Configuration of name servers and hosts, read from the system's files and reloaded when they change.

use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{Hosts, Resolver, TokioResolver};
use kitbag_base::tasks::off_thread;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::warn;

use super::cache::Cache;

/// The system's list of name servers.
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Minimum time between two checks of the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Timeout and retries of one DNS query. Together they end before the look-up's own timeout, so that a
/// name server which answers for IPv4 only still gives a result.
const MAX_QUERY_TIME: Duration = Duration::from_secs(2);
const MAX_RETRIES: usize = 1;

/// Sources of addresses: name servers and hosts file.
#[derive(Clone, Debug)]
pub(in crate::egress) struct Source {
    /// The operator's name servers; the system's if empty.
    pub(in crate::egress) name_servers: Vec<SocketAddr>,
    /// The hosts file.
    pub(in crate::egress) hosts: PathBuf,
    /// Time limit of one look-up.
    pub(in crate::egress) timeout: Duration,
}

/// A source and its current configuration.
#[derive(Debug)]
pub(super) struct Config {
    source: Source,
    current: Mutex<Option<(Instant, Arc<Current>)>>,
}

/// Parsed content of the files, and answers cached since they were read.
pub(super) struct Current {
    stamps: [Option<Stamp>; 2],
    hosts: Hosts,
    /// `None` if no name server is configured.
    pub(super) resolver: Option<TokioResolver>,
    pub(super) answers: Cache,
}

/// Metadata that shows whether a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Config {
    pub(super) fn new(source: Source) -> Self {
        Self { source, current: Mutex::new(None) }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.source.timeout
    }

    /// Returns the configuration, at most one second old.
    pub(super) async fn current(&self) -> Arc<Current> {
        let mut current = self.current.lock().await;
        if let Some((checked_at, known)) = &mut *current {
            if checked_at.elapsed() < CHECK_INTERVAL {
                return known.clone();
            }
            // Two `stat` calls on cached files: too fast to need a blocking thread.
            if known.stamps == stamps(&self.source) {
                *checked_at = Instant::now();
                return known.clone();
            }
        }
        let source = self.source.clone();
        let read = Arc::new(off_thread(move || Current::read(&source)).await);
        *current = Some((Instant::now(), read.clone()));
        read
    }
}

impl Current {
    fn read(source: &Source) -> Self {
        let stamps = stamps(source);
        let resolver = resolver(source).inspect_err(|error| {
            warn!(%error, "no name server can be asked: toolkits and captures reach addresses and /etc/hosts alone");
        });
        Self { stamps, hosts: read_hosts(&source.hosts), resolver: resolver.ok(), answers: Cache::new() }
    }

    /// Returns the addresses of a name in the hosts file.
    pub(super) fn host(&self, name: &Name) -> Vec<IpAddr> {
        let of_type = |record_type| self.hosts.lookup_static_host(&Query::query(name.clone(), record_type));
        let found = [RecordType::A, RecordType::AAAA].into_iter().filter_map(of_type);
        let addresses = |lookup: &hickory_resolver::lookup::Lookup| {
            lookup.answers().iter().filter_map(|record| record.data.ip_addr()).collect::<Vec<_>>()
        };
        found.flat_map(|lookup| addresses(&lookup)).collect()
    }
}

fn resolver(source: &Source) -> Result<TokioResolver, NetError> {
    let (config, mut options) = if source.name_servers.is_empty() {
        read_system_conf()?
    } else {
        (ResolverConfig::from_name_servers(server_configs(&source.name_servers)), ResolverOpts::default())
    };
    options.timeout = options.timeout.clamp(Duration::from_millis(500), MAX_QUERY_TIME);
    options.attempts = options.attempts.min(MAX_RETRIES);
    // Cache and hosts file are implemented here: the library's cache is bounded by entries and not by their
    // size, and with a hosts file the library still queries the name servers for what the file lacks.
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    let mut builder = Resolver::builder_with_config(config, TokioRuntimeProvider::default());
    *builder.options_mut() = options;
    builder.build()
}

fn server_configs(name_servers: &[SocketAddr]) -> Vec<NameServerConfig> {
    let at_port = |mut connection: ConnectionConfig, port| {
        connection.port = port;
        connection
    };
    let config = |server: &SocketAddr| {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
        let connections = connections.map(|connection| at_port(connection, server.port())).into();
        NameServerConfig::new(server.ip(), true, connections)
    };
    name_servers.iter().map(config).collect()
}

fn read_hosts(file: &Path) -> Hosts {
    let mut hosts = Hosts::default();
    match File::open(file).and_then(|file| hosts.read_hosts_conf(file)) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => warn!(%error, file = %file.display(), "could not read the names of hosts"),
    }
    hosts
}

fn stamps(source: &Source) -> [Option<Stamp>; 2] {
    [Path::new(RESOLV_CONF), &source.hosts].map(|file| {
        let file = fs::metadata(file).ok()?;
        Some(Stamp { inode: file.ino(), size: file.size(), changed: (file.mtime(), file.mtime_nsec()) })
    })
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("stamps", &self.stamps).finish_non_exhaustive()
    }
}
