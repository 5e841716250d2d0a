//! Node.js loads core modules, and the linker of `wasm32-wasip2` makes components unless it is told not to.
//! The locale data of `Intl` is packed.

#[cfg(feature = "intl")]
#[path = "build/intl.rs"]
mod intl;

/// Bytes of the stack of compiled code. Scripts that recurse too deep are stopped before its end.
const STACK_BYTES: u32 = 256 * 1024;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    if target.starts_with("wasm32-wasi") {
        println!("cargo::rustc-link-arg-cdylib=-zstack-size={STACK_BYTES}");
    }
    if target == "wasm32-wasip2" {
        println!("cargo::rustc-link-arg-cdylib=--skip-wit-component");
    }
    #[cfg(feature = "intl")]
    intl::pack();
}
