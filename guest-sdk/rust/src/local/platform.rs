//! The host in a test: grants exactly what the declaration grants.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use kitbag_manifest::{ToolkitDefinition, egress};
use serde_json::Value;
use url::Url;

use super::answer::Answer;
use super::cache::Cached;
use super::outcome::{CallOutcome, Outcome};
use super::questions::Questions;
use super::sign_in::SignIns;
use crate::error::SecretError;
use crate::{Document, FetchError, IngestDocument, Progress, Request, Response};

/// The host behind [`Ctx`](crate::Ctx).
#[derive(Clone)]
pub(crate) struct Platform(Rc<HostState>);

/// State of one call: input from the test, and recorded effects of the handler.
pub(super) struct HostState {
    pub(super) definition: ToolkitDefinition,
    pub(super) secrets: HashMap<String, String>,
    pub(super) sign_ins: SignIns,
    upstream: Box<dyn Fn(&Request) -> Answer>,
    pub(super) documents: Vec<Document>,
    pub(super) questions: Questions,
    pub(super) cached: RefCell<Cached>,
    log: RefCell<Vec<Vec<Value>>>,
    progress: RefCell<Vec<Progress>>,
    requests: RefCell<Vec<Request>>,
    in_flight: Cell<usize>,
    most_in_flight: Cell<usize>,
    pub(super) ingested: RefCell<Vec<IngestDocument>>,
}

impl HostState {
    pub(super) fn new(
        definition: ToolkitDefinition,
        secrets: HashMap<String, String>,
        account: Option<String>,
        upstream: Box<dyn Fn(&Request) -> Answer>,
        documents: Vec<Document>,
        questions: Questions,
        cached: Cached,
    ) -> Self {
        let sign_ins = SignIns::new(&definition.id, definition.auth.clone(), account);
        Self {
            definition,
            secrets,
            sign_ins,
            upstream,
            documents,
            questions,
            cached: RefCell::new(cached),
            log: RefCell::default(),
            progress: RefCell::default(),
            requests: RefCell::default(),
            in_flight: Cell::default(),
            most_in_flight: Cell::default(),
            ingested: RefCell::default(),
        }
    }

    /// Sends a request to the test's upstream.
    pub(super) async fn send(&self, request: Request) -> Result<Response, FetchError> {
        self.in_flight.update(|now| now + 1);
        self.most_in_flight.update(|most| most.max(self.in_flight.get()));
        // As on a network, the handler's other requests are sent before this response arrives.
        yield_once().await;
        let answer = self.answer(&request);
        self.in_flight.update(|now| now - 1);
        answer
    }

    /// Records a request and returns the upstream's answer.
    pub(super) fn answer(&self, request: &Request) -> Result<Response, FetchError> {
        self.requests.borrow_mut().push(request.clone());
        let Answer(answer) = (self.upstream)(request);
        answer
    }
}

impl Platform {
    pub(super) fn new(state: HostState) -> Self {
        Self(Rc::new(state))
    }

    pub(super) fn state(&self) -> &HostState {
        &self.0
    }

    pub(crate) fn log(&self, arguments: Vec<String>) {
        let entry = arguments
            .into_iter()
            .map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text)))
            .collect();
        self.0.log.borrow_mut().push(entry);
    }

    pub(crate) fn progress(&self, progress: Progress) {
        self.0.progress.borrow_mut().push(progress);
    }

    pub(crate) fn secret(&self, name: &str) -> Result<Option<String>, SecretError> {
        // A name that only `auth` uses counts as undeclared: only the host reads it.
        if !self.0.definition.reads(name) {
            return Err(SecretError::Undeclared);
        }
        Ok(self.0.secrets.get(name).cloned())
    }

    pub(crate) async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        request.check()?;
        let url = Url::parse(request.url()).map_err(|error| FetchError::InvalidRequest(error.to_string()))?;
        if !egress::allows(&self.0.definition.egress, &url) {
            return Err(FetchError::Network(egress::not_listed(&egress::entry_for(&url))));
        }
        self.0.send_signed(request, &url).await
    }

    pub(super) fn into_outcome(self, call: CallOutcome) -> Outcome {
        Outcome {
            call,
            log: self.0.log.take(),
            progress: self.0.progress.take(),
            requests: self.0.requests.take(),
            most_in_flight: self.0.most_in_flight.get(),
            ingested: self.0.ingested.take(),
            questions: self.0.questions.take_asked(),
            cached: self.0.cached.take(),
        }
    }
}

async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
