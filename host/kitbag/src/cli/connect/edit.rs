//! Adds a server to a client's configuration text. Everything else is preserved, including comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use kitbag_base::mcp_clients::{McpClient, McpServer, Syntax};
use serde_json::{Map, Value};
use thiserror::Error;
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

/// Handling of a different entry with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    Kept,
    Replaced,
}

/// Reasons why a text cannot be edited.
#[derive(Debug, Error)]
pub(super) enum EditError {
    /// Invalid syntax, or syntax extensions that an edit might not preserve.
    #[error("it cannot be read: {0}")]
    Invalid(String),
    /// A parent of the entry is not an object.
    #[error("{0} is not an object")]
    Shape(&'static str),
    /// The name belongs to a different entry.
    #[error("its entry {0} is different")]
    Taken(String),
}

impl EditError {
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Taken(_) => Some("--replace replaces it, and --name adds the server under another name"),
            Self::Invalid(_) | Self::Shape(_) => None,
        }
    }
}

/// Returns the text with an entry for `server`; `None` if that entry already exists.
pub(super) fn edited(
    client: &McpClient,
    text: &str,
    name: &str,
    server: &McpServer,
    existing: Existing,
) -> Result<Option<String>, EditError> {
    if text.trim().is_empty() {
        return Ok(Some(client.configuration(name, server) + "\n"));
    }
    let entry = client.entry(server);
    match client.syntax {
        Syntax::Json => in_json(client.servers, text, name, &entry, existing),
        Syntax::Toml => in_toml(client.servers, text, name, &entry, existing),
    }
}

fn in_json(
    servers: &'static str,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
    existing: Existing,
) -> Result<Option<String>, EditError> {
    // Only the extensions of JSON that editors accept.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options).map_err(|error| EditError::Invalid(error.to_string()))?;
    let file = root.object_value_or_create().ok_or(EditError::Shape("the file"))?;
    let all = file.object_value_or_create(servers).ok_or(EditError::Shape(servers))?;
    match all.get(name) {
        None => drop(all.append(name, input(&Value::Object(entry.clone())))),
        Some(found) => {
            if found.value().and_then(|value| value.to_serde_value()).is_some_and(|value| has(&value, entry))
            {
                return Ok(None);
            }
            if existing == Existing::Kept {
                return Err(EditError::Taken(name.to_owned()));
            }
            found.set_value(input(&Value::Object(entry.clone())));
        }
    }
    Ok(Some(root.to_string()))
}

fn in_toml(
    servers: &'static str,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
    existing: Existing,
) -> Result<Option<String>, EditError> {
    // The error message quotes no line of the file, which may contain keys.
    let mut file: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| EditError::Invalid(error.message().to_owned()))?;
    let parent = file.entry(servers).or_insert_with(|| {
        let mut parent = Table::new();
        parent.set_implicit(true);
        Item::Table(parent)
    });
    let is_inline = parent.is_inline_table();
    let all: &mut dyn TableLike = parent.as_table_like_mut().ok_or(EditError::Shape(servers))?;
    if let Some(found) = all.get(name) {
        if found.as_table_like().is_some_and(|found| table_has(found, entry)) {
            return Ok(None);
        }
        if existing == Existing::Kept {
            return Err(EditError::Taken(name.to_owned()));
        }
    }
    let values = inline(entry);
    all.insert(name, if is_inline { Item::Value(values.into()) } else { Item::Table(values.into_table()) });
    Ok(Some(file.to_string()))
}

/// Whether an object has all members of `entry`. Additional members are the user's choice.
fn has(value: &Value, entry: &Map<String, Value>) -> bool {
    entry.iter().all(|(key, expected)| value.get(key) == Some(expected))
}

/// Like [`has`], for TOML.
fn table_has(table: &dyn TableLike, entry: &Map<String, Value>) -> bool {
    entry.iter().all(|(key, expected)| match (table.get(key), expected) {
        (Some(found), Value::Object(entry)) => {
            found.as_table_like().is_some_and(|found| table_has(found, entry))
        }
        (found, expected) => found.and_then(Item::as_str) == expected.as_str(),
    })
}

