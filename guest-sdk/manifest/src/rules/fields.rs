//! Rules for all fields of a declaration except `prompts`, `resources`, `egress` and `auth`.

use std::collections::{BTreeMap, HashSet};

use crate::egress::has_user_information;
use crate::schema::{MAX_NAME_PATTERNS_SIZE, PatternsSize, Schema, SchemaError};
use crate::{
    ConfigField, ConfigKind, Problems, SCOPE_ASK, SCOPE_CACHE, SCOPE_COLLECTIONS, SCOPE_INGEST, SCOPE_SEARCH,
    ToolDefinition, ToolkitDefinition,
};

/// Source of documents that users add themselves. All other sources are toolkit ids.
const USER_SOURCE: &str = "user";
/// Prefix of the server's own tools; reserved as a toolkit id.
const KNOWLEDGE: &str = "knowledge";
/// Host part of the URIs of users' documents, `kitbag://documents/ID`; reserved as a toolkit id.
const DOCUMENTS: &str = "documents";

/// Scopes that a declaration may have.
const SCOPES: [&str; 5] = [SCOPE_SEARCH, SCOPE_COLLECTIONS, SCOPE_INGEST, SCOPE_ASK, SCOPE_CACHE];

/// MCP's maximum length of a listed name, `{id}__{tool}`.
pub(super) const MAX_LISTED_NAME_LENGTH: usize = 128;

/// Maximum total size of the compiled patterns of all tools, in bytes.
const MAX_TOOLKIT_TEXT_PATTERNS_SIZE: usize = 16 << 20;

pub(super) fn identity(definition: &ToolkitDefinition, problems: &mut Problems) {
    if let Some(kitbag) = &definition.kitbag
        && let Err(error) = semver::Version::parse(kitbag)
    {
        problems.add("kitbag", format!("must be a version of Kitbag such as 0.1.0 ({error})"));
    }
    if definition.id.is_empty() || !definition.id.bytes().all(is_id_byte) {
        problems.add("id", "must match ^[a-z0-9-]+$");
    } else if definition.id == USER_SOURCE {
        problems.add("id", "is the source of what users keep themselves: choose another");
    } else if definition.id == KNOWLEDGE {
        problems.add("id", "is that of the server's own tools: choose another");
    } else if definition.id == DOCUMENTS {
        problems.add("id", "is where users' own documents are: choose another");
    }
    not_blank("name", &definition.name, problems);
    not_blank("description", &definition.description, problems);
    if definition.description.contains(['\n', '\r']) {
        problems.add("description", "must be one line");
    }
    if !is_icon(&definition.icon) {
        problems.add("icon", "must be a single emoji or an https:// URL of a square picture");
    }
    if let Err(error) = semver::Version::parse(&definition.version) {
        problems.add("version", format!("must be a semantic version such as 1.0.0 ({error})"));
    }
    if let Some(author) = &definition.author {
        not_blank("author", author, problems);
    }
}

pub(super) fn tools(definition: &ToolkitDefinition, problems: &mut Problems) {
    if definition.tools.is_empty() {
        problems.add("tools", "must have at least one tool");
    }
    let mut seen = HashSet::new();
    let mut patterns = PatternsSize::default();
    for (index, declared) in definition.tools.iter().enumerate() {
        let path = format!("tools[{index}]");
        patterns += tool(&path, &definition.id, declared, problems);
        if !seen.insert(&declared.name) {
            problems
                .add(format!("{path}.name"), format!("{:?} is the name of another tool too", declared.name));
        }
    }
    for (what, taken, limit) in [
        ("patterns", patterns.texts, MAX_TOOLKIT_TEXT_PATTERNS_SIZE),
        ("patternProperties", patterns.names, MAX_NAME_PATTERNS_SIZE),
    ] {
        if taken > limit {
            problems.add(
                "tools",
                format!("their {what} take {taken} bytes when they are compiled, and {limit} are allowed"),
            );
        }
    }
}

