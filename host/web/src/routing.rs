//! Methods of routes. The type of a handler is erased where it is registered: what axum makes of one is then compiled once for
//! each state and not for each handler, and the compiler proves once that its future may change threads (docs/performance.md).

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};

/// What answers a request. Functions answer so (`Handler`).
type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of requests to a server with the state `S`.
struct Erased<S>(Arc<dyn Fn(Request, S) -> Answer + Send + Sync>);

impl<S> Clone for Erased<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: 'static> Handler<(), S> for Erased<S> {
    type Future = Answer;

    fn call(self, request: Request, state: S) -> Answer {
        (self.0)(request, state)
    }
}

macro_rules! methods {
    ($($method:ident)+) => {$(
        pub(crate) fn $method<H, T, S>(handler: H) -> MethodRouter<S, Infallible>
        where
            H: Handler<T, S, Future = Answer>,
            T: 'static,
            S: Clone + Send + Sync + 'static,
        {
            routing::$method(Erased(Arc::new(move |request, state| handler.clone().call(request, state))))
        }
    )+};
}

methods! { delete get patch post put }
