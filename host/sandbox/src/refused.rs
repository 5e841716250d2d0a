//! Interfaces that language runtimes import whether or not a program uses them, and that no declaration can
//! grant. A component may import them, because most programs never call them; a call ends the guest.
//!
//! Invariant: nothing of these interfaces is implemented. Their functions trap, so no resource of theirs ever
//! exists.

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType};

use super::call_data::CallData;
use super::imports::without_version;

/// The interfaces, without version, and the resources that each defines. A closed list: any other interface
/// that the host does not link is refused at deploy.
const ALWAYS_REFUSED: [(&str, &[&str]); 7] = [
    ("wasi:sockets/instance-network", &[]),
    ("wasi:sockets/ip-name-lookup", &["resolve-address-stream"]),
    ("wasi:sockets/network", &["network"]),
    ("wasi:sockets/tcp", &["tcp-socket"]),
    ("wasi:sockets/tcp-create-socket", &[]),
    ("wasi:sockets/udp", &["udp-socket", "incoming-datagram-stream", "outgoing-datagram-stream"]),
    ("wasi:sockets/udp-create-socket", &[]),
];

/// Maximum number of functions of these interfaces that a component may import: twice as many as WASI 0.2
/// has. Each takes memory while the component is loaded.
const MAX_FUNCTIONS: usize = 120;
/// Maximum number of characters of a name in a message.
const MAX_NAME_CHARS: usize = 80;

/// Resource type of these interfaces, which has no values.
enum NeverCreated {}

/// Whether the functions of an import, with or without its version, always trap.
pub fn is_always_refused(import: &str) -> bool {
    resources(import).is_some()
}

/// Links trapping functions for the always refused interfaces that `component` imports, with the types of its
/// imports.
pub(super) fn link(linker: &mut Linker<CallData>, component: &Component) -> wasmtime::Result<()> {
    let engine = component.engine();
    let mut functions = 0;
    for (import, item) in component.component_type().imports(engine) {
        let (Some(resources), ComponentItem::ComponentInstance(interface)) = (resources(import), item.ty)
        else {
            continue;
        };
        let mut instance = linker.instance(import)?;
        for resource in resources {
            instance.resource(resource, ResourceType::host::<NeverCreated>(), |_, _| {
                Err(wasmtime::Error::msg("there is no such resource"))
            })?;
        }
        for (function, export) in interface.exports(engine) {
            if let ComponentItem::ComponentFunc(_) = export.ty {
                functions += 1;
                if functions > MAX_FUNCTIONS {
                    let what = format!("it imports more than {MAX_FUNCTIONS} functions of wasi:sockets");
                    return Err(wasmtime::Error::msg(what));
                }
                let import = without_version(import);
                let refusal = format!("{} {}: imported, always refused", shown(import), shown(function));
                trap(&mut instance, function, refusal)?;
            }
        }
    }
    Ok(())
}

/// Links a function of any type that ends the guest.
pub(super) fn trap(
    instance: &mut LinkerInstance<'_, CallData>,
    function: &str,
    refusal: String,
) -> wasmtime::Result<()> {
    instance.func_new(function, move |_, _, _, _| Err(wasmtime::Error::msg(refusal.clone())))
}

fn resources(import: &str) -> Option<&'static [&'static str]> {
    let name = without_version(import);
    ALWAYS_REFUSED.iter().find(|(interface, _)| *interface == name).map(|(_, resources)| *resources)
}

fn shown(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_closed() {
        for refused in ["wasi:sockets/tcp", "wasi:sockets/tcp@0.2.0", "wasi:sockets/ip-name-lookup@0.2.12"] {
            assert!(is_always_refused(refused), "{refused}");
        }
        for other in
            ["wasi:sockets", "wasi:sockets/", "wasi:sockets/tls", "wasi:http/types", "wasi:socket/tcp"]
        {
            assert!(!is_always_refused(other), "{other}");
        }
    }
}
