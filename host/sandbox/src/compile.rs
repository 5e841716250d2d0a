//! Compiles components, and runs `describe` of toolkits. Untrusted components are compiled and described only
//! in the compiler process.

use kitbag_manifest::ToolkitDefinition;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::describe::{DescribeError, DescribeLimits, describe};
use super::{EngineError, engine};

/// An engine that produces machine code for [`Sandbox`](super::Sandbox), or for
/// [`ExtractorSandbox`](super::ExtractorSandbox): their code versions are equal.
pub struct CompilerEngine(Engine);

/// A compiled component.
pub struct Compiled(Component);

impl CompilerEngine {
    /// Starts an engine that compiles toolkits.
    pub fn for_toolkits() -> Result<Self, EngineError> {
        Ok(Self(engine::start_compiler()?))
    }

    /// Starts an engine that compiles extractors.
    pub fn for_extractors() -> Result<Self, EngineError> {
        Ok(Self(engine::extractor_compiler()?))
    }

    /// Identifies the engine version and settings that machine code depends on.
    pub fn code_version(&self) -> String {
        engine::code_version(&self.0)
    }

    /// Compiles a component. Blocks for seconds.
    pub fn compile(&self, component: &[u8]) -> Result<Compiled, EngineError> {
        Ok(Compiled(Component::from_binary(&self.0, component)?))
    }

    /// Runs `describe` of a compiled component with all capabilities trapping. Needs a runtime with timers.
    pub async fn describe(
        &self,
        compiled: &Compiled,
        limits: DescribeLimits,
    ) -> Result<ToolkitDefinition, DescribeError> {
        describe(&self.0, limits, &compiled.0).await
    }
}

impl Compiled {
    /// The machine code, in the format that [`Sandbox::load`](super::Sandbox::load) reads from a file.
    pub fn machine_code(&self) -> Result<Vec<u8>, EngineError> {
        Ok(self.0.serialize()?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kitbag_net::egress::{Egress, EgressSettings};

    use super::*;
    use crate::capabilities::Services;
    use crate::capabilities::fetch::FetchLimits;
    use crate::{Background, ExtractionLimits, ExtractorSandbox, Limits, Sandbox};

    #[tokio::test]
    async fn the_compiler_makes_machine_code_for_the_engines_that_run_it() {
        let limits = Limits {
            call_time: Duration::from_secs(1),
            memory: 1 << 20,
            table_elements: 100,
            resources: 10,
            result: 1 << 10,
            log: 1 << 10,
            instances: 1,
            kept_memory: 0,
            fetch: FetchLimits { in_flight: 1, requests: 1, request_body: 1, response_body: 1 },
        };
        let services = Services::new(Egress::new(EgressSettings::default()));
        let background = Background::start().expect("threads can be started");
        let sandbox = Sandbox::new(limits, services, background.clone()).expect("it starts");

        let toolkits = CompilerEngine::for_toolkits().expect("it starts");
        let extractors = CompilerEngine::for_extractors().expect("it starts");

        assert_eq!(toolkits.code_version(), sandbox.code_version());
        let limits = ExtractionLimits { time: Duration::ZERO, memory: 0, text: 0 };
        let runs_extractors = ExtractorSandbox::new(limits, background).expect("it starts");
        assert_eq!(extractors.code_version(), runs_extractors.code_version());
    }
}
