//! Links a core module for Node.js, which cannot load components: the linker of `wasm32-wasip2` makes a
//! component by default.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("TARGET").is_ok_and(|target| target == "wasm32-wasip2") {
        println!("cargo::rustc-link-arg-cdylib=--skip-wit-component");
    }
}
