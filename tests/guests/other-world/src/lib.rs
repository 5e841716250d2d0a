//! A good component, and no toolkit: it exports a function of a world of its own.

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

    // The names of a component's exports are no names for a linker of native code.
    #[cfg(target_family = "wasm")]
    use super::Greeter;
    #[cfg(target_family = "wasm")]
    export!(Greeter);
}
