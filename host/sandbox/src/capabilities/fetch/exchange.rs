//! Handles a guest's request: redirects, sign-in by the host, and counting of all requests that these need.

use std::error::Error as StdError;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use kitbag_net::egress::{
    BoxBody, Egress, EgressError, Policy, Redirects, Repeatable, ResponseBody, Step, Timeouts, Unrepeatable,
};
use kitbag_net::traces::{CallStep, Span, Trace};
use kitbag_vault::UserSecrets;
use kitbag_vault::outbound_auth::{Attachment, SignIn, SignInError, SignIns};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime_wasi_http::Error;

use super::FetchLimits;
use super::ahead::{ReadAheadBody, read_ahead};
use super::body::{counted, incoming};
use super::redirect::RedirectMode;
use crate::observations::{Log, MissingSecrets, RefusedHosts, SignInFailure, Usage};

/// The state shared by all requests of one call.
pub(super) struct Exchange {
    pub(super) egress: Egress,
    pub(super) policy: Policy,
    pub(super) sign_ins: SignIns,
    pub(super) limits: FetchLimits,
    /// Permits for requests in flight.
    pub(super) in_flight: Arc<Semaphore>,
    pub(super) usage: Usage,
    pub(super) log: Log,
    /// The calling user's secrets. Headers that contain one are dropped on a redirect to another origin.
    pub(super) secrets: Arc<UserSecrets>,
    pub(super) missing: MissingSecrets,
    pub(super) sign_in_failure: SignInFailure,
    pub(super) refused_hosts: RefusedHosts,
    pub(super) trace: Trace,
}

