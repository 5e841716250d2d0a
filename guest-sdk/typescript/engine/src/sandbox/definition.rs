//! Converts the declaration from the manifest, which is JSON, to the WIT types.

use rquickjs::{Ctx, Object, Result};

use super::bindings::kitbag::toolkit::definition as wit;
use super::record::{json, list, required, text};
use crate::values::Text;

/// Reads a manifest that the builder has checked.
pub(super) fn definition(ctx: &Ctx<'_>, manifest: &str) -> Result<wit::ToolkitDefinition> {
    let it: Object = ctx.json_parse(manifest)?.get()?;
    let tools: Vec<Object> = list(&it, "tools")?;
    let config: Object = it.get("config")?;
    let auth: Option<Object> = it.get("auth")?;
    Ok(wit::ToolkitDefinition {
        id: required(&it, "id")?,
        name: required(&it, "name")?,
        description: required(&it, "description")?,
        icon: required(&it, "icon")?,
        version: required(&it, "version")?,
        author: text(&it, "author")?,
        tools: tools.iter().map(|tool| tool_definition(ctx, tool)).collect::<Result<_>>()?,
        secrets: texts(&it, "secrets")?,
        egress: texts(&it, "egress")?,
        scopes: texts(&it, "scopes")?,
        config: config
            .props::<String, Object>()
            .map(|field| field.and_then(|(key, field)| config_field(ctx, key, &field)))
            .collect::<Result<_>>()?,
        visibility: match required(&it, "visibility")?.as_str() {
            "shared" => wit::Visibility::Shared,
            _ => wit::Visibility::Private,
        },
        auth: auth.as_ref().map(client_credentials).transpose()?,
    })
}

fn texts(object: &Object<'_>, name: &str) -> Result<Vec<String>> {
    Ok(list::<Text>(object, name)?.into_iter().map(|Text(text)| text).collect())
}

fn tool_definition<'js>(ctx: &Ctx<'js>, it: &Object<'js>) -> Result<wit::ToolDefinition> {
    let annotations: Object = it.get("annotations")?;
    Ok(wit::ToolDefinition {
        name: required(it, "name")?,
        title: text(it, "title")?,
        description: required(it, "description")?,
        input_schema: json(ctx, it, "inputSchema")?.unwrap_or_default(),
        output_schema: json(ctx, it, "outputSchema")?,
        annotations: wit::ToolAnnotations {
            read_only_hint: annotations.get("readOnlyHint")?,
            destructive_hint: annotations.get("destructiveHint")?,
            idempotent_hint: annotations.get("idempotentHint")?,
            open_world_hint: annotations.get("openWorldHint")?,
        },
        mutating: it.get("mutating")?,
        always_on: it.get("alwaysOn")?,
    })
}

fn config_field<'js>(ctx: &Ctx<'js>, key: String, it: &Object<'js>) -> Result<wit::ConfigField> {
    Ok(wit::ConfigField {
        key,
        kind: match required(it, "type")?.as_str() {
            "number" => wit::ConfigKind::Number,
            "boolean" => wit::ConfigKind::Boolean,
            "select" => wit::ConfigKind::Select,
            _ => wit::ConfigKind::String,
        },
        label: required(it, "label")?,
        description: text(it, "description")?,
        default_value: json(ctx, it, "default")?,
        required: it.get("required")?,
        options: texts(it, "options")?,
    })
}

fn client_credentials(it: &Object<'_>) -> Result<wit::Oauth2ClientCredentials> {
    Ok(wit::Oauth2ClientCredentials {
        token_url: required(it, "tokenUrl")?,
        client_id_secret: required(it, "clientIdSecret")?,
        client_secret_secret: required(it, "clientSecretSecret")?,
        scope: text(it, "scope")?,
        api_host: required(it, "apiHost")?,
    })
}
