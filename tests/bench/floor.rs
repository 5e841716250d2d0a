//! The floor: a server of HTTP and JSON only, as the lower bound for the cost of a request.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::Outcome;

/// Response of the token endpoint.
const TOKEN: &[u8] =
    br#"{"access_token":"a-token-of-the-benchmark","token_type":"Bearer","expires_in":86400}"#;

/// Responds to every request with its own JSON body, parsed and serialized again. `/token` is a token
/// endpoint.
pub(crate) async fn serve() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("the floor serves http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(echo)));
    }
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match reserialize(request).await {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string().into()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn reserialize(request: Request<Incoming>) -> Outcome<Vec<u8>> {
    if request.uri().path() == "/token" {
        return Ok(TOKEN.to_vec());
    }
    let body = request.into_body().collect().await?.to_bytes();
    let value: Value = serde_json::from_slice(&body)?;
    Ok(serde_json::to_vec(&value)?)
}
