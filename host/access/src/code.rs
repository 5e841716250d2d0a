//! Code written by models, and its calls of tools. Each call is made as the user, like any other, and only of
//! tools that their client can list.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kitbag_base::rate::RateLimit;
use kitbag_manifest::reply;
use kitbag_sandbox::capabilities::fetch::inner_calls::{Arguments, InnerCalls, InnerResponse};
use kitbag_toolkits::code_runner::{CodeRun, MAX_CALLS, MAX_CALLS_AT_ONCE};
use kitbag_toolkits::dispatch::{Callee, Reply, Success, Unavailable};
use kitbag_toolkits::knowledge_tools;
use kitbag_toolkits::listed_name;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::error;

use super::error::CallError;
use super::user::User;

/// Whether the client can list the tool with this name.
type Sees = dyn Fn(&str) -> bool + Send + Sync;

/// Tool calls of one run of code.
struct ToolCalls {
    user: User,
    sees: Box<Sees>,
    run: Arc<str>,
    left: AtomicU32,
    places: Arc<Semaphore>,
    rate: Arc<RateLimit>,
}

/// Result of a tool call, as the code receives it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum CallResult {
    Value(Value),
    Error(CodeError),
}

#[derive(Serialize)]
struct CodeError {
    message: String,
    code: String,
    retryable: bool,
}

impl User {
    /// Whether this server can run code of models.
    pub fn can_run_code(&self) -> bool {
        self.stores().code_runner.is_installed()
    }

    /// Runs code for a client that can list the tools for which `sees` is true. Each call of a tool counts
    /// towards `rate`. Dropping the future ends the run and its calls.
    pub async fn run_code(
        &self,
        arguments: Map<String, Value>,
        sees: Box<dyn Fn(&str) -> bool + Send + Sync>,
        rate: Arc<RateLimit>,
    ) -> Result<Reply, CallError> {
        let run: Arc<str> = new_id();
        let calls = Arc::new(ToolCalls {
            user: self.clone(),
            sees,
            run: run.clone(),
            left: AtomicU32::new(MAX_CALLS),
            places: Arc::new(Semaphore::new(MAX_CALLS_AT_ONCE)),
            rate,
        });
        let runner = self.stores().code_runner.clone();
        let callee = Callee::Code(CodeRun { runner, calls, id: run });
        self.call_of(&callee, arguments, None, None, None).await
    }
}

impl InnerCalls for ToolCalls {
    fn call(self: Arc<Self>, path: String, arguments: Arguments) -> BoxFuture<'static, InnerResponse> {
        async move {
            let (place, result) = match self.admit().await {
                Ok(place) => (Some(place), self.answer(&path, arguments).await),
                Err(refusal) => {
                    arguments.discard().await;
                    (None, Err(refusal))
                }
            };
            let (bytes, result) = match result {
                Ok((bytes, value)) => (bytes, CallResult::Value(value)),
                Err(error) => (error.message.len(), CallResult::Error(error)),
            };
            let json = self.large(bytes, move || serde_json::to_vec(&result).expect("it is JSON")).await;
            InnerResponse { json: json.into(), place }
        }
        .boxed()
    }
}

impl ToolCalls {
    /// Counts a call, and waits until it may run.
    async fn admit(&self) -> Result<OwnedSemaphorePermit, CodeError> {
        let take_one = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one).is_err() {
            return Err(refused("TOO_MANY_CALLS", format!("code makes at most {MAX_CALLS} calls of tools")));
        }
        self.rate
            .admit(self.user.id())
            .map_err(|why| CodeError { retryable: true, ..refused("TOO_MANY_REQUESTS", why.to_string()) })?;
        Ok(self.places.clone().acquire_owned().await.expect("it is never closed"))
    }

    /// Runs `work`, which goes through `bytes` of the user's data.
    async fn large<T: Send + 'static>(&self, bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.user.stores().dispatch.workers().run(self.user.id(), bytes, work).await
    }

    /// Makes an admitted call, and returns its result with the size in bytes. Checks permissions again, because
    /// they may have changed during the wait.
    async fn answer(&self, path: &str, arguments: Arguments) -> Result<(usize, Value), CodeError> {
        let Some((json, _held)) = arguments.read().await else {
            return Err(refused("INVALID_PARAMS", "the arguments are too long".to_owned()));
        };
        let (name, callee) = self.callee(path)?;
        if !self.may_call(&callee).await? {
            return Err(refused("NOT_IN_CODE", not_in_code(&name, &callee)));
        }
        let arguments = match self.large(json.len(), move || serde_json::from_slice(&json)).await {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => {
                return Err(refused("INVALID_PARAMS", format!("{name} takes an object: {{ name: value }}")));
            }
            Err(error) => return Err(refused("INVALID_PARAMS", format!("the arguments of {name}: {error}"))),
        };
        match self.user.call_of(&callee, arguments, None, Some(self.run.clone()), None).await {
            Ok(Reply::Success(success)) => Ok((success.bytes, value(success))),
            Ok(Reply::Failure(failure)) => {
                let reply::Failure { error, code, retryable, .. } = failure.envelope;
                Err(CodeError { message: error, code: code.to_string(), retryable })
            }
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Whether code may call a tool: it is read-only, or the user has allowed it.
    async fn may_call(&self, callee: &Callee) -> Result<bool, CodeError> {
        let (toolkit, Some(tool)) = (&callee.toolkit().id, callee.tool()) else { return Ok(false) };
        if tool.annotations.read_only_hint == Some(true) {
            return Ok(true);
        }
        let allowed = self.user.stores().toolkits.code_tools.of_user(self.user.id(), toolkit).await;
        allowed.map(|allowed| allowed.contains(&tool.name)).map_err(|cause| {
            error!(%cause, "what code may call cannot be read");
            unavailable(&Unavailable)
        })
    }

    /// Returns the tool for a path such as `/weather/forecast`, with its listed name.
    fn callee(&self, path: &str) -> Result<(String, Callee), CodeError> {
        let unknown = |name: &str| {
            refused("UNKNOWN_TOOL", format!("there is no tool {name}; find_tools finds those that there are"))
        };
        let Some((toolkit, tool)) = path.trim_start_matches('/').split_once('/') else {
            return Err(unknown(path));
        };
        // Ids contain hyphens, which JavaScript names cannot, and no underscores.
        let name = match toolkit {
            knowledge_tools::ID => tool.to_owned(),
            toolkit => listed_name(&toolkit.replace('_', "-"), tool),
        };
        let callee = self.user.callee(&name).filter(|_| (self.sees)(&name));
        callee.map(|callee| (name.clone(), callee)).ok_or_else(|| unknown(&name))
    }
}

fn new_id() -> Arc<str> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    hex::encode(bytes).into()
}

fn refused(code: &'static str, message: String) -> CodeError {
    CodeError { message, code: code.to_owned(), retryable: false }
}

fn unavailable(why: &dyn Display) -> CodeError {
    CodeError { retryable: true, ..refused("UNAVAILABLE", why.to_string()) }
}

fn not_in_code(name: &str, callee: &Callee) -> String {
    let toolkit = &callee.toolkit().id;
    let tool = callee.record_name();
    format!(
        "{name} may change something, and its user has not allowed it in code. Call it with call_tool; or they allow it: on the page of \
         {toolkit}, or by `kitbag toolkit allow-in-code {toolkit} {tool}`."
    )
}

/// Converts a result for the code: structured content if there is any, otherwise the text. Images and other
/// content are for models only.
fn value(Success { text, structured, .. }: Success) -> Value {
    structured.unwrap_or(Value::String(text))
}
