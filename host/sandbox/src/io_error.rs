//! `wasi:io/error`: the text of host errors for guests.
//!
//! Invariant: a guest can read only the error's message. wasmtime's own implementation would include the
//! causes, and the backtrace with the host's file paths when `RUST_BACKTRACE` is set.

use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::p2::IoError;
use wasmtime_wasi::p2::bindings::io::error;

/// Borrows an instance's resources, which include errors.
struct Errors<'a>(&'a mut ResourceTable);

impl error::Host for Errors<'_> {}

impl error::HostError for Errors<'_> {
    fn to_debug_string(&mut self, error: Resource<IoError>) -> wasmtime::Result<String> {
        Ok(self.0.get(&error)?.to_string())
    }

    fn drop(&mut self, error: Resource<IoError>) -> wasmtime::Result<()> {
        self.0.delete(error)?;
        Ok(())
    }
}

/// Links the interface.
pub(super) fn add_to_linker<T: WasiView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    struct HasErrors;
    impl HasData for HasErrors {
        type Data<'a> = Errors<'a>;
    }
    error::add_to_linker::<T, HasErrors>(linker, |state| Errors(state.ctx().table))
}

#[cfg(test)]
mod tests {
    use wasmtime_wasi::p2::bindings::io::error::HostError as _;

    use super::*;

    #[test]
    fn a_guest_reads_the_error_and_neither_its_causes_nor_where_it_came_from() {
        let mut table = ResourceTable::new();
        let cause = wasmtime::Error::msg("at host/sandbox/src/call.rs");
        let error = table.push(cause.context("the response is too large")).expect("there is room");

        let read = Errors(&mut table).to_debug_string(error).expect("there is such an error");

        assert_eq!(read, "the response is too large");
    }
}
