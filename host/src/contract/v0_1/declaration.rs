//! Declarations of toolkits.

use std::collections::BTreeMap;

use kitbag_manifest::json::measure;
use kitbag_manifest::schema::MAX_LEVELS;
use kitbag_manifest::{self as manifest, Problems};
use serde_json::Value;

use super::interfaces::definition as wit;

/// Converts a declaration. Fails if it breaks a rule that the types of the contract do not express.
pub(super) fn convert(it: wit::ToolkitDefinition) -> Result<manifest::ToolkitDefinition, Problems> {
    let mut problems = nested_too_deeply(&it);
    let mut config = BTreeMap::new();
    for field in it.config {
        let (key, field) = config_field(field);
        if config.insert(key.clone(), field).is_some() {
            problems.add(format!("config.{key}"), "the key is declared twice");
        }
    }
    if !problems.0.is_empty() {
        return Err(problems);
    }
    Ok(manifest::ToolkitDefinition {
        id: it.id,
        name: it.name,
        description: it.description,
        icon: it.icon,
        version: it.version,
        author: it.author,
        tools: it.tools.into_iter().map(tool).collect(),
        secrets: it.secrets,
        egress: it.egress,
        scopes: it.scopes,
        config,
        visibility: match it.visibility {
            wit::Visibility::Private => manifest::Visibility::Private,
            wit::Visibility::Shared => manifest::Visibility::Shared,
        },
        auth: it.auth.map(|auth| manifest::OAuth2ClientCredentials {
            token_url: auth.token_url,
            client_id_secret: auth.client_id_secret,
            client_secret_secret: auth.client_secret_secret,
            scope: auth.scope,
            api_host: auth.api_host,
        }),
    })
}

/// Problems for JSON that is nested too deeply: parsers would refuse the declaration that contains it.
fn nested_too_deeply(it: &wit::ToolkitDefinition) -> Problems {
    let schemas = it.tools.iter().enumerate().flat_map(|(index, tool)| {
        let output = tool.output_schema.as_ref().map(|schema| ("output", schema));
        let schemas = std::iter::once(("input", &tool.input_schema)).chain(output);
        schemas.map(move |(field, schema)| (format!("tools[{index}].{field}"), schema))
    });
    let defaults = it.config.iter().filter_map(|field| {
        let value = field.default_value.as_ref()?;
        Some((format!("config.{}.default", field.key), value))
    });
    let mut problems = Problems::default();
    for (path, json) in schemas.chain(defaults) {
        let levels = measure(json.as_bytes(), usize::MAX).levels;
        if levels > MAX_LEVELS {
            problems.add(path, format!("is nested {levels} levels deep, and {MAX_LEVELS} may be"));
        }
    }
    problems
}

fn tool(it: wit::ToolDefinition) -> manifest::ToolDefinition {
    manifest::ToolDefinition {
        name: it.name,
        title: it.title,
        description: it.description,
        input_schema: json(it.input_schema),
        output_schema: it.output_schema.map(json),
        annotations: manifest::ToolAnnotations {
            read_only_hint: it.annotations.read_only_hint,
            destructive_hint: it.annotations.destructive_hint,
            idempotent_hint: it.annotations.idempotent_hint,
            open_world_hint: it.annotations.open_world_hint,
        },
        mutating: it.mutating,
        always_on: it.always_on,
    }
}

fn config_field(it: wit::ConfigField) -> (String, manifest::ConfigField) {
    let field = manifest::ConfigField {
        kind: match it.kind {
            wit::ConfigKind::String => manifest::ConfigKind::String,
            wit::ConfigKind::Number => manifest::ConfigKind::Number,
            wit::ConfigKind::Boolean => manifest::ConfigKind::Boolean,
            wit::ConfigKind::Select => manifest::ConfigKind::Select,
        },
        label: it.label,
        description: it.description,
        default: it.default_value.map(json),
        required: it.required,
        options: it.options,
    };
    (it.key, field)
}

/// Parses JSON text. Invalid JSON becomes a string, which validation then refuses together with all other
/// problems.
fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
