//! The outermost layer of all routes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt as _;
use kitbag_base::metrics::Metrics;
use tokio_util::sync::CancellationToken;

use super::arrival::{self, Rest};
use super::error::{self, WebError};
use super::pace::Pace;
use super::{health, json, media_type};

/// State of the outermost layer.
#[derive(Clone)]
pub(super) struct Answering {
    pub(super) pace: Pace,
    pub(super) rest: Rest,
    pub(super) metrics: Metrics,
    /// Cancelled when requests are refused because the server stops; `None` for routes that also answer then.
    pub(super) refusing: Option<CancellationToken>,
}

impl Answering {
    /// Refuses requests while the server stops and those with a compressed body, limits the arrival time of
    /// bodies, responds for handlers that panic, and gives all errors one form.
    pub(super) async fn answer<F>(&self, request: Request, handle: impl FnOnce(Request) -> F) -> Response
    where
        F: Future<Output = Response>,
    {
        let Self { pace, rest, metrics, refusing } = self;
        let response = if refusing.as_ref().is_some_and(CancellationToken::is_cancelled) {
            health::stopping()
        } else {
            arrival::require(*pace, *rest, request, |request| async {
                match media_type::refuse_encoded(request.headers()) {
                    Some(refusal) => refusal,
                    None => without_panic(handle(request)).await,
                }
            })
            .await
        };
        let response = json::completed(error::as_problem(response).await);
        metrics.response(response.status().as_u16());
        response
    }
}

/// Outermost layer. One layer, since axum copies all that is inside a layer for each request.
pub(super) async fn answer(
    State(answering): State<Arc<Answering>>,
    request: Request,
    next: Next,
) -> Response {
    answering.answer(request, |request| next.run(request)).await
}

/// Responds with 500 if a handler panics. The hook of panics has logged it (`telemetry`).
async fn without_panic(handling: impl Future<Output = Response>) -> Response {
    let response = AssertUnwindSafe(handling).catch_unwind().await;
    response.unwrap_or_else(|_panic| {
        WebError::new(StatusCode::INTERNAL_SERVER_ERROR, "The server failed.").into_response()
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use axum::Router;
    use axum::body::Body;
    use axum::http::header;
    use axum::middleware::from_fn_with_state;
    use futures::stream;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn a_handler_that_panics_is_answered_for_and_its_connection_ends() {
        let pace = Pace { pause: Duration::from_secs(9), rate: 1 };
        let state = Answering { pace, rest: Rest::Unread, metrics: Metrics::default(), refusing: None };
        let router: Router = Router::new()
            .fallback(async || -> StatusCode { panic!("on purpose") })
            .layer(from_fn_with_state(Arc::new(state), answer));
        let body = Body::from_stream(stream::iter(["unread"].map(Ok::<_, io::Error>)));

        let response = router.oneshot(Request::post("/").body(body).expect("a request")).await;

        let response = response.expect("the router cannot fail");
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()[header::CONNECTION], "close");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    }
}
