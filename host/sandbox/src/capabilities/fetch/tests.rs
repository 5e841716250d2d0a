//! A guest's requests, from wasmtime's hook to a real server and back.

mod limits;
mod redirects;
mod sign_in;

use std::collections::HashMap;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kitbag_base::memory::MemoryBudget;
use kitbag_manifest::{Auth, OAuth2ClientCredentials, ToolkitDefinition};
use kitbag_net::egress::test_server::TestServer;
use kitbag_net::egress::{Egress, EgressSettings, Membership};
use kitbag_vault::UserSecrets;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::*;
use crate::capabilities::Grants;

/// A toolkit's declaration and its user's secrets, from which test calls are created.
struct Toolkit {
    listed: Vec<String>,
    auth: Option<OAuth2ClientCredentials>,
    /// The user's secrets.
    secrets: HashMap<String, &'static str>,
    limits: FetchLimits,
}

/// A call that may send requests.
struct Guest {
    fetch: Fetch,
    observations: Observations,
}

/// Services with a token cache and a client that reaches loopback.
fn services() -> Services {
    let toolkit_ranges = ["127.0.0.0/8", "::1/128"].map(|range| range.parse().unwrap()).into_iter().collect();
    Services::new(Egress::new(EgressSettings { toolkit_ranges, ..EgressSettings::default() }))
}

fn limits() -> FetchLimits {
    FetchLimits { in_flight: 16, requests: 50, request_body: 8 << 20, response_body: 1 << 20 }
}

impl Toolkit {
    /// Lists a server by its address and by its name, and an address that the guard always refuses.
    fn reaching(server: &TestServer) -> Self {
        let port = server.port();
        let listed =
            vec![format!("127.0.0.1:{port}"), format!("localhost:{port}"), "169.254.169.254".to_owned()];
        Self::listing(listed)
    }

    fn listing(listed: Vec<String>) -> Self {
        Self { listed, auth: None, secrets: HashMap::new(), limits: limits() }
    }

    fn call(&self) -> Guest {
        self.call_with(&services())
    }

    fn call_with(&self, services: &Services) -> Guest {
        let definition = ToolkitDefinition {
            id: "books".to_owned(),
            egress: self.listed.clone(),
            auth: self.auth.clone().map(Auth::ClientCredentials).map(Into::into).unwrap_or_default(),
            ..ToolkitDefinition::default()
        };
        let secrets =
            self.secrets.iter().map(|(name, value)| (("books".to_owned(), name.clone()), (*value).into()));
        let observations = Observations::new(64 << 10);
        let lease = MemoryBudget::unlimited().admit("ana", 0, Duration::ZERO).now_or_never();
        let call = CallContext {
            readable: &[],
            services,
            grants: &Grants::of(&definition),
            owner: "op",
            user_id: &"ana".into(),
            membership: &Membership::none(),
            secrets: &Arc::new(UserSecrets::of(secrets.collect())),
            progress: None,
            answers: None,
            inner_calls: None,
            observations: &observations,
            lease: &Arc::new(lease.expect("at once").expect("there is room")),
            fetch: &self.limits,
        };
        Guest { fetch: Fetch::of(&call), observations }
    }
}

impl Guest {
    fn send(
        &mut self,
        request: Request<WasiBody>,
    ) -> impl Future<Output = Result<Response<WasiBody>, Error>> + use<> {
        self.send_with(request, RequestOptions::default())
    }

    fn send_with(
        &mut self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> impl Future<Output = Result<Response<WasiBody>, Error>> + use<> {
        let processed = Box::new(std::future::ready(Ok(())));
        let sent = Pin::from(self.fetch.hooks.send_request(request, Some(options), processed));
        async { Ok(sent.await?.0) }
    }

    async fn get(&mut self, uri: &str) -> Result<u16, Error> {
        Ok(self.send(get(uri)).await?.status().as_u16())
    }

    /// Returns the host's messages in the log.
    fn notes(&self) -> String {
        let entries = self.observations.log.take().entries.into_iter();
        entries
            .map(|entry| serde_json::from_str::<String>(entry.arguments[0].get()).unwrap() + "\n")
            .collect()
    }
}

fn get(uri: &str) -> Request<WasiBody> {
    request("GET", uri, "")
}

fn request(method: &str, uri: &str, body: impl Into<Bytes>) -> Request<WasiBody> {
    let body = Full::new(body.into()).map_err(|never| match never {}).boxed_unsync();
    Request::builder().method(method).uri(uri).body(body).unwrap()
}

async fn whole(response: Response<WasiBody>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

/// Answers `/redirect/{status}?{location}` with that redirect, and other paths with `hello`.
fn redirecting(head: &http::request::Parts) -> Response<Full<Bytes>> {
    match head.uri.path().strip_prefix("/redirect/") {
        Some(status) => Response::builder()
            .status(status.parse::<u16>().unwrap())
            .header("location", head.uri.query().unwrap_or_default())
            .body(Full::default())
            .unwrap(),
        None => Response::new(Full::from("hello")),
    }
}
