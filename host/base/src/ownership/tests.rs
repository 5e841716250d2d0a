use std::os::unix::fs::symlink;

use super::*;

fn file(mode: u32, folder_mode: u32) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let path = folder.path().join("file");
    fs::write(&path, "text").expect("a scratch file");
    set_mode(&path, mode);
    set_mode(folder.path(), folder_mode);
    (folder, path)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").mode() & 0o7777
}

#[test]
fn only_the_owner_alone_is_trusted() {
    use Protection::{Private, Unwritable};

    for (owner, mode, protection, trusted) in [
        (1000, 0o700, Private, true),
        (1000, 0o755, Private, false),
        (1000, 0o710, Private, false),
        (1000, 0o701, Private, false),
        (1000, 0o755, Unwritable, true),
        (1000, 0o775, Unwritable, false),
        (1000, 0o757, Unwritable, false),
        (1000, 0o1777, Unwritable, false),
        (0, 0o700, Private, false),
        (0, 0o644, Unwritable, false),
        (1001, 0o700, Unwritable, false),
    ] {
        let checked = check(Status { owner, mode, is_file: true }, 1000, protection);
        assert_eq!(checked.is_ok(), trusted, "{owner} {mode:o} {protection:?}");
    }
    // Root does not trust files of other users, either.
    assert!(check(Status { owner: 1000, mode: 0o600, is_file: true }, 0, Protection::Unwritable).is_err());
}

#[test]
fn a_file_is_read_that_nobody_else_can_have_written() {
    for (file_mode, folder_mode, protection, trusted) in [
        (0o600, 0o700, Protection::Private, true),
        (0o644, 0o755, Protection::Unwritable, true),
        (0o644, 0o755, Protection::Private, false),
        (0o666, 0o700, Protection::Private, false),
        (0o664, 0o755, Protection::Unwritable, false),
        (0o600, 0o777, Protection::Unwritable, false),
    ] {
        let (_folder, path) = file(file_mode, folder_mode);
        let text = read(&path, protection).ok().flatten();
        assert_eq!(text.is_some(), trusted, "{file_mode:o} in {folder_mode:o}, {protection:?}");
    }
}

#[test]
fn no_link_and_no_pipe_is_read_and_what_is_absent_is_nothing() {
    let (folder, path) = file(0o600, 0o700);
    let link = folder.path().join("link");
    let pipe = folder.path().join("pipe");
    symlink(&path, &link).expect("a link");
    rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_bits_truncate(0o600), 0)
        .expect("a pipe");

    assert!(read(&link, Protection::Private).is_err_and(|error| error.to_string().contains("symbolic link")));
    assert!(read(&pipe, Protection::Private).is_err_and(|error| error.to_string().contains("not a file")));
    for absent in ["absent", "absent/file", "file/file"] {
        assert!(matches!(read(&folder.path().join(absent), Protection::Private), Ok(None)), "{absent}");
    }
    // An untrusted folder without the file is not an error.
    set_mode(folder.path(), 0o777);
    assert!(matches!(read(&folder.path().join("absent"), Protection::Private), Ok(None)));
}

#[test]
fn a_data_directory_is_made_for_its_owner_alone_or_has_to_be() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let data = folder.path().join("a/data");

    claim_directory(&data).expect("it is made");

    assert_eq!((mode(&data), mode(&folder.path().join("a"))), (0o700, 0o700));
    for open in [0o750, 0o755, 0o770, 0o701] {
        set_mode(&data, open);
        let refused = claim_directory(&data).expect_err("others can enter it").to_string();
        assert!(refused.contains(&format!("chmod 700 {}", data.display())), "{refused}");
    }
    set_mode(&data, 0o700);
    claim_directory(&data).expect("it is ours alone");
}

#[test]
fn a_path_in_advice_is_one_argument_of_a_shell() {
    let quoted = |path: &str| shell_quoted(Path::new(path));

    assert_eq!(quoted("/srv/kitbag-data"), "/srv/kitbag-data");
    for hostile in ["a b", "x; rm -rf ~", "$(id)", "it's", "`id`", "a\nb", "*", "~"] {
        let command = format!("printf %s {}", quoted(hostile));
        let shell = std::process::Command::new("sh").args(["-c", &command]).output();
        assert_eq!(shell.expect("there is a shell").stdout, hostile.as_bytes(), "{command}");
    }
    let distrust = Distrust::new(Path::new("a; id"), Reason::Readable(0o755));
    assert_eq!(distrust.remedy().as_deref(), Some("chmod 700 'a; id'"));
    assert!(advice(&distrust).ends_with("chmod 700 'a; id'"));
}

#[test]
fn permissions_of_others_are_taken_from_everything_but_keys_and_what_links_lead_to() {
    let elsewhere = tempfile::tempdir().expect("a scratch directory");
    let outside = elsewhere.path().join("outside");
    let data = tempfile::tempdir().expect("a scratch directory");
    let inside = |name: &str| data.path().join(name);
    fs::create_dir_all(inside("folder/deep")).expect("a folder");
    for path in [&outside, &inside("database"), &inside("folder/deep/file"), &inside("master-key")] {
        fs::write(path, "").expect("a scratch file");
        set_mode(path, 0o644);
    }
    set_mode(&inside("folder"), 0o755);
    symlink(&outside, inside("link")).expect("a link");

    restrict_permissions(data.path()).expect("it is ours");

    assert_eq!(mode(&inside("database")), 0o600);
    assert_eq!((mode(&inside("folder")), mode(&inside("folder/deep/file"))), (0o700, 0o600));
    assert_eq!((mode(&outside), mode(&inside("master-key"))), (0o644, 0o644));
}
