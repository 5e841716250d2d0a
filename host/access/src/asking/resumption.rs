//! Calls that continue with an answer of their user: each runs to its end once.

use kitbag_base::bounded_json;
use kitbag_toolkits::AskedCall;
use kitbag_toolkits::dispatch::Callee;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::error;

use super::{Asked, STATE_SECONDS, bound_to, slices};
use crate::user::User;

/// Maximum size of a cached result, as JSON text.
const MAX_RESULT_BYTES: usize = 64 << 10;

/// Whether a call continues.
pub enum Resumption {
    /// The call continues.
    Resumed(ResumedCall),
    /// The same request has ended with this result, as JSON text.
    Ended(String),
    /// The call has ended, and its result is not cached, or belongs to another answer.
    Done,
    /// The call runs, or was interrupted.
    Running,
    /// The user has too many calls that have continued within an hour.
    TooMany,
}

/// A call that continues, and that no other request can continue. If it is dropped, the call stays claimed:
/// what an interrupted run did is unknown.
pub struct ResumedCall {
    user: User,
    call: String,
    /// What the result is sealed for: the call and its answers.
    bound_to: Vec<Vec<u8>>,
}

impl User {
    /// Claims a call that continues with answers.
    pub async fn resume(
        &self,
        callee: &Callee,
        arguments: &Map<String, Value>,
        asked: &Asked,
    ) -> kitbag_database::Result<Resumption> {
        let mut bound_to = bound_to(self, callee, arguments);
        bound_to.push(serde_json::to_vec(asked).expect("JSON always serialises"));
        let calls = &self.stores().toolkits.asked_calls;
        Ok(match calls.claim(self.id(), &asked.call, STATE_SECONDS).await? {
            AskedCall::Claimed => {
                Resumption::Resumed(ResumedCall { user: self.clone(), call: asked.call.clone(), bound_to })
            }
            AskedCall::Ended(sealed) => {
                let result =
                    sealed.and_then(|sealed| self.stores().vault.open_state(&sealed, &slices(&bound_to)));
                result.and_then(|it| String::from_utf8(it).ok()).map_or(Resumption::Done, Resumption::Ended)
            }
            AskedCall::Running => Resumption::Running,
            AskedCall::TooMany => Resumption::TooMany,
        })
    }
}

impl ResumedCall {
    /// Releases the call, which may be continued again: it has asked further, or did nothing.
    pub async fn release(self) {
        let released = self.user.stores().toolkits.asked_calls.release(&self.call).await;
        if let Err(cause) = released {
            error!(%cause, "a call that may continue stays claimed");
        }
    }

    /// Stores that the call has ended, with its result unless that is large.
    pub async fn end(self, result: &impl Serialize) {
        let stores = self.user.stores();
        let sealed = bounded_json::compact(result, MAX_RESULT_BYTES)
            .map(|result| stores.vault.seal_state(&result, &slices(&self.bound_to), STATE_SECONDS));
        let ended = stores.toolkits.asked_calls.end(self.user.id(), &self.call, sealed.as_deref()).await;
        // The call stays claimed, so it does not run again.
        if let Err(cause) = ended {
            error!(%cause, "the result of a call that its user was asked for is not cached");
        }
    }
}
