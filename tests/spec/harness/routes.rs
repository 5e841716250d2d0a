//! The routes of the server, as its source has them.

use std::fs;
use std::path::Path;

use super::root;

/// Paths of all routes in the source of `web`, with the name of each parameter as its value.
pub(crate) fn routes() -> Vec<String> {
    let source = root().join("host/src");
    let mut texts = vec![fs::read_to_string(source.join("web.rs")).expect("source is text")];
    collect(&source.join("web"), &mut texts);
    let constants = fs::read_to_string(source.join("identity/local.rs")).expect("source is text");

    let mut routes = Vec::new();
    for argument in texts.iter().flat_map(|text| text.split(".route(").skip(1)) {
        let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
        let path = if argument.starts_with('"') {
            quoted(argument)
        } else {
            let name = argument.split(',').next().expect("a path").rsplit("::").next().expect("a name");
            constants.split_once(&format!("pub const {name}: &str")).and_then(|(_, value)| quoted(value))
        };
        let path = path.unwrap_or_else(|| panic!("which path is this? {argument:.40}"));
        routes.push(path.replace(['{', '}'], ""));
    }
    routes.sort();
    routes.dedup();
    routes
}

fn collect(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            folder if folder.is_dir() => collect(&folder, texts),
            file => texts.push(fs::read_to_string(file).expect("source is text")),
        }
    }
}
