//! Converts the declaration to the WIT types.

use kitbag_manifest::{
    ConfigField, ConfigKind, OAuth2ClientCredentials, ToolAnnotations, ToolDefinition, ToolkitDefinition,
    Visibility,
};

use super::bindings::kitbag::toolkit::definition as wit;

impl From<ToolkitDefinition> for wit::ToolkitDefinition {
    fn from(it: ToolkitDefinition) -> Self {
        Self {
            id: it.id,
            name: it.name,
            description: it.description,
            icon: it.icon,
            version: it.version,
            author: it.author,
            tools: it.tools.into_iter().map(Into::into).collect(),
            secrets: it.secrets,
            egress: it.egress,
            scopes: it.scopes,
            config: it.config.into_iter().map(config_field).collect(),
            visibility: match it.visibility {
                Visibility::Private => wit::Visibility::Private,
                Visibility::Shared => wit::Visibility::Shared,
            },
            auth: it.auth.map(Into::into),
        }
    }
}

impl From<ToolDefinition> for wit::ToolDefinition {
    fn from(it: ToolDefinition) -> Self {
        Self {
            name: it.name,
            title: it.title,
            description: it.description,
            input_schema: it.input_schema.to_string(),
            output_schema: it.output_schema.map(|schema| schema.to_string()),
            annotations: it.annotations.into(),
            mutating: it.mutating,
            always_on: it.always_on,
        }
    }
}

impl From<ToolAnnotations> for wit::ToolAnnotations {
    fn from(it: ToolAnnotations) -> Self {
        Self {
            read_only_hint: it.read_only_hint,
            destructive_hint: it.destructive_hint,
            idempotent_hint: it.idempotent_hint,
            open_world_hint: it.open_world_hint,
        }
    }
}

impl From<OAuth2ClientCredentials> for wit::Oauth2ClientCredentials {
    fn from(it: OAuth2ClientCredentials) -> Self {
        Self {
            token_url: it.token_url,
            client_id_secret: it.client_id_secret,
            client_secret_secret: it.client_secret_secret,
            scope: it.scope,
            api_host: it.api_host,
        }
    }
}

fn config_field((key, field): (String, ConfigField)) -> wit::ConfigField {
    wit::ConfigField {
        key,
        kind: match field.kind {
            ConfigKind::String => wit::ConfigKind::String,
            ConfigKind::Number => wit::ConfigKind::Number,
            ConfigKind::Boolean => wit::ConfigKind::Boolean,
            ConfigKind::Select => wit::ConfigKind::Select,
        },
        label: field.label,
        description: field.description,
        default_value: field.default.map(|value| value.to_string()),
        required: field.required,
        options: field.options,
    }
}