/// Reason why a request has no response. The text is one line for the toolkit's log.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error(transparent)]
    SignIn(#[from] SignInError),
    #[error("the request cannot be redirected: {0}")]
    Redirect(#[from] Unrepeatable),
    #[error("this call has made all the requests it may make")]
    NoRequestLeft,
    #[error("the request could not be carried out")]
    Broken(#[source] Arc<dyn StdError + Send + Sync>),
}

/// The state of one request of a guest, over all its hops.
struct Progress {
    request: Repeatable,
    timeouts: Timeouts,
    attachable: Attachable,
    may_replace_token: bool,
}

/// Sign-ins whose credentials may be attached to the next hop.
///
/// After a redirect by another host, that host has chosen the target, so the request must not carry
/// credentials for an API.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attachable {
    /// Any sign-in: there was no hop yet.
    Any,
    /// Only this sign-in: all hops so far were to its API.
    One(usize),
    /// None: a hop was to another host, or the handler has set the credential itself.
    None,
}

impl Exchange {
    /// Counts a request towards the call's limit.
    pub(super) fn count_request(&self) -> Result<(), Failure> {
        self.usage.admit(self.limits.requests).then_some(()).ok_or(Failure::NoRequestLeft)
    }

    /// Sends a request, which is already counted, and starts to read the response. `pause` is the maximum
    /// time between two pieces of its body.
    pub(super) async fn respond(
        self: Arc<Self>,
        request: Request<BoxBody>,
        timeouts: Timeouts,
        pause: Option<Duration>,
        in_flight: OwnedSemaphorePermit,
    ) -> Result<Response<ReadAheadBody>, Failure> {
        let (head, body) = self.answer(request, timeouts).await?.into_parts();
        let body = incoming(body, self.limits.response_body, pause, self.usage.clone());
        Ok(Response::from_parts(head, read_ahead(body, in_flight, &self.egress).await))
    }

    /// Sends the request, and the further requests for redirects and sign-in.
    async fn answer(
        &self,
        mut request: Request<BoxBody>,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, Failure> {
        let mode = RedirectMode::take(request.headers_mut());
        let request = Repeatable::new(request)?;
        let mut progress =
            Progress { request, timeouts, attachable: Attachable::Any, may_replace_token: true };
        let mut redirects = Redirects::default();
        let mut request = progress.request.next().await?;
        let mut is_redirected = false;
        loop {
            let mut response = self.hop(request, &mut progress).await?;
            let step = match mode {
                RedirectMode::Manual => Step::Answer,
                RedirectMode::Follow | RedirectMode::FollowAndTell => {
                    redirects.step(&mut progress.request, &response, self.secrets.redactor())?
                }
            };
            match step {
                Step::Answer => {
                    let redirected_to = is_redirected.then(|| &progress.request.head().uri);
                    mode.tell(response.headers_mut(), redirected_to);
                    return Ok(response);
                }
                Step::Follow => self.count_request()?,
            }
            is_redirected = true;
            // The response must not be dropped before this: that would abort a request body still being sent.
            request = progress.request.next().await?;
        }
    }

    /// Sends the request to its current target, with the sign-in's credentials if the target is an API of the
    /// toolkit.
    async fn hop(
        &self,
        request: Request<BoxBody>,
        progress: &mut Progress,
    ) -> Result<Response<ResponseBody>, Failure> {
        let found = self.sign_ins.for_request(&request).filter(|(place, it)| {
            let is_next = [Attachable::Any, Attachable::One(*place)].contains(&progress.attachable);
            is_next && !it.is_set_in(&request)
        });
        let Some((place, sign_in)) = found else {
            progress.attachable = Attachable::None;
            return self.send(request, progress.timeouts).await;
        };
        progress.attachable = Attachable::One(place);
        let mut span = Span::default();
        let attachment = sign_in.attachment(|| self.may_sign_in(sign_in, &mut span)).await;
        let attachment = signed_in(attachment, span).inspect_err(|why| self.note(sign_in, why))?;
        let mut response = self.send(attachment.attach(request), progress.timeouts).await?;
        attachment.take_from_redirect(response.headers_mut());
        let status = response.status();
        if !sign_in.renews_after(status) || !mem::take(&mut progress.may_replace_token) {
            self.note_refusal(sign_in, status);
            return Ok(response);
        }
        match self.prepare_retry(sign_in, &attachment, &mut progress.request).await {
            Ok((request, attachment)) => {
                let mut response = self.send(attachment.attach(request), progress.timeouts).await?;
                attachment.take_from_redirect(response.headers_mut());
                self.note_refusal(sign_in, response.status());
                Ok(response)
            }
            Err(why) => {
                let status = status.as_u16();
                self.log.note(format!(
                    "fetch: the API answered {status} and the request was not repeated: {why}"
                ));
                Ok(response)
            }
        }
    }

    /// Prepares the request again, with a new attachment in place of the refused one.
    async fn prepare_retry(
        &self,
        sign_in: &SignIn,
        refused: &Attachment,
        request: &mut Repeatable,
    ) -> Result<(Request<BoxBody>, Attachment), String> {
        let request = match request.next().await {
            Ok(request) => request,
            Err(why) => {
                sign_in.forget(refused).await;
                return Err(why.to_string());
            }
        };
        let mut span = Span::default();
        let attachment = sign_in.replace(refused, || self.may_sign_in(sign_in, &mut span)).await;
        let attachment = signed_in(attachment, span).map_err(|why| {
            self.note(sign_in, &why);
            why.to_string()
        })?;
        self.count_request().map_err(|why| why.to_string())?;
        Ok((request, attachment))
    }

    /// Counts a token request, and begins its span. Returns `false` if the limit is reached.
    fn may_sign_in(&self, sign_in: &SignIn, span: &mut Span) -> bool {
        let may_send = self.count_request().is_ok();
        if may_send {
            *span = self.trace.begin(CallStep::SignIn);
            if span.is_recorded() {
                span.server(sign_in.token_uri().and_then(|uri| self.policy.listed_host(&uri)));
            }
        }
        may_send
    }

    fn note(&self, sign_in: &SignIn, why: &SignInError) {
        if let Some(failure) = sign_in.for_model(why) {
            let is_about_account =
                matches!(why, SignInError::NoAccount { .. } | SignInError::AccountEnded { .. });
            self.sign_in_failure.record(failure, is_about_account);
        }
        match why {
            SignInError::MissingCredentials { names, .. } => {
                for name in names {
                    self.missing.host_asked(name);
                }
            }
            SignInError::Egress(error) => self.note_refused_host(error),
            _ => {}
        }
    }

    /// Records a host that the operator does not permit to toolkits.
    fn note_refused_host(&self, error: &EgressError) {
        if let EgressError::ForbiddenHost { authority } = error {
            self.refused_hosts.record(authority);
        }
    }

    /// Records that the API does not accept an account.
    fn note_refusal(&self, sign_in: &SignIn, status: StatusCode) {
        if let Some(failure) = sign_in.refusal(status) {
            self.sign_in_failure.record(failure, true);
        }
    }

    async fn send(
        &self,
        request: Request<BoxBody>,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, Failure> {
        let mut span = self.trace.begin(CallStep::Fetch);
        if span.is_recorded() {
            span.server(self.policy.listed_host(request.uri()));
        }
        let request = request.map(|body| counted(body, self.usage.clone()));
        let answer = self.egress.send_within(request, &self.policy, timeouts).await;
        match &answer {
            Ok(response) => span.status(response.status()),
            Err(error) => {
                span.failed(error.kind());
                self.note_refused_host(error);
            }
        }
        Ok(answer?)
    }
}

/// Ends the span of a token request, if there was one.
fn signed_in(token: Result<Attachment, SignInError>, mut span: Span) -> Result<Attachment, SignInError> {
    match &token {
        Ok(_) => {}
        Err(SignInError::Refused { status, .. }) => {
            span.status(*status);
            span.failed("refused");
        }
        Err(SignInError::Egress(error)) => span.failed(error.kind()),
        Err(_) => span.failed("failed"),
    }
    token
}

impl Failure {
    /// Returns the error for the guest: the kind of network error, without details of the host's network.
    pub(super) fn guest_error(&self) -> Error {
        match self {
            Self::Egress(error) | Self::SignIn(SignInError::Egress(error)) => kind_of(error),
            Self::SignIn(SignInError::NoRequestLeft) | Self::NoRequestLeft => Error::ConnectionLimitReached,
            Self::SignIn(_) => Error::ConfigurationError,
            Self::Redirect(_) | Self::Broken(_) => Error::HttpProtocolError,
        }
    }
}

fn kind_of(error: &EgressError) -> Error {
    match error {
        EgressError::NotListed { .. } => Error::HttpRequestDenied,
        // With its text, which names a declared host: no code says that somebody else has to change something.
        EgressError::ForbiddenHost { .. } => Error::InternalError(Some(error.to_string())),
        EgressError::ForbiddenAddress { .. } => Error::DestinationIpProhibited,
        EgressError::Resolve { .. } => Error::DnsError { rcode: None, info_code: None },
        EgressError::Connect { .. } => Error::ConnectionRefused,
        EgressError::Tls { .. } => Error::TlsProtocolError,
        EgressError::Timeout { .. } => Error::ConnectionTimeout,
        EgressError::HeadTooLarge { .. } => Error::HttpResponseHeaderSectionSize(None),
        EgressError::RequestTooLarge { limit } => Error::HttpRequestBodySize(Some(*limit as u64)),
        _ => Error::HttpProtocolError,
    }
}
