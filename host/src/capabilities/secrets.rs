//! `kitbag:toolkit/secrets`: the calling user's credentials for this toolkit.
//! Granted by `secrets` in the declaration.

use std::sync::Arc;

use secrecy::ExposeSecret;
use wasmtime::component::{HasData, Linker};

use super::MissingSecrets;
use crate::vault::UserSecrets;
use bindings::kitbag::toolkit::secrets::{Host, SecretError};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "package kitbag:host-secrets; world host { import kitbag:toolkit/secrets@0.1.0; }",
        world: "kitbag:host-secrets/host",
        imports: { default: async | trappable },
    });
}

/// Which secrets one invocation may read.
#[derive(Clone)]
pub struct Secrets {
    declared: Arc<[String]>,
    toolkit: Arc<str>,
    of_user: Arc<UserSecrets>,
    missing: MissingSecrets,
}

impl Secrets {
    /// Grants the names in `declared` and no others: those that the user has set for `toolkit`.
    pub fn new(declared: Arc<[String]>, toolkit: Arc<str>, of_user: Arc<UserSecrets>) -> Self {
        Self { declared, toolkit, of_user, missing: MissingSecrets::default() }
    }

    /// Grants nothing.
    pub fn none() -> Self {
        Self::new([].into(), Arc::default(), Arc::default())
    }

    /// Adds what is asked for and has no value to `missing`.
    #[must_use]
    pub fn noting_in(self, missing: MissingSecrets) -> Self {
        Self { missing, ..self }
    }

    fn allows(&self, name: &str) -> bool {
        self.declared.iter().any(|declared| declared == name)
    }
}

impl Host for Secrets {
    async fn get(&mut self, name: String) -> wasmtime::Result<Result<Option<String>, SecretError>> {
        if !self.allows(&name) {
            return Ok(Err(SecretError::Undeclared));
        }
        let value = self.of_user.get(&self.toolkit, &name);
        if value.is_none() {
            self.missing.guest_asked(&name);
        }
        Ok(Ok(value.map(|value| value.expose_secret().to_owned())))
    }
}

/// Links the capability; `secrets` finds the invocation's state in the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    secrets: fn(&mut T) -> &mut Secrets,
) -> wasmtime::Result<()> {
    struct HasSecrets;
    impl HasData for HasSecrets {
        type Data<'a> = &'a mut Secrets;
    }
    bindings::kitbag::toolkit::secrets::add_to_linker::<T, HasSecrets>(linker, secrets)
}
