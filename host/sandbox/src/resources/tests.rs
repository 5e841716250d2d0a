use std::collections::BTreeSet;
use std::future::pending;
use std::path::PathBuf;
use std::process::Command;

use http::HeaderValue;
use serde_json::Value;
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::p2::subscribe;
use wasmtime_wasi::runtime::spawn;
use wasmtime_wasi_http::p2::bindings::http::types::Method;
use wasmtime_wasi_http::p2::body::{
    HostFutureTrailers, HostIncomingBody, HostOutgoingBody, HyperOutgoingBody, StreamContext,
};
use wasmtime_wasi_http::p2::types::{
    HostFutureIncomingResponse, HostIncomingResponse, HostOutgoingRequest, HostOutgoingResponse,
};
use wasmtime_wasi_http::{FieldMap, RequestOptions};
use wit_parser::{Resolve, TypeDefKind, TypeOwner};

use super::*;
use crate::is_always_refused;

/// Approximate size of a resource with the maximum amount of data, in bytes.
const LARGE_BYTES: usize = 16_000;
const CHUNK_BYTES: usize = 16 << 10;

/// Reason why the memory of a type of resource is limited.
enum Bound {
    /// The resource is measured: adds one to a table, and returns its minimum size in bytes.
    Measured(fn(&mut ResourceTable) -> usize),
    /// Guests cannot create one, for this reason.
    NeverCreated(&'static str),
}

use Bound::{Measured, NeverCreated};

const BOUNDS: [(&str, Bound); 19] = [
    ("wasi:cli/terminal-input/terminal-input", NeverCreated("input and output are no terminal")),
    ("wasi:cli/terminal-output/terminal-output", NeverCreated("input and output are no terminal")),
    ("wasi:filesystem/types/descriptor", NeverCreated("there is no folder")),
    ("wasi:filesystem/types/directory-entry-stream", NeverCreated("there is no folder")),
    ("wasi:http/types/fields", Measured(|table| push(table, fields(), LARGE_BYTES))),
    (
        "wasi:http/types/future-incoming-response",
        Measured(|table| push(table, HostFutureIncomingResponse::Pending(spawn(pending())), 4096)),
    ),
    (
        "wasi:http/types/future-trailers",
        Measured(|table| push(table, HostFutureTrailers::Done(Ok(Some(fields().into()))), LARGE_BYTES)),
    ),
    (
        "wasi:http/types/incoming-body",
        Measured(|table| {
            // The body may have trailers.
            push(table, HostIncomingBody::new(body().1), LARGE_BYTES)
        }),
    ),
    ("wasi:http/types/incoming-request", NeverCreated("no toolkit serves HTTP")),
    (
        "wasi:http/types/incoming-response",
        Measured(|table| {
            let body = Some(HostIncomingBody::new(body().1));
            push(table, HostIncomingResponse { status: 200, headers: fields(), body }, 2 * LARGE_BYTES)
        }),
    ),
    (
        "wasi:http/types/outgoing-body",
        Measured(|table| {
            // The pieces belong to the other half.
            push(table, body().0, size_of::<HostOutgoingBody>())
        }),
    ),
    (
        "wasi:http/types/outgoing-request",
        Measured(|table| {
            let request = HostOutgoingRequest {
                method: Method::Get,
                scheme: None,
                authority: None,
                path_with_query: Some("/".repeat(LARGE_BYTES)),
                headers: fields(),
                body: Some(body().1),
            };
            push(table, request, 2 * LARGE_BYTES + 2 * CHUNK_BYTES)
        }),
    ),
    (
        "wasi:http/types/outgoing-response",
        Measured(|table| {
            let response = HostOutgoingResponse {
                status: http::StatusCode::OK,
                headers: fields(),
                body: Some(body().1),
            };
            push(table, response, LARGE_BYTES + 2 * CHUNK_BYTES)
        }),
    ),
    (
        "wasi:http/types/request-options",
        Measured(|table| push(table, RequestOptions::default(), size_of::<RequestOptions>())),
    ),
    ("wasi:http/types/response-outparam", NeverCreated("no toolkit serves HTTP")),
    ("wasi:io/error/error", Measured(|table| push(table, IoError::msg("it failed"), 1024))),
    (
        "wasi:io/poll/pollable",
        Measured(|table| {
            let subject = table.push(HostFutureTrailers::Consumed).expect("there is room");
            subscribe(table, subject).expect("there is room");
            size_of::<DynPollable>()
        }),
    ),
    (
        "wasi:io/streams/input-stream",
        Measured(|table| {
            let stream: DynInputStream = Box::new(MemoryInputPipe::new(""));
            push(table, stream, size_of::<DynInputStream>())
        }),
    ),
    (
        "wasi:io/streams/output-stream",
        Measured(|table| {
            let stream: DynOutputStream = Box::new(MemoryOutputPipe::new(0));
            push(table, stream, size_of::<DynOutputStream>())
        }),
    ),
];

fn push<T: Send + 'static>(table: &mut ResourceTable, resource: T, bytes: usize) -> usize {
    table.push(resource).expect("there is room");
    bytes
}

