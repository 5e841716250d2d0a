//! Wrappers of axum's functions for routes (`get` and the others), which erase the type of a handler. Axum's
//! code for a handler is then compiled once for each state, and the compiler proves once for each handler
//! that its future may change threads (docs/performance.md, "The first build").

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};

/// Boxed future of a response, as axum boxes that of a function.
type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A type-erased handler for routers with the state `S`.
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
