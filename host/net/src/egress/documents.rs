//! Reads whole responses within a size and time limit, and fetches files with redirects.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderName, HeaderValue};
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use kitbag_base::redaction::Redactor;
use tokio::time::timeout;
use url::Url;

use super::connection::ResponseBody;
use super::redirects::{Redirects, Step};
use super::repeatable::Repeatable;
use super::target::Target;
use super::{BoxError, Egress, EgressError, Policy};

/// Request headers for files: any type, uncompressed. Nothing here decompresses.
const FILE_HEADERS: [(HeaderName, HeaderValue); 2] =
    [(ACCEPT, HeaderValue::from_static("*/*")), (ACCEPT_ENCODING, HeaderValue::from_static("identity"))];

impl Egress {
    /// Sends one request and reads the whole response, whatever its status: at most `max_bytes` of
    /// body, in at most `within` overall.
    pub async fn exchange<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
        max_bytes: usize,
        within: Duration,
    ) -> Result<Response<Bytes>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let target = Target::of(request.uri())?;
        let whole = async {
            let (head, body) = self.send(request, policy).await?.into_parts();
            Ok(Response::from_parts(head, read(body, &target, max_bytes).await?))
        };
        let timed_out = || EgressError::Timeout { authority: target.authority() };
        timeout(within, whole).await.unwrap_or_else(|_| Err(timed_out()))
    }

    /// Like [`exchange`](Self::exchange), for a service that may respond later than the configured response
    /// timeout.
    pub async fn exchange_slow<B>(
        &self,
        request: Request<B>,
        policy: &Policy,
        max_bytes: usize,
        within: Duration,
    ) -> Result<Response<Bytes>, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let slow = Self { response_timeout: within, ..self.clone() };
        slow.exchange(request, policy, max_bytes, within).await
    }

    /// Requests a file and follows redirects, each checked by the same policy. Returns once the
    /// response head has arrived, whatever its status; the body streams.
    pub async fn get_file(&self, url: &Url, policy: &Policy) -> Result<Response<ResponseBody>, EgressError> {
        let uri =
            Uri::try_from(url.as_str()).map_err(|_| EgressError::InvalidRequest { reason: "no URI" })?;
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = uri;
        request.headers_mut().extend(FILE_HEADERS);
        let mut request = Repeatable::new(request)?;
        let mut redirects = Redirects::for_file();
        loop {
            let next = request.next().await.expect("a request without a body can be sent again");
            let response = self.send(next, policy).await?;
            match redirects.step(&mut request, &response, &Redactor::default())? {
                Step::Answer => return Ok(response),
                Step::Follow => {}
            }
        }
    }

    /// Fetches a whole document of at most `max_bytes` within `within`, body included.
    ///
    /// Any status other than 2xx is [`EgressError::Status`]. Reading stops once the limit is exceeded.
    pub async fn get_bytes(
        &self,
        url: &Url,
        policy: &Policy,
        max_bytes: usize,
        within: Duration,
    ) -> Result<Bytes, EgressError> {
        let uri =
            Uri::try_from(url.as_str()).map_err(|_| EgressError::InvalidRequest { reason: "no URI" })?;
        let target = Target::of(&uri)?;
        match timeout(within, self.read_document(uri, &target, policy, max_bytes)).await {
            Ok(result) => result,
            Err(_) => Err(EgressError::Timeout { authority: target.authority() }),
        }
    }

    async fn read_document(
        &self,
        uri: Uri,
        target: &Target,
        policy: &Policy,
        max_bytes: usize,
    ) -> Result<Bytes, EgressError> {
        let mut request = Request::new(Empty::<Bytes>::new());
        *request.uri_mut() = uri;
        let response = self.send(request, policy).await?;
        if !response.status().is_success() {
            return Err(EgressError::Status { authority: target.authority(), status: response.status() });
        }
        read(response.into_body(), target, max_bytes).await
    }
}

async fn read(body: ResponseBody, target: &Target, max_bytes: usize) -> Result<Bytes, EgressError> {
    match Limited::new(body, max_bytes).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(EgressError::TooLarge { authority: target.authority(), limit: max_bytes })
        }
        Err(error) => Err(EgressError::Protocol { authority: target.authority(), source: error.into() }),
    }
}
