//! The order of imports between the host's modules, and which modules may use certain crates.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::harness::root;

/// Modules from left to right. A module imports from layers to its right only: never from the left,
/// and never from its neighbours in the same layer.
const LAYERS: [&[&str]; 19] = [
    &["fuzzing", "main"],
    &["cli"],
    &["app"],
    &["web"],
    &["access"],
    &["dispatch"],
    &["code_runner"],
    &["knowledge_tools"],
    &["backup", "doctor", "extractors", "invocations", "toolkits", "transfer", "user_config"],
    &["installed"],
    &["compiler"],
    &["sandbox"],
    &["capabilities"],
    &["contract", "observations"],
    &["identity", "knowledge", "oci", "outbound_auth", "traces", "user_cache"],
    &["objects"],
    &["certificate", "egress", "local_mode", "machine_code", "peers", "signatures", "stored_files", "vault"],
    &["audit"],
    &[
        "database",
        "disk",
        "folder",
        "json_object",
        "memory",
        "metrics",
        "private_file",
        "rate",
        "redaction",
        "sha256",
        "shares",
        "tasks",
        "turns",
    ],
];

/// Modules outside the order, each with the modules that may import it. They import no other module.
const LEAVES: [(&str, &[&str]); 9] = [
    ("base_url", &["cli", "identity", "knowledge_tools", "web"]),
    ("bounded_json", &["toolkits", "web"]),
    ("loopback", &["cli", "egress", "identity", "local_mode", "oci", "settings"]),
    ("mcp_clients", &["cli", "web"]),
    ("settings", &["cli", "app", "local_mode"]),
    (
        "ownership",
        &["cli", "app", "backup", "certificate", "doctor", "settings", "knowledge", "local_mode", "vault"],
    ),
    ("visible", &["cli", "identity", "telemetry", "web"]),
    ("telemetry", &["cli"]),
    ("toolchain", &["cli"]),
];

/// Crates, by a prefix of their names, each with the files or folders that may use it.
const RESTRICTED_CRATES: [(&str, &[&str]); 7] = [
    ("axum", &["web", "app"]),
    ("wasmtime", &["sandbox", "capabilities", "contract"]),
    ("rmcp", &["web"]),
    ("rustls", &["app/connections", "certificate", "egress"]),
    ("tokio_rustls", &["app/connections"]),
    ("async_graphql", &["web/graphql", "web/graphql.rs"]),
    ("memmap2", &["knowledge/index/mapped.rs"]),
];

/// Names of database engines, each with the files or folders that may use it. A setting says which one it is; URLs of
/// databases have passwords.
const DATABASE_ENGINES: [(&str, &[&str]); 3] = [
    ("sqlx", &["database"]),
    ("sqlite", &["database", "settings"]),
    ("postgres", &["database", "settings", "user_config/looks_secret.rs"]),
];
/// Attributes of rows, which modules named `store` may use too.
const ROW_ATTRIBUTE: &str = "#[sqlx(";
/// Types that a layer may not name, since it uses the layer to its right instead: `web` uses `access`.
const HIDDEN_TYPES: [(&str, &[&str]); 1] = [(
    "web",
    &[
        "Audit",
        "Dispatch",
        "Invocations",
        "Knowledge",
        "Registry",
        "Toolkits",
        "UserCache",
        "UserConfig",
        "Vault",
    ],
)];

