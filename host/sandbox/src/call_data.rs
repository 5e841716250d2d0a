//! The host's state of one instance.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::limits::{Limits, Meter};
use super::resources;
use crate::capabilities::log::Output;
use crate::capabilities::{Capabilities, HasCapabilities};
use crate::observations::Source;

/// Maximum number of random bytes per request of a guest: generating them cannot be interrupted.
const MAX_RANDOM_BYTES: u64 = 64 << 10;

/// Average number of resources, and of their bytes, measured per host call. A guest with more is measured
/// only after every second, third … host call.
const MEASURED_PER_HOST_CALL: usize = 32;
const MEASURED_BYTES_PER_HOST_CALL: usize = 64 << 10;
/// Maximum number of host calls between two measurements. Each call can add some 50 KiB.
const MAX_UNMEASURED_CALLS: usize = 64;

/// The state of one store, for one call.
pub(super) struct CallData {
    pub(super) meter: Meter,
    capabilities: Capabilities,
    table: ResourceTable,
    wasi: WasiCtx,
    /// Number of host calls until resources are measured again.
    unmeasured_calls: usize,
}

impl CallData {
    pub(super) fn new(limits: &Limits, capabilities: Capabilities) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.resources);
        let output = |source| Output::new(capabilities.log().clone(), source);
        // Invariant: the WASI context is empty. No directory, no environment, no argument, no
        // standard input, no network; output goes to the invocation's log.
        let wasi = WasiCtx::builder()
            .stdout(output(Source::Stdout))
            .stderr(output(Source::Stderr))
            .allow_tcp(false)
            .allow_udp(false)
            .max_random_size(MAX_RANDOM_BYTES)
            .build();
        Self { meter: Meter::new(limits), capabilities, table, wasi, unmeasured_calls: 0 }
    }

    /// Counts the memory of the guest's resources after a host call. Fails if it exceeds the limit.
    pub(super) fn after_host_call(&mut self) -> wasmtime::Result<()> {
        self.capabilities.after_host_call();
        if self.unmeasured_calls > 0 {
            self.unmeasured_calls -= 1;
            return Ok(());
        }
        let footprint = resources::measure(&mut self.table);
        self.unmeasured_calls = (footprint.count / MEASURED_PER_HOST_CALL)
            .max(footprint.bytes / MEASURED_BYTES_PER_HOST_CALL)
            .min(MAX_UNMEASURED_CALLS);
        self.meter.hold(footprint.bytes)
    }

    /// Drops all resources of the guest: ends its requests, and logs its incomplete output line.
    pub(super) fn close(&mut self) {
        self.table = ResourceTable::new();
    }
}

impl HasCapabilities for CallData {
    fn capabilities(&mut self) -> (&mut Capabilities, &mut ResourceTable) {
        (&mut self.capabilities, &mut self.table)
    }
}

impl WasiView for CallData {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
