//! The user's credentials for a registry, as stored by `docker login`.

use std::env;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use secrecy::SecretString;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::RegistryError;

/// Credentials for a registry.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    /// User name and password.
    Password { user: String, password: SecretString },
    /// Refresh token for the token service.
    IdentityToken(SecretString),
}

/// Key of Docker Hub in Docker's configuration.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// Returns the credentials for a registry; `None` if there are none. They may come from a credential helper
/// that Docker's configuration names, which must answer within `patience`.
pub(super) async fn credential(
    registry: &str,
    patience: Duration,
) -> Result<Option<Credential>, RegistryError> {
    let server = if registry == "docker.io" { DOCKER_HUB.to_owned() } else { registry.to_owned() };
    match within(patience, move || docker_credential::get_credential(&server)).await? {
        Ok(DockerCredential::UsernamePassword(user, password)) => {
            Ok(Some(Credential::Password { user, password: password.into() }))
        }
        Ok(DockerCredential::IdentityToken(token)) => Ok(Some(Credential::IdentityToken(token.into()))),
        // Without the file there are no credentials.
        Err(CredentialRetrievalError::NoCredentialConfigured | CredentialRetrievalError::ConfigNotFound) => {
            Ok(None)
        }
        Err(CredentialRetrievalError::ConfigReadError) => match config().filter(|file| file.exists()) {
            None => Ok(None),
            Some(file) => Err(RegistryError::Credentials(format!(
                "{} is not a file that can be read, with JSON as Docker writes it",
                file.display()
            ))),
        },
        // Text of Docker's own helpers, on stdout or stderr.
        Err(CredentialRetrievalError::HelperFailure { stdout, stderr, .. })
            if [&stdout, &stderr].iter().any(|said| said.contains("credentials not found")) =>
        {
            Ok(None)
        }
        // stdout is not quoted: it may contain the password.
        Err(CredentialRetrievalError::HelperFailure { stderr, .. }) => {
            Err(RegistryError::Credentials(format!("the program that keeps them failed: {}", stderr.trim())))
        }
        Err(error) => Err(RegistryError::Credentials(error.to_string())),
    }
}

/// Path of Docker's configuration file.
fn config() -> Option<PathBuf> {
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".docker")));
    folder.map(|folder| folder.join("config.json"))
}

/// Runs `ask` on a detached thread with the time limit `patience`. After that, nothing waits for the thread,
/// not even the exit of the program.
async fn within<T: Send + 'static>(
    patience: Duration,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RegistryError> {
    let (answer, answered) = oneshot::channel();
    thread::spawn(move || drop(answer.send(ask())));
    match timeout(patience, answered).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(RegistryError::Credentials("asking for them failed".to_owned())),
        Err(_) => Err(RegistryError::Credentials(format!(
            "the program that keeps them has not answered within {} s",
            patience.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_does_not_answer_is_left() {
        let asked = within(Duration::from_millis(20), || thread::sleep(Duration::from_mins(1))).await;

        assert!(
            matches!(&asked, Err(RegistryError::Credentials(why)) if why.contains("has not answered")),
            "{asked:?}"
        );
        assert_eq!(within(Duration::from_mins(1), || 3).await.unwrap(), 3);
    }
}
