//! A relay between a process and its database, which can fall silent.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

/// Passes bytes on, until it is silent: then connections stay open and nothing comes through, in neither direction.
pub(super) struct Link {
    port: u16,
    is_silent: watch::Sender<bool>,
    relaying: JoinHandle<()>,
}

impl Link {
    /// Relays to the host and port of a URL.
    pub(super) async fn to(target: &Url) -> Self {
        let target = (target.host_str().expect("a host").to_owned(), target.port().expect("a port"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (is_silent, state) = watch::channel(false);
        let relaying = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(&target).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::spawn(pass(near_in, far_out, state.clone()));
                tokio::spawn(pass(far_in, near_out, state.clone()));
            }
        });
        Self { port, is_silent, relaying }
    }

    /// The URL, through the relay.
    pub(super) fn through(&self, target: &Url) -> Url {
        let mut url = target.clone();
        url.set_host(Some("127.0.0.1")).expect("a host");
        url.set_port(Some(self.port)).expect("a port");
        url
    }

    pub(super) fn fall_silent(&self) {
        self.is_silent.send_replace(true);
    }

    pub(super) fn speak_again(&self) {
        self.is_silent.send_replace(false);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.relaying.abort();
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_silent: watch::Receiver<bool>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        // Its sender ends with the test.
        if is_silent.wait_for(|silent| !silent).await.is_err() || to.write_all(&bytes[..read]).await.is_err()
        {
            return;
        }
    }
}
