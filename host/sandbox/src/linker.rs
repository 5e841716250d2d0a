//! Links the host functions of an instance: the granted capabilities, and unprivileged interfaces.
//!
//! Invariant: a capability is linked only if it is granted. If the grant is a list (hosts, names of secrets),
//! the capability checks the list just before its effect. No implementation of `wasi:sockets` is ever linked,
//! only functions that trap (`refused`), and the WASI context is empty.

use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasData, Linker, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};

use super::call_data::CallData;
use super::{imports, io_error, refused};
use crate::capabilities::{Grant, Grants, add_http_types_to_linker, table};

/// Adds the capabilities in `grants` to the interfaces of every toolkit, and trapping functions for the
/// imports of `component` that are always refused.
pub(super) fn granted(
    for_every_toolkit: &Linker<CallData>,
    grants: &Grants,
    component: &Component,
) -> wasmtime::Result<Linker<CallData>> {
    let mut linker = for_every_toolkit.clone();
    refused::link(&mut linker, component)?;
    for capability in table::<CallData>() {
        if let Grant::Declared { by, .. } = capability.grant
            && by(grants.definition())
        {
            (capability.add_to_linker)(&mut linker)?;
        }
    }
    Ok(linker)
}

/// Links the interfaces of every toolkit, and trapping functions for all other capabilities that `component`
/// imports.
pub(super) fn trapping(engine: &Engine, component: &Component) -> wasmtime::Result<Linker<CallData>> {
    let mut linker = for_every_toolkit(engine)?;
    refused::link(&mut linker, component)?;
    for (name, import) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(interface) = import.ty else { continue };
        if !imports::is_declared(name) {
            continue;
        }
        let mut stub = linker.instance(name)?;
        for (function, export) in interface.exports(engine) {
            if let ComponentItem::ComponentFunc(_) = export.ty {
                refused::trap(&mut stub, function, format!("{name}#{function} was called"))?;
            }
        }
    }
    Ok(linker)
}

/// Links the capabilities that need no grant, and the imports of language runtimes.
pub(super) fn for_every_toolkit(engine: &Engine) -> wasmtime::Result<Linker<CallData>> {
    let mut linker = Linker::new(engine);
    for capability in table::<CallData>() {
        if let Grant::Always = capability.grant {
            (capability.add_to_linker)(&mut linker)?;
        }
    }
    add_http_types_to_linker(&mut linker)?;
    language_runtime(&mut linker)?;
    Ok(linker)
}

/// Links the imports of language runtimes. The WASI context is empty, so they give no access to anything.
///
/// Invariant: no implementation of `wasi:sockets` is ever linked.
pub(super) fn language_runtime<T: WasiView>(l: &mut Linker<T>) -> wasmtime::Result<()> {
    struct HasIo;
    impl HasData for HasIo {
        type Data<'a> = &'a mut ResourceTable;
    }

    io_error::add_to_linker(l)?;
    io::poll::add_to_linker::<T, HasIo>(l, |state| state.ctx().table)?;
    io::streams::add_to_linker::<T, HasIo>(l, |state| state.ctx().table)?;
    clocks::wall_clock::add_to_linker::<T, WasiClocks>(l, T::clocks)?;
    clocks::monotonic_clock::add_to_linker::<T, WasiClocks>(l, T::clocks)?;
    random::random::add_to_linker::<T, WasiRandom>(l, T::random)?;
    random::insecure::add_to_linker::<T, WasiRandom>(l, T::random)?;
    random::insecure_seed::add_to_linker::<T, WasiRandom>(l, T::random)?;
    cli::environment::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::exit::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::stdin::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::stdout::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::stderr::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_input::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_output::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_stdin::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_stdout::add_to_linker::<T, WasiCli>(l, T::cli)?;
    cli::terminal_stderr::add_to_linker::<T, WasiCli>(l, T::cli)?;
    filesystem::types::add_to_linker::<T, WasiFilesystem>(l, T::filesystem)?;
    filesystem::preopens::add_to_linker::<T, WasiFilesystem>(l, T::filesystem)?;
    Ok(())
}