#[test]
fn no_import_goes_from_right_to_left_and_no_crate_leaves_its_fence() {
    let source = root().join("host/src");
    let mut files = Vec::new();
    collect(&source, &mut files);
    assert!(files.len() > 50, "only {} files were found", files.len());

    let mut broken = String::new();
    for file in files {
        let name = file.strip_prefix(&source).expect("it was found there").to_str().expect("UTF-8");
        for violation in violations(name, &fs::read_to_string(&file).expect("source is text")) {
            writeln!(broken, "{name}: {violation}").expect("a string takes everything");
        }
    }

    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn the_checker_finds_an_arrow_that_turns_back() {
    for (file, code) in [
        ("toolkits/store.rs", "use crate::web::Shared;"),
        ("toolkits/store.rs", "fn f() { crate::dispatch::g() }"),
        ("database.rs", "use crate::{database::Database, egress::Egress};"),
        ("capabilities/fetch.rs", "use crate::{\n    egress::{Egress, Policy},\n    sandbox,\n};"),
        ("egress.rs", "use crate::vault::Vault;"),
        ("cli/serve.rs", "use crate::main::main;"),
        ("dispatch.rs", "use crate::settings::Settings;"),
        ("settings.rs", "use crate::app::App;"),
        ("new_module.rs", "use crate::egress::Egress;"),
        ("dispatch.rs", "use crate::new_module::New;"),
        ("dispatch.rs", "use axum::Json;"),
        ("knowledge/index/file.rs", "use memmap2::Mmap;"),
        ("toolkits/live.rs", "fn f() -> wasmtime::Result<()> { Ok(()) }"),
        ("toolkits/live.rs", "use wasmtime_wasi::WasiCtx;"),
        ("app.rs", "use rmcp::model::Tool;"),
        ("web/mcp.rs", "use async_graphql::Schema;"),
        ("web.rs", "use rustls::ServerConfig;"),
        ("egress/connector.rs", "use tokio_rustls::TlsConnector;"),
        ("toolkits.rs", "fn f(error: sqlx::Error) {}"),
        ("app.rs", "let database = open(&data.join(\"kitbag.sqlite\"));"),
        ("knowledge/index/cache.rs", "fn f(connection: &mut SqliteConnection) {}"),
        ("toolkits/restored.rs", "use sqlx::FromRow;"),
        ("knowledge/store/jobs.rs", "use sqlx::FromRow;"),
        ("vault/store.rs", "fn f(pool: &postgres::Pool) {}"),
        ("vault.rs", "#[sqlx(flatten)]"),
        ("web/secrets.rs", "use crate::vault::Vault;"),
        ("web/secrets.rs", "use crate::vault::{SecretStatus, Vault as Safe};"),
        ("web.rs", "fn f(shared: &Shared) { crate::toolkits::Toolkits::registry(shared) }"),
    ] {
        assert_eq!(violations(file, code).len(), 1, "{file}: {code}: {:?}", violations(file, code));
    }
}

#[test]
fn the_checker_lets_arrows_to_the_right_through() {
    for (file, code) in [
        ("main.rs", "use kitbag::cli::Command;"),
        ("cli/serve.rs", "use crate::{app::App, settings::Settings, telemetry};"),
        ("cli/serve.rs", "pub(in crate::cli) struct Serve;"),
        ("web/mcp/catalogue.rs", "use crate::toolkits::Live;\nuse axum::Json;\nuse rmcp::model::Tool;"),
        ("web/secrets.rs", "use crate::vault::{SecretStatus, VaultError}; // not Vault"),
        ("web/ui.rs", r#"let label = "Toolkits \" Knowledge"; let quote = '"'; let other = "Vault";"#),
        (
            "dispatch.rs",
            "/// See [`crate::web::Shared`].\n// use crate::web::Shared;\nuse crate::identity::Caller;",
        ),
        ("sandbox/call.rs", "wasmtime::component::bindgen!();\nuse crate::capabilities::Grants;"),
        ("telemetry.rs", "const FILTER: &str = \"warn,rmcp=error\";"),
        ("dispatch.rs", "const TARGET: &str = \"kitbag::toolkit\";"),
        ("database/error.rs", "pub struct DatabaseError(#[from] sqlx::Error);"),
        ("database/statement.rs", "use sqlx::sqlite::SqliteRow;"),
        ("knowledge/store/jobs.rs", "use crate::database::FromRow;"),
        ("knowledge/store/jobs.rs", "#[sqlx(flatten)]"),
    ] {
        assert_eq!(violations(file, code), [""; 0], "{file}: {code}");
    }
}

#[test]
fn the_maps_for_readers_are_this_one() {
    let source = |path: &str| fs::read_to_string(root().join(path)).expect("source is text");
    let modules =
        |layer: &'static [&'static str]| layer.iter().copied().filter(|module| *module != "fuzzing");
    let map = LAYERS.map(|layer| modules(layer).collect::<Vec<_>>().join(", ")).join("\n→ ");

    let page = source("docs/architecture.md");
    let library = source("host/src/lib.rs").replace("//! ", "");

    assert!(page.contains(&format!("```\n{map}\n```")), "docs/architecture.md has another order than\n{map}");
    assert!(library.contains(&format!("```text\n{map}\n```")), "lib.rs has another order than\n{map}");
    let leaves = LEAVES.iter().map(|(leaf, _)| *leaf);
    for module in LAYERS.iter().flat_map(|layer| modules(layer)).chain(leaves).filter(|it| *it != "main") {
        assert!(
            page.contains(&format!("`{module}`")),
            "docs/architecture.md does not say what {module} is for"
        );
    }
}

/// Describes the forbidden imports of one file, which is named by its path below `host/src`.
fn violations(file: &str, code: &str) -> Vec<String> {
    let code = without_comments(code);
    let from = top(file);
    let imported = match from {
        // The library's root declares the modules and imports none.
        "lib" => Vec::new(),
        // The program is a separate crate.
        "main" => imported_modules(&code, "kitbag::"),
        _ => imported_modules(&code, "crate::"),
    };
    let imports = imported.iter().filter(|to| **to != from).filter_map(|to| forbidden(from, to));
    let crates = RESTRICTED_CRATES
        .iter()
        .filter(|(name, inside)| !is_inside(file, inside) && names_crate(&code, name));
    let outside = if is_store(file) { code.replace(ROW_ATTRIBUTE, "") } else { code.clone() }.to_lowercase();
    let engine =
        DATABASE_ENGINES.iter().filter(|(word, inside)| !is_inside(file, inside) && outside.contains(*word));
    let hidden = HIDDEN_TYPES.iter().filter(|(layer, _)| from == *layer).flat_map(|(_, types)| *types);
    let types = without_strings(&code);
    let hidden = hidden.filter(|name| names_word(&types, name));
    imports
        .chain(engine.map(|(word, _)| format!("names {word}, which belongs in `database`")))
        .chain(crates.map(|(name, inside)| format!("names {name}, which belongs in {inside:?}")))
        .chain(hidden.map(|name| format!("names {name}, which is reached through another layer")))
        .collect()
}

/// Whether a file is one of these files or modules, or in one of these folders.
fn is_inside(file: &str, places: &[&str]) -> bool {
    places.iter().any(|place| Path::new(file).starts_with(place) || top(file) == *place)
}

/// Whether a file belongs to a store.
fn is_store(file: &str) -> bool {
    file.split('/').any(|part| part.trim_end_matches(".rs") == "store")
}

/// The reason why `from` may not import `to`; `None` if it may.
fn forbidden(from: &str, to: &str) -> Option<String> {
    if let Some((_, allowed)) = LEAVES.iter().find(|(leaf, _)| *leaf == to) {
        return (!allowed.contains(&from)).then(|| format!("imports {to}, which is for {allowed:?}"));
    }
    if LEAVES.iter().any(|(leaf, _)| *leaf == from) {
        return Some(format!("imports {to}, although {from} is to import nothing"));
    }
    let place = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    match (place(from), place(to)) {
        (Some(left), Some(right)) if left < right => None,
        (Some(_), Some(_)) => Some(format!("imports {to}, which is not to the right of {from}")),
        (None, _) => Some(format!("{from} has no place in the order yet")),
        (_, None) => Some(format!("imports {to}, which has no place in the order yet")),
    }
}

/// The top-level modules that code names by paths from `root`, such as `crate::`.
fn imported_modules<'a>(code: &'a str, root: &str) -> Vec<&'a str> {
    let mut modules = Vec::new();
    for (at, _) in code.match_indices(root).filter(|(at, _)| begins_word(code, *at)) {
        let path = &code[at + root.len()..];
        match path.strip_prefix('{') {
            Some(group) => modules.extend(group_members(group)),
            None => modules.push(first_word(path)),
        }
    }
    modules.retain(|module| module.starts_with(|letter: char| letter.is_ascii_lowercase()));
    modules.sort_unstable();
    modules.dedup();
    modules
}

/// The first word of each member of `a::B, c::{D, E}}…`, up to the closing brace.
fn group_members(group: &str) -> Vec<&str> {
    let (mut depth, mut begins, mut members) = (0_usize, true, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            _ if begins && letter.is_alphanumeric() => {
                members.push(first_word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    members
}

/// Whether code has a path into a crate whose name begins with `name`.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name)
        .filter(|(at, _)| begins_word(code, *at))
        .any(|(at, _)| code[at + first_word(&code[at..]).len()..].starts_with("::"))
}

/// Whether code has the name as a whole word, with or without a path before it.
fn names_word(code: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(name)
        .any(|(at, _)| !code[..at].ends_with(is_part) && !code[at + name.len()..].starts_with(is_part))
}

fn begins_word(code: &str, at: usize) -> bool {
    !code[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':')
}

fn first_word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default()
}

/// `web/mcp.rs` → `web`.
fn top(file: &str) -> &str {
    file.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

fn without_comments(code: &str) -> String {
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The code without the content of its texts, which name no types.
fn without_strings(code: &str) -> String {
    let code = code.replace("'\"'", "").replace("\\\"", "");
    code.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
