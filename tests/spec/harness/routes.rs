//! Routes of the server, read from its source code.

use std::fs;
use std::path::Path;

use super::root;

/// Paths of all routes in the source of `web`, with the name of each parameter as its value.
pub(crate) fn routes() -> Vec<String> {
    let mut paths: Vec<_> = declared().into_iter().map(|(path, _)| path).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Routes with a method that may change state, such as `POST /toolkits/id/rollback`.
pub(crate) fn changing_routes() -> Vec<String> {
    let methods = [
        ("post(", "POST"),
        ("put(", "PUT"),
        ("patch(", "PATCH"),
        ("delete(", "DELETE"),
        ("mcp_methods(", "POST"),
    ];
    let mut routes = Vec::new();
    for (path, handlers) in declared() {
        let named = methods.iter().filter(|(call, _)| {
            handlers
                .match_indices(call)
                .any(|(at, _)| !handlers[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_'))
        });
        routes.extend(named.map(|(_, method)| format!("{method} {path}")));
    }
    routes.sort();
    routes.dedup();
    routes
}

/// Path of each route, with the source text of its handlers.
fn declared() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    collect(&root().join("host/web/src"), &mut texts);
    let constants =
        fs::read_to_string(root().join("host/identity/src/local/paths.rs")).expect("source is text");

    let mut routes = Vec::new();
    for argument in texts.iter().flat_map(|text| text.split(".route(").skip(1)) {
        let argument = argument.trim_start();
        let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
        let path = if argument.starts_with('"') {
            quoted(argument)
        } else {
            let name = argument.split(',').next().expect("a path").rsplit("::").next().expect("a name");
            constants.split_once(&format!("pub const {name}: &str")).and_then(|(_, value)| quoted(value))
        };
        let path = path.unwrap_or_else(|| panic!("which path is this? {argument:.40}"));
        routes.push((path.replace(['{', '}'], ""), up_to_its_end(argument).to_owned()));
    }
    routes
}

/// Arguments of a function call, up to its closing parenthesis.
fn up_to_its_end(arguments: &str) -> &str {
    let mut depth = 1;
    let end = arguments.find(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0
    });
    &arguments[..end.expect("the call ends")]
}

fn collect(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            folder if folder.is_dir() => collect(&folder, texts),
            file => texts.push(fs::read_to_string(file).expect("source is text")),
        }
    }
}
