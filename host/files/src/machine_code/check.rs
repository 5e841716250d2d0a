//! Checks the seals of all machine code, for commands that inspect a data directory without a server.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::seal::Seal;
use super::{EXTENSION, named_digest};

/// Checks each file of machine code below `folder` of a data directory, for any engine. Calls `broken` for
/// each file without a valid seal. Returns the number of files. Changes nothing; blocks.
pub fn check_seals(data: &Path, folder: &str, mut broken: impl FnMut(&Path, io::Error)) -> io::Result<u64> {
    let engines = match fs::read_dir(data.join(folder)) {
        Ok(engines) => engines,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let seal = Seal::existing(data)?;
    let mut count = 0;
    for engine in engines {
        let engine = engine?;
        if !engine.file_type()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(engine.path())? {
            let path = entry?.path();
            let is_code = path.extension().is_some_and(|found| found == EXTENSION);
            let Some(digest) = named_digest(&path).filter(|_| is_code) else { continue };
            count += 1;
            let checked = match &seal {
                Some(seal) => File::open(&path).and_then(|mut file| seal.check(digest, &mut file)),
                None => Err(io::Error::other("there is no usable key for seals (code.key)")),
            };
            match checked {
                // The file was removed with its toolkit meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => count -= 1,
                Err(error) => broken(&path, error),
                Ok(()) => {}
            }
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::machine_code::MachineCode;

    const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn check(data: &Path) -> (u64, Vec<String>) {
        let mut broken = Vec::new();
        let count = check_seals(data, "code", |_, error| broken.push(error.to_string()));
        (count.expect("it can be read"), broken)
    }

    #[test]
    fn each_file_without_a_valid_seal_is_found_and_no_key_is_made() {
        let data = tempfile::tempdir().expect("a scratch directory");
        assert_eq!(check(data.path()), (0, Vec::new()));
        assert!(data.path().read_dir().expect("a folder").next().is_none());
        let code = MachineCode::open(data.path(), "code", "engine").expect("a folder");
        let mut file = code.new_file().expect("a file");
        file.write_all(b"code").expect("a file");
        code.seal_and_persist(DIGEST, file).expect("it can be kept");
        assert_eq!(check(data.path()), (1, Vec::new()));

        fs::write(code.file(DIGEST), b"other code, without a seal, and long enough to have one")
            .expect("a file");
        assert_eq!(check(data.path()).1.len(), 1);

        fs::remove_file(data.path().join("code.key")).expect("there is a key");
        assert!(check(data.path()).1[0].contains("code.key"));
        assert!(!data.path().join("code.key").exists());
    }
}
