//! Master keys, which wrap the records' own keys, and their sources.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kitbag_base::ownership::shell_quoted;
use kitbag_base::private_file;
use kitbag_base::sha256::Sha256;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;
use tokio::process::Command;
use tokio::time::timeout;

use super::seal::{Key, random_key};

/// Time limit of the command that prints the keys.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// The source of the master keys. The format is the same for all: keys of 32 bytes, in base64 or
/// hexadecimal, separated by white space or commas. The first key encrypts; all keys decrypt.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A file with mode 0600, managed by this server: created at the first start, replaced by a rotation.
    File(PathBuf),
    /// A file with mode 0600, managed by the operator: several processes need the same keys.
    GivenFile(PathBuf),
    /// The keys as text, from an environment variable.
    Text(SecretString),
    /// A shell command that prints the keys, such as a request to a key management service.
    Command(String),
}

/// Errors of reading the master keys.
#[derive(Debug, Error)]
pub enum MasterKeyError {
    /// The file cannot be read or created.
    #[error("cannot use the master key file {path}: {cause}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Underlying error.
        cause: io::Error,
    },
    /// The file is missing, and the operator has to create it.
    #[error(
        "there is no master key at {path}. All processes of a service need the same one, so it is given, not made: run \
         `openssl rand -base64 32` once, and put what it prints into {argument} on each machine, with mode 0600",
        path = .path.display(), argument = shell_quoted(.path)
    )]
    NotGiven {
        /// Expected path of the file.
        path: PathBuf,
    },
    /// Other users of the machine can read the file.
    #[error(
        "other users of this machine can read the master key file {path}; run: chmod 600 {argument}\nthey may have read it: run `kitbag vault rotate` once the server runs, and replace the secrets themselves",
        path = .path.display(), argument = shell_quoted(.path)
    )]
    Exposed {
        /// Path of the file.
        path: PathBuf,
    },
    /// The command did not print keys.
    #[error("the master key command failed: {0}")]
    Command(String),
    /// The text is not a list of keys.
    #[error("a master key is 32 bytes, in base64 or hexadecimal (`openssl rand -base64 32` makes one)")]
    Malformed,
}

/// A master key with the name that records refer to.
#[derive(Clone)]
pub(super) struct MasterKey {
    bytes: Key,
    name: String,
}

impl MasterKey {
    pub(super) fn new(bytes: Key) -> Self {
        // The name reveals nothing about the key, and differs between keys.
        let digest = Sha256::digest([b"kitbag master key".as_slice(), bytes.as_slice()].concat());
        Self { bytes, name: hex::encode(&digest[..8]) }
    }

    pub(super) fn bytes(&self) -> &Key {
        &self.bytes
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// All master keys. The first one encrypts; all decrypt.
#[derive(Clone)]
pub(super) struct MasterKeys {
    keys: Vec<MasterKey>,
}

impl MasterKeys {
    /// Reads the keys. A missing file is created with one new key, if `creation` allows.
    pub(super) async fn load(source: &KeySource, creation: Creation) -> Result<Self, MasterKeyError> {
        match source {
            KeySource::File(path) => {
                Self::make_missing(path, creation)?;
                Self::from_file(path)
            }
            KeySource::GivenFile(path) => match Self::from_file(path) {
                Err(MasterKeyError::File { path, cause }) if cause.kind() == io::ErrorKind::NotFound => {
                    Err(MasterKeyError::NotGiven { path })
                }
                read => read,
            },
            KeySource::Text(text) => Self::parse(text),
            KeySource::Command(line) => Self::parse(&output_of(line).await?),
        }
    }

    /// Creates a missing key file with one new key, if `creation` allows.
    fn make_missing(path: &Path, creation: Creation) -> Result<(), MasterKeyError> {
        let failed = |cause| MasterKeyError::File { path: path.to_owned(), cause };
        if creation == Creation::Allowed && !path.try_exists().map_err(failed)? {
            let first = Self { keys: vec![MasterKey::new(random_key())] };
            private_file::create(path, first.to_text().expose_secret().as_bytes()).map_err(failed)?;
        }
        Ok(())
    }

    fn from_file(path: &Path) -> Result<Self, MasterKeyError> {
        let failed = |cause| MasterKeyError::File { path: path.to_owned(), cause };
        let text = fs::read_to_string(path).map(SecretString::from).map_err(failed)?;
        if private_file::is_exposed(path).map_err(failed)? {
            return Err(MasterKeyError::Exposed { path: path.to_owned() });
        }
        Self::parse(&text)
    }

    fn parse(text: &SecretString) -> Result<Self, MasterKeyError> {
        let words = text.expose_secret().split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty());
        let keys: Vec<_> = words.map(parse).collect::<Option<_>>().ok_or(MasterKeyError::Malformed)?;
        if keys.is_empty() { Err(MasterKeyError::Malformed) } else { Ok(Self { keys }) }
    }

    /// Returns the key for encrypting.
    pub(super) fn current(&self) -> &MasterKey {
        &self.keys[0]
    }

    /// Returns the key of this name, if available.
    pub(super) fn named(&self, name: &str) -> Option<&MasterKey> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns the names of all keys, the current one first.
    pub(super) fn names(&self) -> Vec<String> {
        self.keys.iter().map(|key| key.name.clone()).collect()
    }

    /// Returns all keys, the current one first.
    pub(super) fn all(&self) -> impl Iterator<Item = &MasterKey> {
        self.keys.iter()
    }

    /// Returns whether there are keys besides the current one.
    pub(super) fn has_old_keys(&self) -> bool {
        self.keys.len() > 1
    }

    /// Returns these keys with a new one as the first.
    pub(super) fn with_new_key(&self) -> Self {
        let keys = std::iter::once(MasterKey::new(random_key())).chain(self.keys.iter().cloned());
        Self { keys: keys.collect() }
    }

    /// Returns the current key and those that are still `used`.
    pub(super) fn only_current_and(&self, used: &HashSet<String>) -> Self {
        let is_needed = |key: &&MasterKey| key.name == self.current().name || used.contains(&key.name);
        Self { keys: self.keys.iter().filter(is_needed).cloned().collect() }
    }

    /// Replaces the key file.
    pub(super) fn save(&self, path: &Path) -> Result<(), MasterKeyError> {
        private_file::replace(path, self.to_text().expose_secret().as_bytes())
            .map_err(|cause| MasterKeyError::File { path: path.to_owned(), cause })
    }

    fn to_text(&self) -> SecretString {
        let lines: String =
            self.keys.iter().map(|key| BASE64_STANDARD.encode(key.bytes.as_slice()) + "\n").collect();
        lines.into()
    }
}

/// Whether a missing key file may be created. Refused if records need the lost key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Creation {
    Allowed,
    Refused,
}