/// Checks one tool; returns the compiled size of the patterns in its schemas.
fn tool(path: &str, toolkit_id: &str, tool: &ToolDefinition, problems: &mut Problems) -> PatternsSize {
    let name_path = format!("{path}.name");
    if tool.name.is_empty() || !tool.name.bytes().all(is_tool_name_byte) {
        problems.add(name_path, "must match [a-zA-Z0-9_-]+");
    } else if toolkit_id.len() + "__".len() + tool.name.len() > MAX_LISTED_NAME_LENGTH {
        problems.add(
            name_path,
            format!("{toolkit_id}__{} is longer than {MAX_LISTED_NAME_LENGTH} characters", tool.name),
        );
    }
    if let Some(title) = &tool.title {
        not_blank(&format!("{path}.title"), title, problems);
    }
    not_blank(&format!("{path}.description"), &tool.description, problems);
    let schemas = [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())];
    let mut patterns = PatternsSize::default();
    for (field, schema) in schemas {
        match schema.map(Schema::compile) {
            Some(Err(SchemaError::Invalid(message))) => problems.add(format!("{path}.{field}"), message),
            Some(Err(SchemaError::TooCostly(message))) => {
                let message = format!("the {field} schema of {:?} is too costly: {message}", tool.name);
                problems.add(format!("{path}.{field}"), message);
            }
            Some(Ok(schema)) => patterns += schema.patterns(),
            None => {}
        }
    }
    patterns
}

pub(super) fn secrets(names: &[String], problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        let path = format!("secrets[{index}]");
        if !is_upper_snake_case(name) {
            problems.add(&path, format!("{name:?} must be in UPPER_SNAKE_CASE"));
        }
        if !seen.insert(name) {
            problems.add(&path, format!("{name:?} is listed twice"));
        }
    }
}

pub(super) fn scopes(scopes: &[String], problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (index, scope) in scopes.iter().enumerate() {
        let path = format!("scopes[{index}]");
        if !SCOPES.contains(&scope.as_str()) {
            problems.add(&path, format!("{scope:?} is unknown; there are {}", SCOPES.join(", ")));
        }
        if !seen.insert(scope) {
            problems.add(&path, format!("{scope:?} is listed twice"));
        }
        if scope == SCOPE_COLLECTIONS && !scopes.iter().any(|it| it == SCOPE_SEARCH) {
            problems.add(&path, format!("{scope:?} widens {SCOPE_SEARCH:?}: list that, too"));
        }
    }
}

pub(super) fn config(fields: &BTreeMap<String, ConfigField>, problems: &mut Problems) {
    for (key, field) in fields {
        let path = format!("config.{key}");
        if !is_identifier(key) {
            problems.add(&path, "the key must match ^[a-zA-Z_][a-zA-Z0-9_]*$");
        }
        not_blank(&format!("{path}.label"), &field.label, problems);
        options(&path, field, problems);
        if let Some(message) = field.default.as_ref().and_then(|value| crate::config::mismatch(field, value))
        {
            problems.add(format!("{path}.default"), message);
        }
    }
}

fn options(path: &str, field: &ConfigField, problems: &mut Problems) {
    let path = format!("{path}.options");
    match (field.kind, field.options.as_slice()) {
        (ConfigKind::Select, []) => problems.add(path, "a select needs at least one option"),
        (ConfigKind::Select, options) => {
            let distinct: HashSet<_> = options.iter().collect();
            if distinct.len() < options.len() {
                problems.add(path, "an option is listed twice");
            }
        }
        (_, []) => {}
        _ => problems.add(path, "only a select has options"),
    }
}

pub(super) fn not_blank(path: &str, text: &str, problems: &mut Problems) {
    if text.trim().is_empty() {
        problems.add(path, "must not be empty");
    }
}

pub(crate) fn is_id_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')
}

pub(super) fn is_tool_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) fn is_upper_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.split('_').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        })
}

fn is_identifier(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_icon(icon: &str) -> bool {
    emojis::get(icon).is_some()
        || url::Url::parse(icon).is_ok_and(|url| {
            url.scheme() == "https" && url.host_str().is_some() && !has_user_information(&url)
        })
}
