//! Imports `wasi:sockets`, which no declaration grants.

use guest_support::wasip2::sockets::network::IpAddressFamily;
use guest_support::wasip2::sockets::tcp_create_socket::create_tcp_socket;
use guest_support::{Invocation, Outcome, ToolkitDefinition, definition, error, text, tool};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    definition("imports-sockets", vec![tool("connect", "Opens a socket.")])
}

fn call(_: &Invocation) -> Outcome {
    match create_tcp_socket(IpAddressFamily::Ipv4) {
        Ok(_) => text("a socket"),
        Err(refusal) => error(format!("{refusal:?}")),
    }
}
