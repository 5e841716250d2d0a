//! `kitbag:toolkit/secrets`: the calling user's credentials for this toolkit.
//! Granted by `secrets` in the declaration.

use std::sync::Arc;

use kitbag_vault::UserSecrets;
use secrecy::ExposeSecret;
use wasmtime::component::{HasData, Linker};

use super::{CallContext, Grants};
use crate::contract::interfaces::secrets::{self, SecretError};
use crate::observations::MissingSecrets;

/// The declared names of secrets, and the user's values. The default has none.
#[derive(Clone, Default)]
pub struct Secrets {
    grants: Grants,
    of_user: Arc<UserSecrets>,
    missing: MissingSecrets,
}

impl Secrets {
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        let CallContext { grants, secrets, observations, .. } = call;
        let grants = (*grants).clone();
        let of_user = (*secrets).clone();
        let missing = observations.missing.clone();
        Self { grants, of_user, missing }
    }

    fn allows(&self, name: &str) -> bool {
        self.grants.definition().secrets.iter().any(|declared| declared == name)
    }
}

impl secrets::Host for Secrets {
    async fn get(&mut self, name: String) -> wasmtime::Result<Result<Option<String>, SecretError>> {
        if !self.allows(&name) {
            return Ok(Err(SecretError::Undeclared));
        }
        let value = self.of_user.readable(&self.grants.definition().id, &name);
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
    secrets::add_to_linker::<T, HasSecrets>(linker, secrets)
}
