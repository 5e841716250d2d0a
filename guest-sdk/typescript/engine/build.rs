//! Links a core module for Node.js, which cannot load components: the linker of `wasm32-wasip2` makes a
//! component by default. Also packs the locale data of `Intl`.

#[cfg(feature = "intl")]
#[path = "build/intl.rs"]
mod intl;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    if target == "wasm32-wasip2" {
        println!("cargo::rustc-link-arg-cdylib=--skip-wit-component");
    }
    #[cfg(feature = "intl")]
    intl::pack();
}
