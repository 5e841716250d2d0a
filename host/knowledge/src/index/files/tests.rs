use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use super::*;
use crate::index::UserIndex;
use crate::index::file::write;
use crate::store::Revision;

fn scratch(max_total: u64) -> (tempfile::TempDir, Files) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let files = Files::new(data.path(), max_total);
    (data, files)
}

impl Files {
    fn put(&self, user: &str, bytes: &[u8]) {
        self.write_bytes(user, bytes).expect("there is room");
        self.finish(&Holder::user(user)).expect("it was written");
    }

    fn write_bytes(&self, user: &str, bytes: &[u8]) -> io::Result<()> {
        self.write(&Holder::user(user), bytes.len() as u64, |mut file| file.write_all(bytes))
    }

    fn read(&self, user: &str) -> io::Result<Option<Vec<u8>>> {
        let Some(mut file) = self.open(&Holder::user(user))? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn path(&self, user: &str) -> PathBuf {
        self.data.join(FOLDER).join(Self::name_of(&Holder::user(user)))
    }

    fn make_older(&self, user: &str, minutes: u64) {
        let file = File::options().write(true).open(self.path(user)).expect("it is there");
        file.set_modified(SystemTime::now() - Duration::from_mins(minutes)).expect("it is ours");
    }
}

#[test]
fn what_was_written_is_there_once_it_is_finished_and_for_its_owner_alone() {
    let (data, files) = scratch(1000);

    files.write_bytes("ana", b"one").expect("there is room");
    assert_eq!(files.read("ana").expect("it can be read"), None);
    files.finish(&Holder::user("ana")).expect("it was written");
    files.put("ana", b"two");

    assert_eq!(files.read("ana").expect("it can be read").as_deref(), Some(&b"two"[..]));
    assert_eq!(files.read("ben").expect("it can be read"), None);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&data.path().join(FOLDER)), mode(&files.path("ana"))), (0o700, 0o600));
    files
        .remove(&[Files::name_of(&Holder::user("ana")), Files::name_of(&Holder::user("ben"))])
        .expect("it is ours");
    assert_eq!(files.read("ana").expect("it can be read"), None);
}

#[test]
fn files_that_nobody_used_for_long_make_room_and_none_is_larger_than_allowed() {
    let (_data, files) = scratch(100);
    for (user, age) in [("ana", 3), ("ben", 2), ("una", 1)] {
        files.put(user, &[1; 30]);
        files.make_older(user, age);
    }
    // Reading counts as use.
    files.read("ana").expect("it can be read");

    files.put("zoe", &[1; 40]);
    let is_there = |user: &str| files.path(user).exists();
    assert_eq!(["ana", "ben", "una", "zoe"].map(is_there), [true, false, true, true]);
    files.put("zoe", &[1; 40]);
    assert_eq!(["ana", "una", "zoe"].map(is_there), [true; 3], "the one before makes room itself");

    assert!(files.write_bytes("ben", &[1; 101]).is_err());
}

#[test]
fn what_is_not_kept_goes_with_everything_that_does_not_belong_there() {
    let (data, files) = scratch(1000);
    files.set_history("one").expect("it is ours");
    files.put("ana", b"a");
    files.put("ben", b"b");
    files.write_bytes("una", b"unfinished").expect("there is room");
    fs::write(data.path().join(FOLDER).join(".tmp123"), "left").expect("it is ours");

    files.retain(&[Files::name_of(&Holder::user("ben"))]).expect("it is ours");

    let folder = fs::read_dir(data.path().join(FOLDER)).expect("it is there");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("one").file_name().into_string();
    let mut left: Vec<_> = folder.map(|entry| name(entry).expect("UTF-8")).collect();
    left.sort_by_key(|name| name == HISTORY);
    assert_eq!(left, [Files::name_of(&Holder::user("ben")), HISTORY.to_owned()]);
    assert_eq!(files.history().expect("it can be read").as_deref(), Some("one"));
}

#[test]
fn headers_are_those_of_files_of_users() {
    let (_data, files) = scratch(1 << 20);
    let header =
        Header { holder: "ana".to_owned(), model: None, revision: Revision { revision: 1, removals: 0 } };
    assert_eq!(files.history().expect("it can be read"), None);
    files.set_history("one").expect("it is ours");
    files.put("ana", &write(&header, &UserIndex::default(), Vec::new()).expect("the header is short"));
    files.put("ben", b"something else");

    let mut headers = files.headers().expect("it can be read");

    headers.sort_by_key(|(_, header)| header.is_none());
    let expected =
        [(Files::name_of(&Holder::user("ana")), Some(header)), (Files::name_of(&Holder::user("ben")), None)];
    assert_eq!(headers, expected);
}

#[test]
fn a_folder_that_was_deleted_is_made_again() {
    let (data, files) = scratch(1000);
    files.put("ana", b"a");
    fs::remove_dir_all(data.path().join(FOLDER)).expect("it is ours");

    assert_eq!(files.read("ana").expect("it can be read"), None);
    fs::remove_dir_all(data.path().join(FOLDER)).expect("it is ours");
    files.put("ana", b"again");
    assert_eq!(files.read("ana").expect("it can be read").as_deref(), Some(&b"again"[..]));
}

#[test]
fn a_file_without_a_name_is_in_no_folder() {
    let (data, files) = scratch(1000);

    let mut one = files.scratch().expect("it can be made");
    let two = files.scratch().expect("it can be made");
    one.write_all(b"one").expect("it is ours");

    assert_eq!(two.metadata().expect("it is open").len(), 0);
    assert_eq!(fs::read_dir(data.path().join(FOLDER)).expect("it is there").count(), 0);
}
