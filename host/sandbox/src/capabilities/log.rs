//! `kitbag:toolkit/log`: the invocation's log. Always granted.

mod output;

use wasmtime::component::{HasData, Linker};

use crate::contract::interfaces::log;
use crate::observations::Log;
pub(crate) use output::Output;

impl log::Host for Log {
    fn write(&mut self, arguments: Vec<String>) -> wasmtime::Result<()> {
        Self::write(self, &arguments);
        Ok(())
    }
}

/// Links the capability; `log` finds the invocation's log in the store's state.
pub fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    log: fn(&mut T) -> &mut Log,
) -> wasmtime::Result<()> {
    struct HasLog;
    impl HasData for HasLog {
        type Data<'a> = &'a mut Log;
    }
    log::add_to_linker::<T, HasLog>(linker, log)
}
