//! `kitbag:toolkit/secrets`: the calling user's credentials for this toolkit.
//! Granted by `secrets` in the declaration.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use super::NO_VAULT;
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
#[derive(Clone, Debug)]
pub struct Secrets {
    declared: Arc<[String]>,
}

impl Secrets {
    /// Grants the names in `declared` and no others.
    pub fn new(declared: Arc<[String]>) -> Self {
        Self { declared }
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
        Ok(Err(SecretError::Unavailable(NO_VAULT.to_owned())))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_undeclared_name_is_refused_before_anything_else() {
        let mut secrets = Secrets::new(["API_KEY".to_owned()].into());

        let refused = secrets.get("OTHER".into()).await.expect("no trap");
        let declared = secrets.get("API_KEY".into()).await.expect("no trap");

        assert!(matches!(refused, Err(SecretError::Undeclared)));
        assert!(matches!(declared, Err(SecretError::Unavailable(_))));
    }
}
