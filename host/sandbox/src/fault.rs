//! Why a guest stopped, from the errors of wasmtime.
//!
//! Three of them have no type of their own and are told apart by their texts, here and nowhere else; the tests of this
//! module produce each and fail if a new version of wasmtime words it differently (docs/upstream.md).

use wasmtime::Trap;
use wasmtime::component::ResourceTableError;

use super::call::Fault;
use super::call_data::CallData;

const STACK_LIMIT: &str = "stack limit";
/// Hint appended to the error of an out-of-bounds memory access whose address is unknown.
const STACK_HINT: &str = "A toolkit that runs out of stack may end like this too: Cargo.toml can ask for more \
                          ([package.metadata.kitbag], stack-kib).";

/// Determines why a guest stopped.
pub(super) fn fault(error: &wasmtime::Error, state: &CallData) -> Fault {
    if let Some(shortage) = state.meter.shortage() {
        return Fault::OutOfMemory(shortage);
    }
    if let Some(limit) = state.meter.refused() {
        return Fault::Limit(limit);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => Fault::Limit(STACK_LIMIT),
        Some(Trap::MemoryOutOfBounds) if is_below_memory(error) => Fault::Limit(STACK_LIMIT),
        Some(Trap::MemoryOutOfBounds) => Fault::Trap(format!("{}\n\n{STACK_HINT}", error_chain(error))),
        _ if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) || is_out_of_handles(error) => {
            Fault::Limit("limit of streams, requests and timers")
        }
        _ if is_too_much_at_once(error) => Fault::ResultTooLarge,
        _ => Fault::Trap(error_chain(error)),
    }
}

/// Whether the guest accessed memory below address 0. Toolchains place a guest's own stack at the start of
/// its memory, so a guest that runs out of stack does this; one with a bad pointer rarely does.
fn is_below_memory(error: &wasmtime::Error) -> bool {
    const FAULT: &str = "memory fault at wasm address 0x";
    const ADDRESS_SPACE: u64 = 1 << 32;
    const MAX_FRAME_BYTES: u64 = 16 << 20;

    let address = error.chain().find_map(|cause| {
        let text = cause.to_string();
        let address = text.strip_prefix(FAULT)?.split(' ').next()?;
        u64::from_str_radix(address, 16).ok()
    });
    address.is_some_and(|it| (ADDRESS_SPACE - MAX_FRAME_BYTES..ADDRESS_SPACE + MAX_FRAME_BYTES).contains(&it))
}

/// Whether the guest has more open handles than `set_max_component_handles` allows.
fn is_out_of_handles(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("store handle limit exceeded")
}

/// Whether the guest passed the host more than `set_hostcall_fuel` allows.
fn is_too_much_at_once(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("fuel allocated for hostcalls")
}

/// The error and its causes, with the guest's stack frames. `Debug` would add the host's frames and source
/// paths when `RUST_BACKTRACE` is set.
fn error_chain(error: &wasmtime::Error) -> String {
    error.chain().map(ToString::to_string).collect::<Vec<_>>().join("\n\nCaused by: ")
}

#[cfg(test)]
mod tests {
    use wasmtime::component::{Component, Linker};
    use wasmtime::{Config, Engine, Error, Instance, Module, Store};

    use super::*;

    /// Runs the exported function `run` of a component that imports `host: func(text: string)`.
    fn error_of(component: &str, limit: impl FnOnce(&mut Store<()>)) -> Error {
        let engine = Engine::new(Config::new().wasm_component_model(true)).expect("an engine");
        let bytes = wat::parse_str(component).expect("the text is valid");
        let component = Component::new(&engine, bytes).expect("the component is valid");
        let mut linker = Linker::new(&engine);
        linker.root().func_wrap("host", |_, (_text,): (String,)| Ok(())).expect("no function has this name");
        let mut store = Store::new(&engine, ());
        limit(&mut store);
        let instance = linker.instantiate(&mut store, &component).expect("it has all imports");
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").expect("it exports `run`");
        run.call(&mut store, ()).expect_err("it exceeds the limit")
    }

    #[test]
    fn an_access_below_memory_is_told_from_one_beyond_it() {
        let error_at = |address: u32| {
            let module = format!(
                "(module (memory 1) (func (export \"run\") (drop (i32.load (i32.const {address})))))"
            );
            let engine = Engine::default();
            let module = wat::parse_str(module).expect("the text is valid");
            let module = Module::new(&engine, module).expect("the module is valid");
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[]).expect("it has no imports");
            let run = instance.get_typed_func::<(), ()>(&mut store, "run").expect("it exports `run`");
            run.call(&mut store, ()).expect_err("the address is outside the memory")
        };

        assert!(is_below_memory(&error_at(0xffff_fff0)));
        assert!(!is_below_memory(&error_at(0x0010_0000)));
    }

    #[test]
    fn a_guest_with_too_many_handles_is_recognised() {
        let error = error_of(
            "(component
                (import \"host\" (func (param \"text\" string)))
                (type $handle (resource (rep i32)))
                (core func $new (canon resource.new $handle))
                (core module $guest
                    (import \"\" \"new\" (func $new (param i32) (result i32)))
                    (func (export \"run\") (loop (drop (call $new (i32.const 0))) (br 0))))
                (core instance $guest (instantiate $guest (with \"\" (instance (export \"new\" (func $new))))))
                (func (export \"run\") (canon lift (core func $guest \"run\"))))",
            |store| store.set_max_component_handles(9),
        );

        assert!(is_out_of_handles(&error) && !is_too_much_at_once(&error), "{error:?}");
    }

    #[test]
    fn a_guest_that_passes_too_much_at_once_is_recognised() {
        let error = error_of(
            "(component
                (import \"host\" (func $host (param \"text\" string)))
                (core module $memory (memory (export \"memory\") 1))
                (core instance $memory (instantiate $memory))
                (core func $lowered (canon lower (func $host) (memory (core memory $memory \"memory\"))))
                (core module $guest
                    (import \"\" \"host\" (func $host (param i32 i32)))
                    (func (export \"run\") (call $host (i32.const 0) (i32.const 60000))))
                (core instance $guest (instantiate $guest (with \"\" (instance (export \"host\" (func $lowered))))))
                (func (export \"run\") (canon lift (core func $guest \"run\"))))",
            |store| store.set_hostcall_fuel(1000),
        );

        assert!(is_too_much_at_once(&error) && !is_out_of_handles(&error), "{error:?}");
    }
}
