//! Toolkits, as their users see them.

use async_graphql::{Context, Enum, ID, Json, Object, SimpleObject};
use kitbag_manifest::{ConfigKind, Visibility};
use serde_json::Value;

use super::RequestContext;
use super::schema::{DEFAULT_LENGTH, READ_COST};
use crate::access::VisibleToolkit;
use crate::toolkits::{FormerOwner, listed_name};
use crate::vault::SecretStatus;
use crate::web::error::WebError;

pub(super) struct Toolkit(pub(super) VisibleToolkit);

/// A bundle of tools.
#[Object]
impl Toolkit {
    async fn id(&self) -> ID {
        ID::from(&self.0.definition().id)
    }

    async fn name(&self) -> &str {
        &self.0.definition().name
    }

    async fn description(&self) -> &str {
        &self.0.definition().description
    }

    /// An emoji, or the HTTPS URL of a square picture.
    async fn icon(&self) -> &str {
        &self.0.definition().icon
    }

    async fn version(&self) -> &str {
        &self.0.definition().version
    }

    async fn author(&self) -> Option<&str> {
        self.0.definition().author.as_deref()
    }

    async fn visibility(&self) -> ToolkitVisibility {
        match self.0.definition().visibility {
            Visibility::Private => ToolkitVisibility::Private,
            Visibility::Shared => ToolkitVisibility::Shared,
        }
    }

    /// From whom its owner has taken it over, where that is so: what had been set for it was removed then.
    async fn taken_over(&self) -> Option<TakenOver> {
        let FormerOwner { from, at } = self.0.taken_over()?.clone();
        Some(TakenOver { from, by: self.0.owner().to_owned(), at })
    }

    async fn tools(&self) -> Vec<Tool> {
        let of_toolkit = self.0.definition();
        let tool = |tool: &kitbag_manifest::ToolDefinition| Tool {
            name: listed_name(&of_toolkit.id, &tool.name),
            title: tool.title.clone(),
            description: tool.description.clone(),
        };
        of_toolkit.tools.iter().map(tool).collect()
    }

    /// The secrets that it declares, and what else you have set: names, never values.
    #[graphql(complexity = "READ_COST + child_complexity")]
    async fn secrets(&self, context: &Context<'_>) -> Result<Vec<Secret>, WebError> {
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        let names = request.user.secrets(&self.0.definition().id).await?;
        Ok(names.into_iter().map(Into::into).collect())
    }

    /// Its settings, with your values.
    #[graphql(complexity = "READ_COST + DEFAULT_LENGTH * child_complexity")]
    async fn config(&self, context: &Context<'_>) -> Result<Vec<ConfigField>, WebError> {
        fields(RequestContext::of(context), &self.0).await
    }
}

/// Who can call a toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(super) enum ToolkitVisibility {
    /// Its owner alone.
    Private,
    /// Everybody who has signed in.
    Shared,
}

/// An operator made another's toolkit theirs.
#[derive(SimpleObject)]
pub(super) struct TakenOver {
    from: String,
    by: String,
    /// RFC 3339, UTC.
    at: String,
}

/// A tool of a toolkit.
#[derive(SimpleObject)]
pub(super) struct Tool {
    /// As MCP lists it: `{toolkit}__{tool}`.
    name: String,
    title: Option<String>,
    description: String,
}

/// A name that a toolkit declares, or that you have set.
#[derive(SimpleObject)]
pub(super) struct Secret {
    name: String,
    /// Whether the toolkit still declares it, and so can read it.
    declared: bool,
    /// Whether you have set a value.
    set: bool,
    /// When you set it: RFC 3339, UTC.
    updated_at: Option<String>,
}

impl From<SecretStatus> for Secret {
    fn from(SecretStatus { name, declared, set, updated_at }: SecretStatus) -> Self {
        Self { name, declared, set, updated_at }
    }
}

/// One setting of a toolkit, and what it comes to for you.
#[derive(SimpleObject)]
pub(super) struct ConfigField {
    key: String,
    #[graphql(name = "type")]
    kind: ConfigType,
    label: String,
    description: Option<String>,
    required: bool,
    /// The choices of a `SELECT`.
    options: Vec<String>,
    /// What you set.
    value: Option<Json<Value>>,
    /// What a call gets: your value, or the default.
    effective: Option<Json<Value>>,
    /// Whether you must fill it in and have not.
    missing: bool,
}

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(super) enum ConfigType {
    String,
    Number,
    Boolean,
    /// One of `options`.
    Select,
}

impl From<ConfigKind> for ConfigType {
    fn from(kind: ConfigKind) -> Self {
        match kind {
            ConfigKind::String => Self::String,
            ConfigKind::Number => Self::Number,
            ConfigKind::Boolean => Self::Boolean,
            ConfigKind::Select => Self::Select,
        }
    }
}

/// The settings of a toolkit with the request's values.
pub(super) async fn fields(
    request: &RequestContext,
    toolkit: &VisibleToolkit,
) -> Result<Vec<ConfigField>, WebError> {
    let _turn = request.turn().await;
    let shown = toolkit.settings().await?.into_iter().map(|(key, field)| ConfigField {
        key,
        kind: field.definition.kind.into(),
        label: field.definition.label,
        description: field.definition.description,
        required: field.definition.required,
        options: field.definition.options,
        value: field.value.map(Json),
        effective: field.effective.map(Json),
        missing: field.missing,
    });
    Ok(shown.collect())
}
