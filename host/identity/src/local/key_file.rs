//! File of the local issuer's private key: PKCS#8, DER, P-256.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use kitbag_base::private_file;

use super::issuer_error::LocalIssuerError;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};

pub(super) const NAME: &str = "local-issuer.p8";

/// Reads the key, creating it if there is none, and returns it as PKCS#8.
pub(super) fn load_or_create(path: &Path) -> Result<Vec<u8>, LocalIssuerError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(path).map_err(|source| file_error(path, source))?;
            fs::read(path)
        }
        other => other,
    }
    .map_err(|source| file_error(path, source))?;
    if private_file::is_exposed(path).map_err(|source| file_error(path, source))? {
        return Err(LocalIssuerError::Exposed { path: path.to_owned() });
    }
    // A test signature: later ones cannot fail because of the key.
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes)
        .ok()
        .and_then(|key| key.sign(&SystemRandom::new(), b"").ok())
        .ok_or_else(|| LocalIssuerError::Malformed { path: path.to_owned() })?;
    Ok(bytes)
}

/// Deletes the key file, if any: tokens signed with the key become invalid once a new key is created.
pub(super) fn remove(data_directory: &Path) -> Result<(), LocalIssuerError> {
    let path = data_directory.join(NAME);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(&path, error)),
        _ => Ok(()),
    }
}

fn create(path: &Path) -> io::Result<()> {
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
        .map_err(|_| io::Error::other("no random numbers"))?;
    private_file::create(path, key.as_ref())
}

fn file_error(path: &Path, source: io::Error) -> LocalIssuerError {
    LocalIssuerError::File { path: path.to_owned(), source: Arc::new(source) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_key_is_made_once_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);

        let first = load_or_create(&path).unwrap();
        let second = load_or_create(&path).unwrap();

        assert_eq!(first, second);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn processes_that_start_at_once_agree_on_one_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);

        let keys: Vec<_> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..8).map(|_| scope.spawn(|| load_or_create(&path).unwrap())).collect();
            starting.into_iter().map(|thread| thread.join().unwrap()).collect()
        });

        assert!(keys.iter().all(|key| *key == keys[0]));
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        load_or_create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

        assert!(matches!(load_or_create(&path), Err(LocalIssuerError::Exposed { .. })));
    }

    #[test]
    fn a_file_that_is_no_key_is_refused_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        fs::write(&path, "no key").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

        assert!(matches!(load_or_create(&path), Err(LocalIssuerError::Malformed { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"no key");
    }
}
