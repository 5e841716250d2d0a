//! The capabilities of toolkits: one file each, with its state, its host functions and its
//! `add_to_linker`. Only this file lists them: the state of a call, the linker, the checks of a deploy and
//! `describe` are all derived from [`Capabilities`] and [`table`].
//!
//! Invariant: a capability is linked only if its [`Grant`] allows it. One whose grant is a list (hosts,
//! names of secrets) checks the list just before its effect.

pub mod ask;
pub mod cache;
mod call_context;
pub mod fetch;
mod grants;
pub mod ingest;
pub mod log;
pub mod progress;
pub mod search;
pub mod secrets;

use kitbag_manifest::{SCOPE_ASK, SCOPE_CACHE, SCOPE_INGEST, SCOPE_SEARCH, ToolkitDefinition};
use wasmtime::component::{Linker, ResourceTable};

use crate::observations::Log;
pub use call_context::{CallContext, Services};
pub use grants::Grants;

use ask::Ask;
use cache::Cache;
use fetch::Fetch;
use ingest::Ingest;
use progress::Progress;
use search::Search;
use secrets::Secrets;

/// State of the capabilities for one call. The default gives no access to anything.
#[derive(Default)]
pub struct Capabilities {
    log: Log,
    progress: Progress,
    fetch: Fetch,
    secrets: Secrets,
    search: Search,
    ingest: Ingest,
    ask: Ask,
    cache: Cache,
}

impl Capabilities {
    /// Creates the state for `call`.
    pub fn of(call: &CallContext<'_>) -> Self {
        Self {
            log: call.observations.log.clone(),
            progress: Progress::of(call),
            fetch: Fetch::of(call),
            secrets: Secrets::of(call),
            search: Search::of(call),
            ingest: Ingest::of(call),
            ask: Ask::of(call),
            cache: Cache::of(call),
        }
    }

    /// Creates the state for `describe`: a log, and no access to anything else.
    pub fn outside_a_call(max_log_bytes: usize) -> Self {
        Self { log: Log::new(max_log_bytes), ..Self::default() }
    }

    /// Releases the host's copy of what a host function returned: the guest has its own copy now.
    pub fn after_host_call(&mut self) {
        self.search.after_host_call();
        self.cache.after_host_call();
    }

    /// The guest's log, which includes standard output and standard error.
    pub fn log(&self) -> &Log {
        &self.log
    }
}

/// Store data that holds the capabilities, for the host functions.
pub trait HasCapabilities: Send + 'static {
    /// Returns the capabilities and the table of the guest's resources.
    fn capabilities(&mut self) -> (&mut Capabilities, &mut ResourceTable);
}

/// A capability: its interface, and the condition under which it is linked.
pub struct Capability<T: 'static> {
    /// Name of the interface, without its version.
    pub interface: &'static str,
    /// Condition under which the capability is linked.
    pub grant: Grant,
    /// Advice on building a component without the capability, for error messages.
    pub leave_out: &'static str,
    /// Adds the host functions to a linker.
    pub add_to_linker: fn(&mut Linker<T>) -> wasmtime::Result<()>,
}

/// Condition under which a capability is linked.
#[derive(Clone, Copy)]
pub enum Grant {
    /// Linked for every toolkit.
    Always,
    /// Linked for toolkits that declare it.
    Declared {
        /// The declaration that is needed, for error messages.
        what: &'static str,
        /// Returns whether a declaration grants the capability.
        by: fn(&ToolkitDefinition) -> bool,
    },
}

impl Grant {
    /// Returns the declaration that the toolkit lacks for this grant; `None` if nothing is lacking.
    pub fn missing(&self, definition: &ToolkitDefinition) -> Option<&'static str> {
        match self {
            Self::Declared { what, by } if !by(definition) => Some(what),
            Self::Always | Self::Declared { .. } => None,
        }
    }
}

const OTHER_WORLD: &str = "build it for a world that does not import it";

