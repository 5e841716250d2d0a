//! What an instance can reach: one line a capability.
//!
//! Invariant: a capability is linked only when it is granted. One whose grant is a list (hosts, names of secrets) checks
//! the list beside its effect. `wasi:sockets` is never linked, and the WASI context is empty.

use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasData, Linker, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};

use super::state::State;
use super::{imports, io_error};
use crate::capabilities::{Grants, fetch, ingest, log, progress, search, secrets};

/// Links what every toolkit gets and what `grants` adds.
pub(super) fn granted(engine: &Engine, grants: &Grants) -> wasmtime::Result<Linker<State>> {
    let mut linker = harmless(engine)?;
    if grants.egress.is_some() {
        fetch::add_to_linker(&mut linker, |state| state.fetch.view(&mut state.table))?;
    }
    if !grants.secrets.is_empty() {
        secrets::add_to_linker(&mut linker, |state| &mut state.secrets)?;
    }
    if grants.search {
        search::add_to_linker(&mut linker, |state| &mut state.search)?;
    }
    if grants.ingest {
        ingest::add_to_linker(&mut linker, |state| &mut state.ingest)?;
    }
    Ok(linker)
}

/// Links what every toolkit gets, and traps for whatever capability `component` imports.
pub(super) fn trapping(engine: &Engine, component: &Component) -> wasmtime::Result<Linker<State>> {
    let mut linker = harmless(engine)?;
    for (name, import) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(interface) = import.ty else { continue };
        if !imports::is_capability(name) {
            continue;
        }
        let mut stub = linker.instance(name)?;
        for (function, export) in interface.exports(engine) {
            if let ComponentItem::ComponentFunc(_) = export.ty {
                let refusal = format!("{name}#{function} was called");
                stub.func_new(function, move |_, _, _, _| Err(wasmtime::Error::msg(refusal.clone())))?;
            }
        }
    }
    Ok(linker)
}

/// Links what reaches nothing: the log, the progress, and what plain language runtimes need.
fn harmless(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    let l = &mut linker;
    log::add_to_linker(l, |state: &mut State| &mut state.log)?;
    progress::add_to_linker(l, |state: &mut State| &mut state.progress)?;
    fetch::add_types_to_linker(l, |state: &mut State| state.fetch.view(&mut state.table))?;
    language_runtime(l)?;
    Ok(linker)
}

/// Links what plain language runtimes need. How little that reaches is up to the WASI context, which
/// is empty.
///
/// Invariant: `wasi:sockets` is never linked.
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
