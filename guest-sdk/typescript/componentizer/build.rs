//! Node.js loads core modules, and the linker of `wasm32-wasip2` makes components unless it is told not to.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("TARGET").is_ok_and(|target| target == "wasm32-wasip2") {
        println!("cargo::rustc-link-arg-cdylib=--skip-wit-component");
    }
}
