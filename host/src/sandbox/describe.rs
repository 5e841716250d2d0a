//! Asks a component for its declaration.

use std::collections::BTreeMap;
use std::time::Duration;

use kitbag_manifest as manifest;
use kitbag_manifest::json::measure;
use kitbag_manifest::schema::MAX_LEVELS;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use tokio::time::{Instant, sleep_until};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::call::bindings::ToolkitPre;
use super::call::bindings::exports::kitbag::toolkit::tools::ToolkitDefinition;
use super::call::bindings::kitbag::toolkit::definition as wit;
use super::call::{Fault, fault, new_store};
use super::limits::{DESCRIBE_TIME, Limits};
use super::linker;
use super::state::State;
use crate::capabilities::fetch::{Fetch, FetchLimits};
use crate::capabilities::ingest::Ingest;
use crate::capabilities::log::Log;
use crate::capabilities::search::Search;
use crate::capabilities::secrets::Secrets;
use crate::tasks::processor_time;

/// Why a component did not say what it is. Shown to whoever deploys it.
#[derive(Debug, Error)]
pub enum DescribeError {
    /// The machine code cannot be used.
    #[error("the component cannot be loaded: {0:#}")]
    Load(wasmtime::Error),
    /// An import has another shape than the contract gives it.
    #[error("the component does not fit the contract kitbag:toolkit@0.1: {0:#}")]
    Contract(wasmtime::Error),
    /// `describe` took too long.
    #[error("describe() did not answer within {} s", DESCRIBE_TIME.as_secs())]
    Deadline,
    /// `describe` stopped; it may not use any capability.
    #[error("describe() failed; it must not use a capability ({0})")]
    Failed(String),
    /// The declaration has more text than a result.
    #[error(
        "the declaration is larger than a result may be; make it shorter, or have the operator raise the setting call-result"
    )]
    TooLarge,
    /// The declaration breaks a rule that the types of the contract do not show.
    #[error("{0}")]
    Invalid(manifest::Problems),
}

/// What a component may use while it describes itself. Sizes are in bytes.
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

    /// The longest text of a declaration, and what it may pass to the host besides.
    pub fn result(&self) -> usize {
        self.result
    }

    fn into_limits(self) -> Limits {
        let Self { memory, table_elements, resources, result, log } = self;
        let fetch = FetchLimits { in_flight: 0, requests: 0, request_body: 0, response_body: 0 };
        Limits {
            call_time: DESCRIBE_TIME,
            memory,
            table_elements,
            resources,
            result,
            log,
            instances: 1,
            fetch,
        }
    }
}

/// Runs `describe` with every capability trapping.
pub(super) async fn describe(
    engine: &Engine,
    limits: DescribeLimits,
    component: &Component,
) -> Result<manifest::ToolkitDefinition, DescribeError> {
    let linker = linker::trapping(engine, component).map_err(DescribeError::Load)?;
    let pre = linker.instantiate_pre(component).and_then(ToolkitPre::new).map_err(DescribeError::Contract)?;

    let limits = limits.into_limits();
    let log = Log::new(limits.log);
    let state =
        State::new(&limits, log, Fetch::none(), Secrets::none(), Search::default(), Ingest::default());
    let mut store = new_store(engine, &limits, state);
    let answer = async {
        let toolkit = pre.instantiate_async(&mut store).await?;
        toolkit.kitbag_toolkit_tools().call_describe(&mut store).await
    };
    let answer = tokio::select! {
        answer = answer => answer,
        () = out_of_time() => return Err(DescribeError::Deadline),
    };
    match answer {
        Ok(definition) => convert(definition),
        Err(error) => Err(explain(&error, store.data())),
    }
}

/// Resolves when this thread has computed for as long as `describe` may. Others may be more urgent than it, so
/// wall time is longer.
async fn out_of_time() {
    const WALL_TIME: Duration = Duration::from_secs(30);

    let (started, deadline) = (processor_time(), Instant::now() + WALL_TIME);
    loop {
        let left = DESCRIBE_TIME.saturating_sub(processor_time().saturating_sub(started));
        if left.is_zero() || Instant::now() >= deadline {
            return;
        }
        sleep_until(deadline.min(Instant::now() + left)).await;
    }
}

