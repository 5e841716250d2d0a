//! Listening sockets of a server: TCP and Unix sockets that it opens, or sockets passed by a service manager
//! (`sd_listen_fds(3)`).

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::{fs, net};

use listenfd::ListenFd;
use rustix::net::sockopt::{set_ipv6_v6only, socket_acceptconn};
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio_util::either::Either;
use tracing::{info, warn};

use crate::settings::{Listen, Settings, SettingsError};

/// Length of each socket's accept queue.
const BACKLOG: u32 = 1024;

/// Accepted connection.
pub(super) type Stream = Either<TcpStream, UnixStream>;

/// All sockets of a server.
pub(super) struct Listeners {
    sockets: Vec<Socket>,
    /// Whether a service manager passed the sockets. It keeps them open, so that clients can connect, and
    /// wait, while no process accepts.
    are_held: bool,
    /// Socket that is polled first; rotates, so that no socket starves the others.
    first: AtomicUsize,
}

enum Socket {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        /// Removes the socket file on drop. `None` if the service manager owns the file.
        _file: Option<SocketFile>,
    },
}

/// The file of a Unix socket. Dropping it removes the file.
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Reasons why a server cannot listen.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The address is in use, or not an address of this machine.
    #[error("cannot listen on {address}: {cause}")]
    Address {
        /// The address.
        address: Listen,
        /// The cause.
        cause: io::Error,
    },
    /// A descriptor passed by the service manager is not a listening stream socket.
    #[error("cannot use the sockets that the service manager passed (LISTEN_FDS): {0}")]
    Passed(io::Error),
    /// The settings forbid the address.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl Listeners {
    /// Adopts the sockets passed to this process; if there are none, opens those in the settings.
    pub(super) async fn open(settings: &Settings) -> Result<Self, ListenError> {
        let passed = passed()?;
        let are_held = !passed.is_empty();
        let sockets = if passed.is_empty() {
            let mut sockets = Vec::new();
            for address in settings.listen.iter() {
                let socket = bind(address, settings).await;
                sockets
                    .push(socket.map_err(|cause| ListenError::Address { address: address.clone(), cause })?);
            }
            sockets
        } else {
            info!(
                sockets = passed.len(),
                "listening on sockets of the service manager; the setting listen is not used"
            );
            passed
        };
        let listeners = Self { sockets, are_held, first: AtomicUsize::new(0) };
        settings.expect_allowed(listeners.addresses().iter().filter_map(Listen::tcp))?;
        Ok(listeners)
    }

    /// Opens one TCP socket.
    pub(super) fn on(address: SocketAddr) -> Result<Self, ListenError> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        };
        let socket = socket.and_then(|socket| bind_tcp(socket, address));
        let socket = socket.map_err(|cause| ListenError::Address { address: Listen::Tcp(address), cause })?;
        Ok(Self { sockets: vec![socket], are_held: false, first: AtomicUsize::new(0) })
    }

    /// The addresses of all sockets.
    pub(super) fn addresses(&self) -> Vec<Listen> {
        self.sockets.iter().filter_map(Socket::address).collect()
    }

    /// Whether a service manager owns the sockets and passes them to the next process.
    pub(super) fn are_held(&self) -> bool {
        self.are_held
    }

    /// Waits for a connection on any socket; returns it with the peer's address, or `None` for a Unix socket.
    pub(super) async fn accept(&self) -> io::Result<(Stream, Option<IpAddr>)> {
        let first = self.first.fetch_add(1, Ordering::Relaxed);
        poll_fn(|context| {
            let count = self.sockets.len();
            let ready = (0..count).find_map(|index| {
                match self.sockets[first.wrapping_add(index) % count].poll_accept(context) {
                    Poll::Ready(accepted) => Some(accepted),
                    Poll::Pending => None,
                }
            });
            ready.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

impl Socket {
    fn address(&self) -> Option<Listen> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(Listen::Tcp),
            Self::Unix { listener, .. } => {
                let address = listener.local_addr().ok()?;
                Some(Listen::Unix(address.as_pathname().unwrap_or(Path::new("")).to_owned()))
            }
        }
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Stream, Option<IpAddr>)>> {
        match self {
            Self::Tcp(listener) => {
                listener.poll_accept(context).map_ok(|(stream, peer)| (Either::Left(stream), Some(peer.ip())))
            }
            Self::Unix { listener, .. } => {
                listener.poll_accept(context).map_ok(|(stream, _)| (Either::Right(stream), None))
            }
        }
    }
}

async fn bind(address: &Listen, settings: &Settings) -> io::Result<Socket> {
    match address {
        Listen::Tcp(address @ SocketAddr::V4(_)) => bind_tcp(TcpSocket::new_v4()?, *address),
        Listen::Tcp(address @ SocketAddr::V6(_)) => {
            let socket = TcpSocket::new_v6()?;
            let has_twin = |other: SocketAddr| other.is_ipv4() && other.port() == address.port();
            // On most systems, the IPv6 socket would otherwise also claim the IPv4 addresses of its port.
            if settings.listen.iter().filter_map(Listen::tcp).any(has_twin) {
                set_ipv6_v6only(&socket, true)?;
            }
            bind_tcp(socket, *address)
        }
        Listen::Unix(path) => bind_unix(path, settings.listen_socket_mode.bits()).await,
    }
}

fn bind_tcp(socket: TcpSocket, address: SocketAddr) -> io::Result<Socket> {
    // Lets a restarted server bind while old connections are in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG).map(Socket::Tcp)
}

async fn bind_unix(path: &Path, mode: u32) -> io::Result<Socket> {
    if path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket()) {
        match UnixStream::connect(path).await {
            // Left over from a server that was killed.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        }
    }
    let listener = UnixListener::bind(path)?;
    let metadata = path.symlink_metadata()?;
    let file = SocketFile { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(Socket::Unix { listener, _file: Some(file) })
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = |file: fs::Metadata| (file.dev(), file.ino()) == (self.device, self.inode);
        // Another server may have created its own socket at this path.
        if self.path.symlink_metadata().is_ok_and(is_ours)
            && let Err(error) = fs::remove_file(&self.path)
        {
            warn!(path = %self.path.display(), %error, "cannot remove the socket");
        }
    }
}

/// Listening sockets passed to this process; empty if none were.
fn passed() -> Result<Vec<Socket>, ListenError> {
    let mut passed = ListenFd::from_env();
    (0..passed.len()).map(|index| take(&mut passed, index).map_err(ListenError::Passed)).collect()
}

fn take(passed: &mut ListenFd, index: usize) -> io::Result<Socket> {
    let missing = || io::Error::other("it was taken before");
    // The address family is detected by trial: a descriptor of another family stays in the list.
    if let Ok(listener) = passed.take_tcp_listener(index) {
        let listener: net::TcpListener = listener.ok_or_else(missing)?;
        expect_listening(&listener)?;
        listener.set_nonblocking(true)?;
        return TcpListener::from_std(listener).map(Socket::Tcp);
    }
    let listener = passed.take_unix_listener(index)?.ok_or_else(missing)?;
    expect_listening(&listener)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener).map(|listener| Socket::Unix { listener, _file: None })
}

/// Fails unless the socket is listening: `accept` on any other would fail forever.
fn expect_listening(socket: &impl AsFd) -> io::Result<()> {
    if socket_acceptconn(socket)? {
        Ok(())
    } else {
        Err(io::Error::other("it does not listen (Accept=no is needed)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_that_was_left_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));

        let first = bind_unix(&path, 0o660).await.expect("nobody listens");
        let second = bind_unix(&path, 0o660).await;

        assert_eq!(second.err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
        assert_eq!(path.metadata().expect("a socket").mode() & 0o777, 0o660);
        drop(first);
        assert!(!path.exists());
        fs::write(&path, "mine").expect("a file");
        assert!(bind_unix(&path, 0o600).await.is_err());
        assert_eq!(fs::read_to_string(&path).expect("a file"), "mine");
    }
}