/// Converts an entry of strings and objects.
fn inline(entry: &Map<String, Value>) -> InlineTable {
    let values = entry.iter().filter_map(|(key, value)| match value {
        Value::Object(entry) => Some((key, toml_edit::Value::from(inline(entry)))),
        value => Some((key, value.as_str()?.into())),
    });
    values.collect()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_base::mcp_clients::CLIENTS;

    use super::*;

    fn client(id: &str) -> &'static McpClient {
        CLIENTS.iter().find(|client| client.id == id).expect("it is there")
    }

    fn server(client_id: Option<&str>) -> McpServer {
        let url = "https://kb.example/mcp".parse().expect("a URL");
        McpServer { url, client_id: client_id.map(str::to_owned) }
    }

    fn edit(id: &str, text: &str, existing: Existing) -> Result<Option<String>, EditError> {
        edited(client(id), text, "kitbag", &server(None), existing)
    }

    #[test]
    fn an_empty_file_becomes_the_configuration_that_is_printed() {
        for client in &CLIENTS {
            let written = edit(client.id, "", Existing::Kept).expect("it can be edited").expect("it changes");

            assert_eq!(written.trim_end(), client.configuration("kitbag", &server(None)), "{}", client.id);
            assert!(written.ends_with('\n'), "{written:?}");
            assert!(matches!(edit(client.id, &written, Existing::Kept), Ok(None)), "{}", client.id);
        }
    }

    #[test]
    fn a_client_identifier_is_part_of_the_entry_in_each_syntax() {
        let named = server(Some("shared-client"));
        for client in &CLIENTS {
            let other = match client.syntax {
                Syntax::Json => "{\"a\": 1}\n",
                Syntax::Toml => "a = 1\n",
            };
            for before in ["", other] {
                let written = edited(client, before, "kitbag", &named, Existing::Kept);
                let written = written.expect("it can be edited").expect("it changes");

                assert!(written.contains("shared-client"), "{written}");
                let again = edited(client, &written, "kitbag", &named, Existing::Kept);
                assert!(matches!(again, Ok(None)), "{}: {written}", client.id);
            }
        }
    }

    #[test]
    fn json_keeps_its_comments_its_order_and_its_indentation() {
        let text = "// mine\n{\n    \"z\": 1, // last letter first\n    \"servers\": {\n        /* old */ \"a\": {\"url\": \"x\"},\n    },\n    \"inputs\": []\n}\n";

        let written = edit("vscode", text, Existing::Kept).expect("it can be edited").expect("it changes");

        let added = "        \"kitbag\": {\n            \"type\": \"http\",\n            \"url\": \"https://kb.example/mcp\",\n        }";
        assert!(written.contains(added), "{written}");
        let without = written.replacen(added, "", 1);
        let mut rest = without.as_str();
        for line in text.lines().map(|line| line.trim_end_matches(',')) {
            let at = rest.find(line).unwrap_or_else(|| panic!("{line:?} is gone: {written}"));
            rest = &rest[at + line.len()..];
        }
        assert!(matches!(edit("vscode", &written, Existing::Kept), Ok(None)));
    }

    #[test]
    fn toml_keeps_its_comments_and_its_order() {
        let text = "# mine\nmodel = \"m\" # why\n\n[mcp_servers.a]\ncommand = \"x\"\n\n[tui]\nb = 1\n";

        let written = edit("codex", text, Existing::Kept).expect("it can be edited").expect("it changes");

        for line in text.lines().filter(|line| !line.is_empty()) {
            assert!(written.contains(line), "{line}: {written}");
        }
        assert!(written.contains("[mcp_servers.kitbag]\nurl = \"https://kb.example/mcp\"\n"), "{written}");
        assert!(matches!(edit("codex", &written, Existing::Kept), Ok(None)));
        let inline = edit("codex", "mcp_servers = { a = { url = \"x\" } }\n", Existing::Kept);
        let inline = inline.expect("it can be edited").expect("it changes");
        assert!(inline.starts_with("mcp_servers = { a = { url = \"x\" } , kitbag = {"), "{inline}");
    }

    #[test]
    fn an_entry_that_is_different_stays_unless_it_is_to_be_replaced() {
        for (id, text) in [
            ("cursor", "{\"mcpServers\": {\"kitbag\": {\"url\": \"https://other.example/mcp\"}}}"),
            ("cursor", "{\"mcpServers\": {\"kitbag\": {\"command\": \"x\"}}}"),
            ("codex", "[mcp_servers.kitbag]\nurl = \"https://other.example/mcp\"\n"),
            ("codex", "mcp_servers.kitbag = 1\n"),
        ] {
            assert!(matches!(edit(id, text, Existing::Kept), Err(EditError::Taken(_))), "{text}");

            let written = edit(id, text, Existing::Replaced).expect("it can be edited").expect("it changes");
            assert!(written.contains("https://kb.example/mcp") && !written.contains("other"), "{written}");
        }
        let kept =
            "{\"mcpServers\": {\"kitbag\": {\"url\": \"https://kb.example/mcp\", \"disabled\": true}}}";
        assert!(matches!(edit("cursor", kept, Existing::Replaced), Ok(None)), "a choice of the user");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (id, text) in [
            ("cursor", "[]"),
            ("cursor", "{\"mcpServers\": []}"),
            ("cursor", "{\"mcpServers\": {}"),
            ("cursor", "{'mcpServers': {}}"),
            ("cursor", "{\"a\": 1 \"b\": 2}"),
            ("codex", "mcp_servers = 1"),
            ("codex", "a = "),
        ] {
            assert!(edit(id, text, Existing::Replaced).is_err(), "{text}");
        }
    }
}
