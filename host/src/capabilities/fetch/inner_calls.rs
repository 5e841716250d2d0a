//! Calls of tools by the component that runs code of models: requests to a host that there is not, which this process answers.
//! Nothing of such a component goes to a network.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use wasmtime_wasi_http::{Error, WasiBody};

use crate::egress::Egress;
use crate::memory::Lease;

/// The host of such requests. No name ends so (RFC 6761, section 6.4).
pub(crate) const HOST: &str = "tools.kitbag.invalid";

/// Bytes of the arguments of one call.
const MAX_ARGUMENTS: usize = 1 << 20;

/// Answers calls of tools.
pub trait InnerCalls: Send + Sync {
    /// Makes the call that a request means, of this path and with these arguments as JSON. Answers with JSON. Dropping the
    /// future ends the call.
    fn call(self: Arc<Self>, path: String, arguments: Bytes) -> BoxFuture<'static, Bytes>;
}

/// What the requests of one component go to.
#[derive(Clone)]
pub(super) struct Inner {
    pub(super) calls: Arc<dyn InnerCalls>,
    pub(super) egress: Egress,
}

impl Inner {
    /// Answers a request. Its answer is held in `lease` until the guest has finished with it.
    pub(super) async fn respond(
        self,
        request: Request<WasiBody>,
        lease: Option<Arc<Lease>>,
    ) -> Result<Response<WasiBody>, Error> {
        if request.uri().host() != Some(HOST) {
            return Err(Error::HttpRequestDenied);
        }
        let path = request.uri().path().to_owned();
        let arguments = Limited::new(request.into_body(), MAX_ARGUMENTS).collect().await;
        let arguments = arguments.map_err(|_too_long| Error::HttpRequestBodySize(None))?.to_bytes();
        // Never on the guest's own thread: calls take locks that others wait for.
        let answer = self.egress.run_on_runtime(self.calls.call(path, arguments)).await;
        let answer = answer.map_err(|_interrupted| Error::HttpProtocolError)?;
        let held = match lease {
            Some(lease) => Some(super::claim_from(&lease, answer.len()).await?),
            None => None,
        };
        let body = Full::new(answer).map_err(|never| match never {});
        Ok(Response::new(
            body.map_frame(move |frame| {
                let _held = &held;
                frame
            })
            .boxed_unsync(),
        ))
    }
}
