//! TCP relay between a process and its database or bucket. It can stop passing data.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

type Target = (String, u16);

/// TCP relay. While silent, connections stay open, but no data passes in either direction.
pub(super) struct Link {
    port: u16,
    is_silent: watch::Sender<bool>,
    target: watch::Sender<Target>,
    relaying: JoinHandle<()>,
}

impl Link {
    /// Starts a relay to the host and port of a URL.
    pub(super) async fn to(target: &Url) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (is_silent, silence) = watch::channel(false);
        let (target, targets) = watch::channel(place(target));
        let relaying = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let current = targets.borrow().clone();
                let Ok(far) = TcpStream::connect(&current).await else { continue };
                tokio::spawn(relay(near, far, silence.clone(), targets.clone(), current));
            }
        });
        Self { port, is_silent, target, relaying }
    }

    /// Returns the URL with host and port of the relay.
    pub(super) fn through(&self, target: &Url) -> Url {
        let mut url = target.clone();
        url.set_host(Some("127.0.0.1")).expect("a host");
        url.set_port(Some(self.port)).expect("a port");
        url
    }

    /// HTTP origin of the relay.
    pub(super) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(super) fn fall_silent(&self) {
        self.is_silent.send_replace(true);
    }

    pub(super) fn speak_again(&self) {
        self.is_silent.send_replace(false);
    }

    /// Relays new connections to another target, and closes open ones.
    pub(super) fn redirect(&self, target: &Url) {
        self.target.send_replace(place(target));
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.relaying.abort();
    }
}

fn place(url: &Url) -> Target {
    (url.host_str().expect("a host").to_owned(), url.port().expect("a port"))
}

/// Passes bytes in both directions until both end or the target changes.
async fn relay(
    near: TcpStream,
    far: TcpStream,
    silence: watch::Receiver<bool>,
    mut targets: watch::Receiver<Target>,
    current: Target,
) {
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let both =
        async { tokio::join!(pass(near_in, far_out, silence.clone()), pass(far_in, near_out, silence)) };
    tokio::select! {
        _ = both => {}
        _ = targets.wait_for(|target| *target != current) => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_silent: watch::Receiver<bool>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        // An error means that the test has ended and dropped the sender.
        if is_silent.wait_for(|silent| !silent).await.is_err() || to.write_all(&bytes[..read]).await.is_err()
        {
            return;
        }
    }
}
