//! Interfaces imported by language runtimes but never granted, such as `wasi:sockets`: a toolkit that imports
//! them is deployed, and every call of them is refused.

use std::time::Duration;

use serde_json::json;
use tokio::net::{TcpListener, UdpSocket};
use tokio::time::timeout;

use crate::harness::wat::versioned;
use crate::harness::{Kitbag, Outcome, User, Visitor, Wat, guests, kitbag, run};

/// Listeners for TCP and UDP on the same loopback port.
struct Listeners {
    tcp: TcpListener,
    udp: UdpSocket,
}

impl Listeners {
    async fn start() -> Self {
        // A port that is free for TCP is very likely free for UDP.
        loop {
            let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            let address = tcp.local_addr().expect("it is bound");
            if let Ok(udp) = UdpSocket::bind(address).await {
                return Self { tcp, udp };
            }
        }
    }

    fn port(&self) -> u16 {
        self.tcp.local_addr().expect("it is bound").port()
    }

    /// Asserts that no connection and no datagram has arrived.
    async fn assert_untouched(&self) {
        const PATIENCE: Duration = Duration::from_millis(300);

        assert!(timeout(PATIENCE, self.tcp.accept()).await.is_err(), "somebody connected");
        let received = timeout(PATIENCE, self.udp.recv_from(&mut [0; 16])).await;
        assert!(received.is_err(), "a datagram arrived: {received:?}");
    }
}

impl User {
    async fn try_sockets(&self, tool: &str, port: u16) -> Outcome {
        self.call(&format!("imports-sockets__{tool}"), json!({ "port": port })).await
    }
}

#[tokio::test]
async fn a_toolkit_that_imports_sockets_is_deployed_and_reaches_nothing_by_them() {
    // Private ranges that are allowed for `wasi:http` are not allowed for sockets.
    let kitbag = Kitbag::start_with(|settings| {
        settings.allow_private_ranges = "127.0.0.0/8".parse().expect("a range");
    })
    .await;
    kitbag.deploy(guests::IMPORTS_SOCKETS).await;
    let (ana, listeners) = (kitbag.as_user("ana"), Listeners::start().await);

    for (tool, detail) in [
        ("tcp", "wasi:sockets/tcp-create-socket create-tcp-socket: imported, always refused"),
        ("udp", "wasi:sockets/udp-create-socket create-udp-socket: imported, always refused"),
        ("network", "wasi:sockets/instance-network instance-network: imported, always refused"),
        // Handles of other resources, or invalid ones, are rejected.
        ("resolve", "handle index"),
        ("forge_network", "handle index"),
        ("forge_socket", "handle index"),
        ("forge_and_drop", "handle index"),
    ] {
        let outcome = ana.try_sockets(tool, listeners.port()).await;

        outcome.assert_generic_failure();
        assert!(!outcome.raw().contains("sockets/"), "{}", outcome.raw());
        let logged = ana.logged(&format!("imports-sockets__{tool}")).await;
        assert!(logged["detail"].as_str().expect("a detail").contains(detail), "{tool}: {logged}");
        assert_eq!(logged["outcome"], json!("failed"));
        assert_eq!(ana.try_sockets("compute", 0).await.text(), "done");
    }
    listeners.assert_untouched().await;
}

/// Builds a component that imports a function of an always refused interface, and calls it.
fn importing(declarations: &str, imports: &str, call: &str) -> Vec<u8> {
    let world = format!(
        "package test:wat;
        world wat {{ import wasi:sockets/tcp@0.2.0; export {tools}; }}
        package wasi:sockets@0.2.0 {{ interface tcp {{ {declarations} }} }}",
        tools = versioned("tools"),
    );
    Wat { world: &world, imports, call, ..Wat::default() }.component()
}

#[tokio::test]
async fn functions_that_wasi_does_not_have_are_refused_like_those_that_it_has() {
    let kitbag = Kitbag::start().await;
    let invented = importing(
        "connect: func(host: string, port: u16) -> result<_, string>;",
        r#"(import "wasi:sockets/tcp@0.2.0" "connect" (func $connect (param i32 i32 i32 i32)))"#,
        "(call $connect (i32.const 1024) (i32.const 4) (i32.const 80) (i32.const 2048))",
    );
    kitbag.as_operator().deploy(invented).await.assert_status(201);
    let ana = kitbag.as_user("ana");

    ana.call("wat__run", json!({})).await.assert_generic_failure();

    let logged = ana.logged("wat__run").await;
    let refusal = "wasi:sockets/tcp connect: imported, always refused";
    assert!(logged["detail"].as_str().expect("a detail").contains(refusal), "{logged}");
}

#[tokio::test]
async fn arguments_of_refused_functions_take_no_more_of_the_host_than_a_result_may() {
    let kitbag = Kitbag::start().await;
    // A list of 1 MiB, which the host would represent as a million values of many bytes each.
    let many = importing(
        "send: func(data: list<u8>);",
        r#"(import "wasi:sockets/tcp@0.2.0" "send" (func $send (param i32 i32)))"#,
        "(call $send (i32.const 0) (i32.const 1048576))",
    );
    kitbag.as_operator().deploy(many).await.assert_status(201);

    let outcome = kitbag.as_user("ana").call("wat__run", json!({})).await;

    outcome.assert_tool_error("result is too large");
}

#[tokio::test]
async fn more_refused_functions_than_there_are_cannot_be_imported() {
    let kitbag = Kitbag::start().await;
    let importing = |count: usize| {
        let numbered = |part: fn(usize) -> String| (0..count).map(part).collect::<Vec<_>>().concat();
        let declarations = numbered(|number| format!("call{number}: func();"));
        let imports =
            numbered(|number| format!(r#"(import "wasi:sockets/tcp@0.2.0" "call{number}" (func))"#));
        importing(&declarations, &imports, "")
    };

    let answer = kitbag.as_operator().deploy(importing(121)).await.assert_problem(422, "refused");

    let problems = answer.problems();
    assert!(problems[0].1.contains("more than 120 functions of wasi:sockets"), "{problems:?}");
    kitbag.as_operator().deploy(importing(120)).await.assert_status(201);
}

#[tokio::test]
async fn what_is_imported_and_always_refused_is_named_wherever_a_toolkit_is_judged() {
    let component = guests::IMPORTS_SOCKETS;
    let mut check = kitbag(["toolkit", "check"]);
    check.arg(component.path());
    let checked = run(check).await.succeeded();
    let (linked, refused) = checked.split_once("\nimported, always refused").expect("they are named");
    assert!(refused.contains("\n  wasi:sockets/tcp\n") && !linked.contains("wasi:sockets"), "{checked}");
    assert!(linked.contains("\n  wasi:cli/stdout\n"), "{checked}");

    let server = Kitbag::start_with(|settings| settings.operators = "ana".parse().expect("a list")).await;
    let review = server.as_user("ana").review(component.bytes()).await;
    let of = |name: &str| {
        let imports = review["difference"]["imports"].as_array().expect("a list");
        imports.iter().find(|it| it["interface"] == name).expect("it is imported")["alwaysRefused"].clone()
    };
    assert_eq!((of("wasi:sockets/tcp"), of("wasi:cli/stdout")), (json!(true), json!(false)));

    let operator = Visitor::sign_in(&server, "ana").await;
    let page =
        operator.get(&format!("/ui/operate/uploads/{}", review["digest"].as_str().expect("a digest"))).await;
    page.assert_status(200).assert_says("<h3>Imported, always refused</h3>");
}
