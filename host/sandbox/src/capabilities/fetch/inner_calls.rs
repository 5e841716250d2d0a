//! Tool calls by the component that runs code of models. They are requests to a reserved host name, which
//! this process answers itself; none of the component's requests reaches a network.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use kitbag_base::memory::Lease;
use kitbag_base::shares::Share;
use kitbag_net::egress::Egress;
use wasmtime_wasi_http::{Error, WasiBody};

use super::{claim_from, footprint};

/// Reserved host name of these requests. Names in `.invalid` do not resolve (RFC 6761, section 6.4).
pub const HOST: &str = "tools.kitbag.invalid";

/// Maximum size of the arguments of one call, in bytes.
const MAX_ARGUMENTS: usize = 256 << 10;
/// Memory that a byte of JSON may take once parsed: a list of digits has one value for every two bytes.
const PARSED_PER_BYTE: usize = 16;

/// Answers tool calls.
pub trait InnerCalls: Send + Sync {
    /// Runs the tool call that a request to `path` stands for. The JSON arguments are read only when the call
    /// has a slot. Dropping the future ends the call.
    fn call(self: Arc<Self>, path: String, arguments: Arguments) -> BoxFuture<'static, InnerResponse>;
}

/// Arguments of a call that have not been read yet.
pub struct Arguments {
    body: WasiBody,
    lease: Option<Arc<Lease>>,
}

/// Arguments as JSON, and the memory that they take, also once parsed.
pub(crate) type InnerArguments = (Bytes, Option<Share>);

/// The answer to a call.
pub struct InnerResponse {
    /// The result, as JSON.
    pub json: Bytes,
    /// The call's slot, released when there is memory for the answer.
    pub place: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl Arguments {
    /// Reads the arguments, at most 256 KiB. `None` if they are longer, or if there is no memory for them.
    pub async fn read(self) -> Option<InnerArguments> {
        let json = Limited::new(self.body, MAX_ARGUMENTS).collect().await.ok()?.to_bytes();
        let held = match &self.lease {
            Some(lease) => Some(claim_from(lease, PARSED_PER_BYTE * json.len()).await.ok()?),
            None => None,
        };
        Some((json, held))
    }

    /// Reads the arguments and discards them: the guest waits until they are read.
    pub async fn discard(mut self) {
        while let Some(Ok(_)) = self.body.frame().await {}
    }
}

/// Handler of the requests of one component.
#[derive(Clone)]
pub(super) struct Inner {
    pub(super) calls: Arc<dyn InnerCalls>,
    pub(super) egress: Egress,
}

impl Inner {
    /// Answers a request. The answer counts as memory of `lease` until the guest has finished with it.
    pub(super) async fn respond(
        self,
        request: Request<WasiBody>,
        lease: Option<Arc<Lease>>,
    ) -> Result<Response<WasiBody>, Error> {
        if request.uri().host() != Some(HOST) {
            return Err(Error::HttpRequestDenied);
        }
        // Until now this memory was counted as a resource's.
        let _request_memory = lease.as_ref().map(|lease| lease.count_existing(footprint::waiting(&request)));
        let path = request.uri().path().to_owned();
        let arguments = Arguments { body: request.into_body(), lease: lease.clone() };
        // Not on the guest's own thread: calls take locks that others wait for.
        let answer = self.egress.run_on_runtime(self.calls.call(path, arguments)).await;
        let InnerResponse { json, place } = answer.map_err(|_interrupted| Error::HttpProtocolError)?;
        let held = match lease {
            Some(lease) => Some(claim_from(&lease, json.len()).await?),
            None => None,
        };
        drop(place);
        let body = Full::new(json).map_err(|never| match never {});
        Ok(Response::new(
            body.map_frame(move |frame| {
                let _held = &held;
                frame
            })
            .boxed_unsync(),
        ))
    }
}
