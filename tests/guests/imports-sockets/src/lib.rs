//! Imports `wasi:sockets`, as runtimes of languages do, and tries to reach something by it: as a program would that the
//! host lets do so, and with handles to resources that nobody gave it.

use guest_support::wasip2::cli::stdout::get_stdout;
use guest_support::wasip2::sockets::instance_network::instance_network;
use guest_support::wasip2::sockets::ip_name_lookup::resolve_addresses;
use guest_support::wasip2::sockets::network::{
    ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Network,
};
use guest_support::wasip2::sockets::tcp::TcpSocket;
use guest_support::wasip2::sockets::tcp_create_socket::create_tcp_socket;
use guest_support::wasip2::sockets::udp::OutgoingDatagram;
use guest_support::wasip2::sockets::udp_create_socket::create_udp_socket;
use guest_support::{
    Invocation, Outcome, ToolkitDefinition, arguments, definition, error, text, tool, unknown,
};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    let tools = [
        ("tcp", "Connects to a port of this machine, and writes."),
        ("udp", "Sends a datagram to a port of this machine."),
        ("network", "Asks for the network."),
        ("resolve", "Resolves a name, with a network that is the handle of another resource."),
        ("forge_network", "Resolves a name, with a network of which it invented the handle."),
        ("forge_socket", "Connects with a socket of which it invented the handle."),
        ("forge_and_drop", "Drops a network of which it invented the handle."),
        ("compute", "Uses nothing."),
    ];
    definition("imports-sockets", tools.map(|(name, description)| tool(name, description)).into())
}

fn call(invocation: &Invocation) -> Outcome {
    let port = arguments(invocation)["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(1);
    let done = match invocation.tool.as_str() {
        "tcp" => tcp(port),
        "udp" => udp(port),
        "network" => {
            drop(instance_network());
            Ok(())
        }
        "resolve" => resolve(&network(get_stdout().take_handle())),
        "forge_network" => (1..20).try_for_each(|handle| resolve(&network(handle))),
        "forge_socket" => {
            (1..20).try_for_each(|handle| socket(handle).start_connect(&network(handle), loopback(port)))
        }
        "forge_and_drop" => {
            drop(network(1));
            Ok(())
        }
        "compute" => Ok(()),
        other => return unknown(other),
    };
    match done {
        Ok(()) => text("done"),
        Err(code) => error(format!("{code:?}")),
    }
}

fn tcp(port: u16) -> Result<(), ErrorCode> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_connect(&instance_network(), loopback(port))?;
    socket.subscribe().block();
    let (_input, output) = socket.finish_connect()?;
    output.blocking_write_and_flush(b"out").map_err(|_| ErrorCode::Unknown)
}

fn udp(port: u16) -> Result<(), ErrorCode> {
    let socket = create_udp_socket(IpAddressFamily::Ipv4)?;
    let any = IpSocketAddress::Ipv4(Ipv4SocketAddress { port: 0, address: (0, 0, 0, 0) });
    socket.start_bind(&instance_network(), any)?;
    socket.finish_bind()?;
    let (_incoming, outgoing) = socket.stream(None)?;
    outgoing.check_send()?;
    let datagram = OutgoingDatagram { data: b"out".to_vec(), remote_address: Some(loopback(port)) };
    outgoing.send(&[datagram]).map(|_| ())
}

fn resolve(network: &Network) -> Result<(), ErrorCode> {
    resolve_addresses(network, "localhost").map(|_| ())
}

fn loopback(port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) })
}

#[allow(unsafe_code, reason = "an invented handle is what a hostile guest would try")]
fn network(handle: u32) -> Network {
    unsafe { Network::from_handle(handle) }
}

#[allow(unsafe_code, reason = "an invented handle is what a hostile guest would try")]
fn socket(handle: u32) -> TcpSocket {
    unsafe { TcpSocket::from_handle(handle) }
}
