//! A valid component that is not a toolkit: it exports a function of another world.

/// The greeter of that world.
pub struct Greeter;

impl bindings::Guest for Greeter {
    fn greet() -> String {
        "Hello!".to_owned()
    }
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package guests:other;

            world other {
                export greet: func() -> string;
            }
        ",
    });

    // A native linker does not accept the names of a component's exports.
    #[cfg(target_family = "wasm")]
    use super::Greeter;
    #[cfg(target_family = "wasm")]
    export!(Greeter);
}
