//! The sandbox, and the memory and threads that calls and requests share.

use kitbag_base::memory::MemoryBudget;
use kitbag_base::workers::Workers;
use kitbag_knowledge::{Knowledge, MAX_FILES_IN_MEMORY};
use kitbag_sandbox::Sandbox;
use kitbag_sandbox::capabilities::Services;
use kitbag_toolkits::dispatch::Inspection;
use kitbag_web::RequestShares;
use tracing::{info, warn};

use super::connections::MAX_BUFFERED_BYTES;
use super::error::StartError;
use super::resources::Resources;
use super::sandbox_limits::{limits, memory_of_machine};
use super::vault::UserData;
use crate::settings::{Settings, SettingsError};

/// The sandbox, with what its calls and users' requests share.
pub(super) struct Execution {
    pub(super) sandbox: Sandbox,
    /// Memory of all calls.
    pub(super) memory: MemoryBudget,
    /// Shares of users' requests.
    pub(super) request_shares: RequestShares,
}

impl Execution {
    /// Starts the sandbox, whose calls use the knowledge base and the data of their users.
    pub(super) fn start(
        settings: &Settings,
        resources: &Resources,
        knowledge: &Knowledge,
        user_data: &UserData,
    ) -> Result<Self, StartError> {
        let services = Services::new(resources.egress.clone())
            .with_knowledge(knowledge.clone())
            .with_accounts(user_data.accounts.clone())
            .with_cache(user_data.cache.clone());
        let request_shares = request_shares(settings, resources.workers.clone());
        let memory = memory_for_calls(settings, request_shares.memory())?;
        let sandbox = Sandbox::new(limits(settings), services, resources.background.clone())?;
        Ok(Self { sandbox: sandbox.with_memory(memory.clone()), memory, request_shares })
    }
}

/// Creates the memory budget for calls from the settings. Logs the sum of memory that all settings allow;
/// `requests` are the bytes of it for users' requests.
fn memory_for_calls(settings: &Settings, requests: usize) -> Result<MemoryBudget, SettingsError> {
    let machine = memory_of_machine();
    let limits = limits(settings);
    let of_one_call = limits.memory_of_one_call();
    let calls = match settings.memory_for_calls.get().map(|size| size.bytes()) {
        Some(bytes) if bytes < of_one_call => return Err(SettingsError::MemoryForCalls(of_one_call)),
        Some(bytes) => bytes,
        None => (machine / 2).max(of_one_call),
    };
    let of_user = (calls / 4).max(of_one_call);

    let extraction =
        MAX_FILES_IN_MEMORY * (settings.extraction_memory.bytes() + settings.capture_size.bytes());
    let deploy = settings.compile_memory.bytes();
    let search = settings.search_memory.bytes();
    let kept = limits.kept_memory;
    // Each connection buffers the head of a request or a part of a response.
    let connections = settings.connections.saturating_mul(MAX_BUFFERED_BYTES);
    let inspections = settings.dlp_url.get().map_or(0, |_| Inspection::MAX_MEMORY);
    let all = [kept, extraction, deploy, search, requests, connections, inspections];
    let all = all.into_iter().fold(calls, usize::saturating_add);
    let mebibytes = |bytes: usize| bytes >> 20;
    let calls_mib = mebibytes(calls);
    let of_user_mib = mebibytes(of_user);
    let kept_mib = mebibytes(kept);
    let extraction_mib = mebibytes(extraction);
    let deploy_mib = mebibytes(deploy);
    let search_mib = mebibytes(search);
    let requests_mib = mebibytes(requests);
    let connections_mib = mebibytes(connections);
    let inspections_mib = mebibytes(inspections);
    let all_mib = mebibytes(all);
    let machine_mib = mebibytes(machine);
    info!(
        calls_mib,
        of_user_mib,
        kept_mib,
        extraction_mib,
        deploy_mib,
        search_mib,
        requests_mib,
        connections_mib,
        inspections_mib,
        all_mib,
        machine_mib,
        "memory, at most"
    );
    if all > machine {
        warn!(
            all_mib,
            machine_mib,
            "the settings allow more memory than there is: lower memory-for-calls, compile-memory, \
             extraction-memory, capture-size, search-memory, mcp-request-size or connections"
        );
    }
    Ok(MemoryBudget::new(calls, of_user))
}

/// Memory shares of users' requests: in total at most an eighth of the machine's memory, but at least one
/// user's share. `workers` process large requests and answers.
fn request_shares(settings: &Settings, workers: Workers) -> RequestShares {
    let calls = settings.concurrent_calls_per_user();
    RequestShares::new(memory_of_machine() / 8, settings.mcp_request_size.bytes(), calls, workers)
}