fn fields() -> FieldMap {
    let mut fields = FieldMap::new_mutable(2 * LARGE_BYTES);
    let value = HeaderValue::from_bytes(&vec![b'x'; LARGE_BYTES]).expect("a valid value");
    fields.append_raw(http::header::COOKIE, value).expect("it fits");
    fields
}

fn body() -> (HostOutgoingBody, HyperOutgoingBody) {
    HostOutgoingBody::new(StreamContext::Request, None, 1, CHUNK_BYTES)
}

/// Names of all resources that an instance may use, from the interfaces of this version of wasmtime and from
/// the contract.
fn resources() -> BTreeSet<String> {
    let mut resolve = Resolve::default();
    resolve.push_path(folder_of("wasmtime-wasi-http").join("wit")).expect("interfaces of WASI");
    let contract = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../wit/current/toolkit.wit");
    resolve.push_path(contract).expect("the contract");
    let names = resolve.types.iter().filter_map(|(_, it)| {
        let (TypeDefKind::Resource, TypeOwner::Interface(interface)) = (&it.kind, &it.owner) else {
            return None;
        };
        let interface = &resolve.interfaces[*interface];
        let package = &resolve.packages[interface.package?].name;
        let interface = format!("{}:{}/{}", package.namespace, package.name, interface.name.as_ref()?);
        Some((interface, it.name.as_ref()?.clone()))
    });
    let linked = names.filter(|(interface, _)| !is_always_refused(interface));
    linked.map(|(interface, name)| format!("{interface}/{name}")).collect()
}

/// Returns the source folder of a dependency.
fn folder_of(package: &str) -> PathBuf {
    let version = Command::new("rustc").arg("-vV").output().expect("there is a compiler").stdout;
    let version = String::from_utf8(version).expect("it is text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("its platform");
    // Dependencies of other platforms may not have been downloaded.
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--offline",
            "--filter-platform",
            host,
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let found = packages.iter().find(|it| it["name"] == package).expect("a dependency");
    let manifest = PathBuf::from(found["manifest_path"].as_str().expect("a path"));
    manifest.parent().expect("a folder").to_owned()
}

#[test]
fn each_type_of_resource_has_a_bound() {
    let bounded: BTreeSet<_> = BOUNDS.iter().map(|(name, _)| (*name).to_owned()).collect();

    assert_eq!(resources(), bounded);
}

#[tokio::test]
async fn each_resource_is_measured_with_what_it_holds() {
    for (name, bound) in BOUNDS {
        let create = match bound {
            Measured(create) => create,
            NeverCreated(why) => {
                assert!(!why.is_empty(), "{name}");
                continue;
            }
        };
        let mut table = ResourceTable::new();

        let bytes = create(&mut table);

        let footprint = measure(&mut table);
        assert!(footprint.bytes >= bytes, "{name}: {footprint:?} < {bytes}");
        assert!(footprint.count >= 1);
    }
}
