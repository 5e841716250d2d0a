//! The host in a test: grants exactly what the declaration grants.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use kitbag_manifest::ToolkitDefinition;
use kitbag_manifest::reply::Failure;
use kitbag_manifest::test_host::cache::Cached;
use kitbag_manifest::test_host::exchange::Network;
use serde_json::Value;

use super::answer::Answer;
use super::clock::Clock;
use super::knowledge::Library;
use super::outcome::{CallOutcome, Outcome};
use super::questions::Questions;
use crate::error::SecretError;
use crate::{FetchError, IngestDocument, Progress, Request, Response};

/// The host behind [`Ctx`](crate::Ctx).
#[derive(Clone)]
pub(crate) struct Platform(pub(super) Rc<HostState>);

/// State of one call: input from the test, and recorded effects of the handler.
pub(super) struct HostState {
    pub(super) definition: ToolkitDefinition,
    pub(super) clock: Clock,
    pub(super) network: RefCell<Network>,
    pub(super) upstream: Box<dyn Fn(&Request) -> Answer>,
    pub(super) library: RefCell<Library>,
    pub(super) questions: Questions,
    pub(super) cached: RefCell<Cached>,
    pub(super) effects: Effects,
}

/// Recorded effects of the handler.
#[derive(Default)]
pub(super) struct Effects {
    log: RefCell<Vec<Vec<Value>>>,
    progress: RefCell<Vec<Progress>>,
    requests: RefCell<Vec<Request>>,
    in_flight: Cell<usize>,
    most_in_flight: Cell<usize>,
    pub(super) ingested: RefCell<Vec<IngestDocument>>,
    /// First sign-in failure; becomes the reply if the call fails too.
    sign_in_failure: RefCell<Option<Failure>>,
}

impl HostState {
    /// Sends a request to the test's upstream.
    pub(super) async fn send(&self, request: Request) -> Result<Response, FetchError> {
        let Effects { in_flight, most_in_flight, .. } = &self.effects;
        in_flight.update(|now| now + 1);
        most_in_flight.update(|most| most.max(in_flight.get()));
        // As on a network, the handler's other requests are sent before this response arrives.
        yield_once().await;
        let answer = self.answer(&request);
        in_flight.update(|now| now - 1);
        answer
    }

    /// Records a request and returns the upstream's answer.
    pub(super) fn answer(&self, request: &Request) -> Result<Response, FetchError> {
        self.effects.requests.borrow_mut().push(request.clone());
        let Answer(answer) = (self.upstream)(request);
        answer
    }

    /// Records the first failure to sign in: later requests fail for the same reason.
    pub(super) fn note(&self, failure: Option<Failure>) {
        if let Some(failure) = failure {
            self.effects.sign_in_failure.borrow_mut().get_or_insert(failure);
        }
    }

    /// Returns the failure to sign in, if there was one.
    pub(super) fn sign_in_failure(&self) -> Option<Failure> {
        self.effects.sign_in_failure.borrow().clone()
    }
}

impl Platform {
    pub(super) fn state(&self) -> &HostState {
        &self.0
    }

    pub(crate) fn log(&self, arguments: Vec<String>) {
        let entry = arguments
            .into_iter()
            .map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text)))
            .collect();
        self.0.effects.log.borrow_mut().push(entry);
    }

    pub(crate) fn progress(&self, progress: Progress) {
        self.0.effects.progress.borrow_mut().push(progress);
    }

    pub(crate) fn secret(&self, name: &str) -> Result<Option<String>, SecretError> {
        // A name that only `auth` uses counts as undeclared: only the host reads it.
        if !self.0.definition.reads(name) {
            return Err(SecretError::Undeclared);
        }
        Ok(self.0.network.borrow().secrets.get(name).cloned())
    }

    pub(crate) async fn fetch(&self, request: Request) -> Result<Response, FetchError> {
        request.check()?;
        self.0.exchange(&request).await
    }

    /// Returns the outcome of the call, without secrets.
    pub(super) fn into_outcome(self, mut call: CallOutcome) -> Outcome {
        let HostState { clock, network, questions, cached, effects, .. } = &*self.0;
        let secrets = network.borrow().redactor();
        let mut log = effects.log.take();
        let mut progress = effects.progress.take();
        call.redact(&secrets);
        log.iter_mut().flatten().for_each(|argument| secrets.redact_json(argument));
        progress.iter_mut().filter_map(|it| it.message.as_mut()).for_each(|it| secrets.redact_string(it));
        Outcome {
            call,
            log,
            progress,
            requests: effects.requests.take(),
            most_in_flight: effects.most_in_flight.get(),
            ingested: effects.ingested.take(),
            questions: questions.take_asked(),
            cached: cached.take(),
            clock: *clock,
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
