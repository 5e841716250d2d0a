//! Where rmcp parses or encodes much, its service is polled off the threads that serve requests, in a turn of
//! the user.
//!
//! A method says before it returns that its result is large ([`Aside::step`]), and waits until the service is
//! polled there.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use axum::body::Body;
use axum::response::Response;
use futures::executor::block_on;
use futures::stream::{StreamExt, unfold};
use kitbag_base::workers::INLINE_BYTES;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::share::RequestShare;

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Place of one request's service.
#[derive(Clone)]
pub(super) struct Aside(Arc<State>);

struct State {
    share: RequestShare,
    /// Whether the result is large.
    is_large: AtomicBool,
    announced: Notify,
    /// Signals that the service is polled elsewhere from now on.
    moved: Notify,
}

impl Aside {
    pub(super) fn new(share: RequestShare) -> Self {
        let (announced, moved) = (Notify::new(), Notify::new());
        Self(Arc::new(State { share, is_large: AtomicBool::new(false), announced, moved }))
    }

    /// Before a method returns its result: moves the service if the result is large.
    pub(super) async fn step(&self) {
        if self.0.share.expected_answer() > INLINE_BYTES {
            self.0.is_large.store(true, Ordering::SeqCst);
            self.0.announced.notify_one();
            self.0.moved.notified().await;
        }
    }

    /// Runs the service of a request whose body has `bytes` bytes. The first poll parses it.
    pub(super) async fn serve(&self, bytes: usize, mut service: Work<Response>) -> Response {
        if bytes > INLINE_BYTES {
            let server = Handle::current();
            let parse = move || {
                let _server = server.enter();
                let polled = service.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                (polled, service)
            };
            let polled;
            (polled, service) = self.0.share.in_turn(parse).await;
            if let Poll::Ready(response) = polled {
                return response;
            }
        }
        self.attend(service).await
    }

    /// Pulls the frames of a streamed response in the same way.
    pub(super) fn streamed(self, response: Response) -> Response {
        response.map(|body| {
            Body::from_stream(unfold((self, body.into_data_stream()), |(aside, mut frames)| async move {
                let next: Work<_> = Box::pin(async move { (frames.next().await, frames) });
                let (frame, frames) = aside.attend(next).await;
                Some((frame?, (aside, frames)))
            }))
        })
    }

    /// Polls `work` here, and elsewhere once the result is known to be large: then it only waits until the
    /// method has returned.
    async fn attend<T: Send + 'static>(&self, mut work: Work<T>) -> T {
        let State { share, is_large, announced, .. } = &*self.0;
        if !is_large.load(Ordering::SeqCst) {
            tokio::select! {
                biased;
                () = announced.notified() => {}
                done = &mut work => return done,
            }
        }
        let (state, server) = (self.0.clone(), Handle::current());
        share
            .in_turn(move || {
                let _server = server.enter();
                state.moved.notify_one();
                block_on(work)
            })
            .await
    }
}
