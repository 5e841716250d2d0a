//! Limits of calls and of compilations.

use kitbag_base::memory::machine_memory;
use kitbag_sandbox::Limits;
use kitbag_sandbox::capabilities::fetch::FetchLimits;
use kitbag_sandbox::compiler::CompileLimits;
use kitbag_toolkits::dispatch::AdmissionLimits;

use crate::settings::Settings;

/// Converts the settings to the limits of the sandbox.
pub fn limits(settings: &Settings) -> Limits {
    let bounds = &settings.bounds;
    let runs = AdmissionLimits::runs(settings.concurrent_calls as usize);
    Limits {
        call_time: settings.call_time.get(),
        memory: settings.call_memory.bytes(),
        table_elements: bounds.call_table_elements,
        resources: bounds.call_resources,
        result: bounds.call_result,
        log: bounds.call_log,
        // Code runs need instances besides those of the calls they make.
        instances: settings.concurrent_calls + u32::try_from(runs).unwrap_or(u32::MAX / 2),
        kept_memory: Limits::max_kept_memory(settings.concurrent_calls).min(memory_of_machine() / 8),
        fetch: FetchLimits {
            in_flight: bounds.call_requests_in_flight,
            requests: bounds.call_requests,
            request_body: bounds.call_request_body,
            response_body: bounds.call_response_body,
        },
    }
}

/// Converts the settings to the limits of one compilation.
pub fn compile_limits(settings: &Settings) -> CompileLimits {
    CompileLimits::new(settings.compile_time.get(), settings.compile_memory.bytes())
}

/// Memory of the machine in bytes, or 4 GiB if it is unknown.
pub(super) fn memory_of_machine() -> usize {
    const DEFAULT: usize = 4 << 30;

    machine_memory().map_or(DEFAULT, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}
