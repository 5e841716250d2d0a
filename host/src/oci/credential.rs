//! The person's credentials for a registry, as `docker login` keeps them.

use docker_credential::{CredentialRetrievalError, DockerCredential};
use secrecy::SecretString;

use super::RegistryError;
use crate::tasks::off_thread;

/// As whom a registry is asked.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    /// A name and a password.
    Password { user: String, password: SecretString },
    /// A token that the token service exchanges.
    IdentityToken(SecretString),
}

/// What Docker calls Docker Hub in its configuration.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// The credentials for a registry; `None` if there are none. They may come from a program that Docker's configuration names.
pub(super) async fn credential(registry: &str) -> Result<Option<Credential>, RegistryError> {
    let server = if registry == "docker.io" { DOCKER_HUB.to_owned() } else { registry.to_owned() };
    let found = off_thread(move || docker_credential::get_credential(&server)).await;
    match found {
        Ok(DockerCredential::UsernamePassword(user, password)) => {
            Ok(Some(Credential::Password { user, password: password.into() }))
        }
        Ok(DockerCredential::IdentityToken(token)) => Ok(Some(Credential::IdentityToken(token.into()))),
        // Without the file there are none either.
        Err(
            CredentialRetrievalError::NoCredentialConfigured
            | CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::ConfigReadError,
        ) => Ok(None),
        // The words of Docker's own helpers, on either stream.
        Err(CredentialRetrievalError::HelperFailure { stdout, stderr, .. })
            if [&stdout, &stderr].iter().any(|said| said.contains("credentials not found")) =>
        {
            Ok(None)
        }
        // Not what it printed: that is where the password would be.
        Err(CredentialRetrievalError::HelperFailure { stderr, .. }) => {
            Err(RegistryError::Credentials(format!("the program that keeps them failed: {}", stderr.trim())))
        }
        Err(error) => Err(RegistryError::Credentials(error.to_string())),
    }
}