/// Lists all capabilities.
pub fn table<T: HasCapabilities>() -> [Capability<T>; 8] {
    [
        Capability {
            interface: "kitbag:toolkit/log",
            grant: Grant::Always,
            leave_out: OTHER_WORLD,
            add_to_linker: |linker| log::add_to_linker(linker, |store| &mut store.capabilities().0.log),
        },
        Capability {
            interface: "kitbag:toolkit/progress",
            grant: Grant::Always,
            leave_out: OTHER_WORLD,
            add_to_linker: |linker| {
                progress::add_to_linker(linker, |store| &mut store.capabilities().0.progress)
            },
        },
        Capability {
            interface: "wasi:http/outgoing-handler",
            grant: Grant::Declared { what: "a host in egress", by: |it| !it.egress.is_empty() },
            leave_out: "build it without HTTP (`jco componentize`: --disable http)",
            add_to_linker: |linker| fetch::add_to_linker(linker, fetch_view),
        },
        Capability {
            interface: "kitbag:toolkit/secrets",
            grant: Grant::Declared { what: "a name in secrets", by: |it| !it.secrets.is_empty() },
            leave_out: OTHER_WORLD,
            add_to_linker: |linker| {
                secrets::add_to_linker(linker, |store| &mut store.capabilities().0.secrets)
            },
        },
        Capability {
            interface: "kitbag:toolkit/search",
            grant: Grant::Declared { what: "the scope svc:search", by: |it| it.has_scope(SCOPE_SEARCH) },
            leave_out: OTHER_WORLD,
            add_to_linker: |linker| search::add_to_linker(linker, |store| &mut store.capabilities().0.search),
        },
        Capability {
            interface: "kitbag:toolkit/ingest",
            grant: Grant::Declared { what: "the scope svc:ingest", by: |it| it.has_scope(SCOPE_INGEST) },
            leave_out: OTHER_WORLD,
            add_to_linker: |linker| ingest::add_to_linker(linker, |store| &mut store.capabilities().0.ingest),
        },
        Capability {
            interface: "kitbag:toolkit/ask",
            grant: Grant::Declared { what: "the scope svc:ask", by: |it| it.has_scope(SCOPE_ASK) },
            leave_out: OTHER_WORLD,
            add_to_linker: |linker| ask::add_to_linker(linker, |store| &mut store.capabilities().0.ask),
        },
        Capability {
            interface: "kitbag:toolkit/cache",
            grant: Grant::Declared { what: "the scope svc:cache", by: |it| it.has_scope(SCOPE_CACHE) },
            leave_out: OTHER_WORLD,
            add_to_linker: |linker| cache::add_to_linker(linker, |store| &mut store.capabilities().0.cache),
        },
    ]
}

/// Links the types of HTTP, which language runtimes import even if they send no requests. The types give no
/// access to anything.
pub fn add_http_types_to_linker<T: HasCapabilities>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    fetch::add_types_to_linker(linker, fetch_view)
}

fn fetch_view<T: HasCapabilities>(store: &mut T) -> fetch::View<'_> {
    let (capabilities, resources) = store.capabilities();
    capabilities.fetch.view(resources)
}

/// Returns a service of the call, or traps outside a call.
fn in_call<S>(service: Option<&S>) -> wasmtime::Result<&S> {
    service.ok_or_else(|| wasmtime::Error::msg("there is no such service outside a call"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store type that is never instantiated.
    struct NoStore;

    impl HasCapabilities for NoStore {
        fn capabilities(&mut self) -> (&mut Capabilities, &mut ResourceTable) {
            unreachable!("nothing is linked")
        }
    }

    /// The interfaces that a declaration grants, without those of every toolkit.
    fn granted(change: impl FnOnce(&mut ToolkitDefinition)) -> Vec<&'static str> {
        let mut definition = ToolkitDefinition::default();
        change(&mut definition);
        let declared = table::<NoStore>().into_iter().filter(|it| !matches!(it.grant, Grant::Always));
        declared.filter(|it| it.grant.missing(&definition).is_none()).map(|it| it.interface).collect()
    }

    #[test]
    fn nothing_is_granted_by_default() {
        assert_eq!(granted(|_| {}), [""; 0]);
    }

    #[test]
    fn each_declaration_grants_one_capability_and_no_other() {
        assert_eq!(granted(|it| it.egress = vec!["a.example".into()]), ["wasi:http/outgoing-handler"]);
        assert_eq!(granted(|it| it.secrets = vec!["KEY".into()]), ["kitbag:toolkit/secrets"]);
        assert_eq!(granted(|it| it.scopes = vec![SCOPE_SEARCH.into()]), ["kitbag:toolkit/search"]);
        assert_eq!(granted(|it| it.scopes = vec![SCOPE_INGEST.into()]), ["kitbag:toolkit/ingest"]);
        assert_eq!(granted(|it| it.scopes = vec![SCOPE_ASK.into()]), ["kitbag:toolkit/ask"]);
        assert_eq!(granted(|it| it.scopes = vec![SCOPE_CACHE.into()]), ["kitbag:toolkit/cache"]);
    }

    #[test]
    fn each_interface_is_listed_once() {
        let mut interfaces = table::<NoStore>().map(|it| it.interface);
        interfaces.sort_unstable();
        assert!(interfaces.is_sorted_by(|one, next| one < next), "{interfaces:?}");
    }
}