/// The first cause says it to a person; the backtrace around it is for nobody here.
fn explain(error: &wasmtime::Error, state: &State) -> DescribeError {
    match fault(error, state) {
        Fault::Limit(limit) => DescribeError::Failed(format!("it ran into the {limit}")),
        Fault::ResultTooLarge => DescribeError::TooLarge,
        // It has neither a deadline nor a budget of memory with others.
        Fault::Trap(_) | Fault::Deadline(_) | Fault::OutOfMemory(_) | Fault::NoRoom(_) => {
            DescribeError::Failed(error.root_cause().to_string())
        }
    }
}

fn convert(it: ToolkitDefinition) -> Result<manifest::ToolkitDefinition, DescribeError> {
    let mut problems = nested_too_deeply(&it);
    let mut config = BTreeMap::new();
    for field in it.config {
        let (key, field) = config_field(field);
        if config.insert(key.clone(), field).is_some() {
            problems.add(format!("config.{key}"), "the key is declared twice");
        }
    }
    if !problems.0.is_empty() {
        return Err(DescribeError::Invalid(problems));
    }
    Ok(manifest::ToolkitDefinition {
        id: it.id,
        name: it.name,
        description: it.description,
        icon: it.icon,
        version: it.version,
        author: it.author,
        tools: it.tools.into_iter().map(tool).collect(),
        secrets: it.secrets,
        egress: it.egress,
        scopes: it.scopes,
        config,
        visibility: match it.visibility {
            wit::Visibility::Private => manifest::Visibility::Private,
            wit::Visibility::Shared => manifest::Visibility::Shared,
        },
        auth: it.auth.map(|auth| manifest::OAuth2ClientCredentials {
            token_url: auth.token_url,
            client_id_secret: auth.client_id_secret,
            client_secret_secret: auth.client_secret_secret,
            scope: auth.scope,
            api_host: auth.api_host,
        }),
    })
}

/// JSON that is within its own bounds, and that no parser would read as a part of the declaration.
fn nested_too_deeply(it: &ToolkitDefinition) -> manifest::Problems {
    let schemas = it.tools.iter().enumerate().flat_map(|(index, tool)| {
        let output = tool.output_schema.as_ref().map(|schema| ("output", schema));
        let schemas = std::iter::once(("input", &tool.input_schema)).chain(output);
        schemas.map(move |(field, schema)| (format!("tools[{index}].{field}"), schema))
    });
    let defaults = it.config.iter().filter_map(|field| {
        let value = field.default_value.as_ref()?;
        Some((format!("config.{}.default", field.key), value))
    });
    let mut problems = manifest::Problems::default();
    for (path, json) in schemas.chain(defaults) {
        let levels = measure(json.as_bytes(), usize::MAX).levels;
        if levels > MAX_LEVELS {
            problems.add(path, format!("is nested {levels} levels deep, and {MAX_LEVELS} may be"));
        }
    }
    problems
}

fn tool(it: wit::ToolDefinition) -> manifest::ToolDefinition {
    manifest::ToolDefinition {
        name: it.name,
        title: it.title,
        description: it.description,
        input_schema: json(it.input_schema),
        output_schema: it.output_schema.map(json),
        annotations: manifest::ToolAnnotations {
            read_only_hint: it.annotations.read_only_hint,
            destructive_hint: it.annotations.destructive_hint,
            idempotent_hint: it.annotations.idempotent_hint,
            open_world_hint: it.annotations.open_world_hint,
        },
        mutating: it.mutating,
        always_on: it.always_on,
    }
}

fn config_field(it: wit::ConfigField) -> (String, manifest::ConfigField) {
    let field = manifest::ConfigField {
        kind: match it.kind {
            wit::ConfigKind::String => manifest::ConfigKind::String,
            wit::ConfigKind::Number => manifest::ConfigKind::Number,
            wit::ConfigKind::Boolean => manifest::ConfigKind::Boolean,
            wit::ConfigKind::Select => manifest::ConfigKind::Select,
        },
        label: it.label,
        description: it.description,
        default: it.default_value.map(json),
        required: it.required,
        options: it.options,
    };
    (it.key, field)
}

/// Text that is no JSON stays a string: the rules then refuse it where it stands, together with
/// everything else that is wrong.
fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
