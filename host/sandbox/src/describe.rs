//! Runs `describe` of a component to get its declaration.

use std::time::Duration;

use kitbag_base::tasks::processor_time;
use kitbag_manifest::{Problems, ToolkitDefinition};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::time::{Instant, sleep_until};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::call::{Fault, new_store};
use super::call_data::CallData;
use super::fault::fault;
use super::limits::{DESCRIBE_CPU_TIME, Limits};
use super::linker;
use crate::capabilities::Capabilities;
use crate::capabilities::fetch::FetchLimits;
use crate::contract::{self, LinkedToolkit};

/// Reason why a component has no usable declaration. Shown to the operator who deploys the component.
#[derive(Debug, Error)]
pub enum DescribeError {
    /// The machine code cannot be used.
    #[error("the component cannot be loaded: {0:#}")]
    Load(wasmtime::Error),
    /// An import has a type that differs from the contract.
    #[error("the component does not fit the contract {name}: {0:#}", name = contract::NAME)]
    Contract(wasmtime::Error),
    /// `describe` took too long.
    #[error("describe() did not answer within {} s", DESCRIBE_CPU_TIME.as_secs())]
    Deadline,
    /// `describe` trapped, perhaps because it used a capability.
    #[error("describe() failed; it must not use a capability ({0})")]
    Failed(String),
    /// The declaration exceeds the maximum size of a result.
    #[error("the declaration is larger than a result may be; make it shorter")]
    TooLarge,
    /// The declaration is not a valid manifest.
    #[error("{0}")]
    Invalid(Problems),
}

/// Limits of `describe`. Sizes are in bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct DescribeLimits {
    memory: usize,
    table_elements: usize,
    resources: usize,
    result: usize,
    log: usize,
}

impl DescribeLimits {
    pub(super) fn of(limits: &Limits) -> Self {
        let Limits { memory, table_elements, resources, result, log, .. } = *limits;
        Self { memory, table_elements, resources, result, log }
    }

    /// Maximum size of a declaration's text, and of the data of one host call.
    pub fn result(&self) -> usize {
        self.result
    }

    fn into_limits(self) -> Limits {
        let Self { memory, table_elements, resources, result, log } = self;
        let fetch = FetchLimits::default();
        Limits {
            call_time: DESCRIBE_CPU_TIME,
            memory,
            table_elements,
            resources,
            result,
            log,
            instances: 1,
            kept_memory: 0,
            fetch,
        }
    }
}

/// Runs `describe` with all capabilities linked to functions that trap.
pub(super) async fn describe(
    engine: &Engine,
    limits: DescribeLimits,
    component: &Component,
) -> Result<ToolkitDefinition, DescribeError> {
    let linker = linker::trapping(engine, component).map_err(DescribeError::Load)?;
    let pre =
        linker.instantiate_pre(component).and_then(LinkedToolkit::new).map_err(DescribeError::Contract)?;

    let limits = limits.into_limits();
    let state = CallData::new(&limits, Capabilities::outside_a_call(limits.log));
    let mut store = new_store(engine, &limits, state);
    let answer = async {
        let toolkit = pre.instantiate(&mut store).await?;
        toolkit.describe(&mut store).await
    };
    let answer = tokio::select! {
        answer = answer => answer,
        () = out_of_time() => return Err(DescribeError::Deadline),
    };
    match answer {
        Ok(manifest) => kitbag_manifest::parse(&manifest).map_err(DescribeError::Invalid),
        Err(error) => Err(explain(&error, store.data())),
    }
}

/// Resolves when this thread has used up the CPU time of `describe`, or its wall time has passed, which is
/// much longer because of the low priority.
async fn out_of_time() {
    const DESCRIBE_WALL_TIME: Duration = Duration::from_secs(30);

    let started = processor_time();
    let deadline = Instant::now() + DESCRIBE_WALL_TIME;
    loop {
        let left = DESCRIBE_CPU_TIME.saturating_sub(processor_time().saturating_sub(started));
        if left.is_zero() || Instant::now() >= deadline {
            return;
        }
        sleep_until(deadline.min(Instant::now() + left)).await;
    }
}

/// Converts the error to its root cause, without the backtrace.
fn explain(error: &wasmtime::Error, state: &CallData) -> DescribeError {
    match fault(error, state) {
        Fault::Limit(limit) => DescribeError::Failed(format!("it ran into the {limit}")),
        Fault::ResultTooLarge => DescribeError::TooLarge,
        // `Deadline`, `OutOfMemory` and `NoRoom` occur in calls only.
        Fault::Trap(_) | Fault::Deadline(_) | Fault::OutOfMemory(_) | Fault::NoRoom(_) => {
            DescribeError::Failed(error.root_cause().to_string())
        }
    }
}
