//! What one instance holds on the host's side: one field a capability.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::limits::{Limits, Meter};
use crate::capabilities::fetch::Fetch;
use crate::capabilities::ingest::Ingest;
use crate::capabilities::log::{Log, Source};
use crate::capabilities::progress::Progress;
use crate::capabilities::search::Search;
use crate::capabilities::secrets::Secrets;

/// Random bytes that a guest may ask for at once: filling them cannot be interrupted.
const RANDOM_BYTES: u64 = 64 << 10;

/// The state of one store; it lives as long as one call.
pub(super) struct State {
    pub(super) meter: Meter,
    pub(super) table: ResourceTable,
    pub(super) log: Log,
    pub(super) progress: Progress,
    pub(super) fetch: Fetch,
    pub(super) secrets: Secrets,
    pub(super) search: Search,
    pub(super) ingest: Ingest,
    wasi: WasiCtx,
}

impl State {
    pub(super) fn new(
        limits: &Limits,
        log: Log,
        fetch: Fetch,
        secrets: Secrets,
        search: Search,
        ingest: Ingest,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.resources);
        // Invariant: the WASI context is empty. No directory, no environment, no argument, no
        // standard input, no network; output goes to the invocation's log.
        let wasi = WasiCtx::builder()
            .stdout(log.stream(Source::Stdout))
            .stderr(log.stream(Source::Stderr))
            .allow_tcp(false)
            .allow_udp(false)
            .max_random_size(RANDOM_BYTES)
            .build();
        Self {
            meter: Meter::new(limits),
            table,
            log,
            // Whoever listens is set where a call begins.
            progress: Progress::default(),
            fetch,
            secrets,
            search,
            ingest,
            wasi,
        }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
