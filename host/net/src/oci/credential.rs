//! The person's credentials for a registry, as `docker login` keeps them.

use std::env;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use secrecy::SecretString;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::RegistryError;

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

/// The credentials for a registry; `None` if there are none. They may come from a program that Docker's configuration names, which
/// has to answer in time.
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
        // Without the file there are none either.
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

/// Docker's configuration.
fn config() -> Option<PathBuf> {
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".docker")));
    folder.map(|folder| folder.join("config.json"))
}

/// Runs `ask` on a thread of its own, which nothing waits for when the time is over: not even the end of the program.
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