fn parse(word: &str) -> Option<MasterKey> {
    let bytes = hex::decode(word).ok().or_else(|| BASE64_STANDARD.decode(word).ok())?;
    let mut key = Key::default();
    let fits = bytes.len() == key.len();
    fits.then(|| {
        key.copy_from_slice(&bytes);
        MasterKey::new(key)
    })
}

async fn output_of(line: &str) -> Result<SecretString, MasterKeyError> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).kill_on_drop(true);
    let failed = |cause: String| MasterKeyError::Command(cause);
    let output = timeout(COMMAND_TIMEOUT, command.output())
        .await
        .map_err(|_| failed(format!("it did not end within {} s", COMMAND_TIMEOUT.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", output.status, said.trim())));
    }
    String::from_utf8(output.stdout).map(SecretString::from).map_err(|_| MasterKeyError::Malformed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const BASE64: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("master-key");
        (folder, path)
    }

    async fn load(source: KeySource) -> Result<MasterKeys, MasterKeyError> {
        MasterKeys::load(&source, Creation::Allowed).await
    }

    #[tokio::test]
    async fn the_file_is_made_once_for_its_owner_alone() {
        let (_folder, path) = file();

        let first = load(KeySource::File(path.clone())).await.expect("it is made");
        let second = load(KeySource::File(path.clone())).await.expect("it is read");

        assert_eq!(first.current().name(), second.current().name());
        assert_eq!(fs::metadata(&path).expect("the file").permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_lost_file_is_not_replaced_while_records_wait_for_it() {
        let (_folder, path) = file();

        let outcome = MasterKeys::load(&KeySource::File(path.clone()), Creation::Refused).await;

        assert!(matches!(outcome, Err(MasterKeyError::File { .. })));
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_file_that_the_operator_gives_is_read_and_never_made() {
        let (_folder, path) = file();
        let missing = load(KeySource::GivenFile(path.clone())).await.err().expect("there is none");
        assert!(matches!(missing, MasterKeyError::NotGiven { .. }) && !path.exists(), "{missing}");

        private_file::create(&path, BASE64.as_bytes()).expect("it is ours");
        let keys = load(KeySource::GivenFile(path.clone())).await.expect("a key");
        assert_eq!(keys.names().len(), 1);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");
        assert!(matches!(load(KeySource::GivenFile(path)).await, Err(MasterKeyError::Exposed { .. })));
    }

    #[tokio::test]
    async fn a_file_that_others_can_read_is_refused() {
        let (_folder, path) = file();
        load(KeySource::File(path.clone())).await.expect("it is made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");

        assert!(matches!(load(KeySource::File(path)).await, Err(MasterKeyError::Exposed { .. })));
    }

    #[tokio::test]
    async fn keys_are_read_from_text_and_from_a_command_in_either_spelling() {
        for source in [
            KeySource::Text(BASE64.into()),
            KeySource::Text(HEX.into()),
            KeySource::Command(format!("echo {BASE64}")),
        ] {
            let keys = load(source).await.expect("a key");
            assert_eq!(keys.current().bytes().as_slice(), (0..32).collect::<Vec<u8>>());
        }
    }

    #[tokio::test]
    async fn the_first_key_seals_and_every_key_opens() {
        let other = hex::encode([7; 32]);
        let keys = load(KeySource::Text(format!("{other},\n{HEX}\n").into())).await.expect("two keys");
        let known = load(KeySource::Text(HEX.into())).await.expect("a key");

        assert_ne!(keys.current().name(), known.current().name());
        assert!(keys.named(known.current().name()).is_some());
    }

    #[tokio::test]
    async fn what_is_no_key_is_refused_without_quoting_it() {
        for text in ["", " \n", "hunter2", "AAECAwQF", &format!("{HEX} hunter2")] {
            let error = load(KeySource::Text(text.into())).await.err().expect("no key");
            assert!(
                matches!(error, MasterKeyError::Malformed) && !error.to_string().contains("hunter2"),
                "{text}"
            );
        }
        let failed =
            load(KeySource::Command("echo no such key >&2; exit 3".into())).await.err().expect("no key");
        assert!(failed.to_string().contains("no such key"), "{failed}");
    }
}
