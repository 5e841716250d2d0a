//! GraphQL types of toolkits, from the user's view.

use async_graphql::{Context, Enum, ID, Json, Object, SimpleObject};
use kitbag_access::VisibleToolkit;
use kitbag_access::values::toolkits::{FormerOwner, VersionRecord, listed_name};
use kitbag_access::values::vault::SecretStatus;
use kitbag_manifest::offers::resource_uri;
use kitbag_manifest::{ConfigKind, PromptDefinition, ResourceDefinition, ToolDefinition, Visibility};
use serde_json::Value;

use super::RequestContext;
use super::documents::bytes;
use super::query::within;
use super::schema::{DEFAULT_LENGTH, READ_COST, SCHEMA_COST};
use crate::error::WebError;

/// Default number of versions.
const DEFAULT_VERSIONS: i32 = 20;
/// Maximum number of versions.
const MAX_VERSIONS: i32 = 100;

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

    /// Who deployed its first version, or took it over last.
    async fn owner(&self) -> &str {
        self.0.owner()
    }

    /// The hosts to which it may send requests: `api.example.com`, `*.example.com`.
    async fn egress(&self) -> &[String] {
        &self.0.definition().egress
    }

    /// What it may do with your documents (`svc:search`, `svc:ingest`), whether it may ask you (`svc:ask`), and whether it keeps
    /// values between calls (`svc:cache`).
    async fn scopes(&self) -> &[String] {
        &self.0.definition().scopes
    }

    /// Its versions, the newest deploy first.
    #[graphql(complexity = "READ_COST + within(first, 20, 100) * child_complexity")]
    async fn versions(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Versions at most, 1 to 100.", default_with = "Some(20)")] first: Option<i32>,
    ) -> Result<Vec<ToolkitVersion>, WebError> {
        let first = first.unwrap_or(DEFAULT_VERSIONS);
        if !(1..=MAX_VERSIONS).contains(&first) {
            return Err(WebError::invalid("first", format!("must be between 1 and {MAX_VERSIONS}")));
        }
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        let record = request.user.toolkit_record(&self.0.definition().id).await?;
        let live = record.live_version;
        let versions = record.versions.into_iter().take(usize::try_from(first).unwrap_or_default());
        Ok(versions.map(|version| ToolkitVersion::of(version, &live)).collect())
    }

    async fn tools(&self) -> Vec<Tool> {
        (0..self.0.definition().tools.len()).map(|index| Tool { toolkit: self.0.clone(), index }).collect()
    }

    /// Its prompts, which MCP clients let people pick.
    #[graphql(complexity = "READ_COST + DEFAULT_LENGTH * child_complexity")]
    async fn prompts(&self) -> Vec<Prompt> {
        let definition = self.0.definition();
        definition.prompts.iter().map(|declared| Prompt::of(&definition.id, declared)).collect()
    }

    /// Its resources, which MCP clients read by their URIs.
    #[graphql(complexity = "READ_COST + DEFAULT_LENGTH * child_complexity")]
    async fn resources(&self) -> Vec<Resource> {
        let definition = self.0.definition();
        definition.resources.iter().map(|declared| Resource::of(&definition.id, declared)).collect()
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

/// Who can call a toolkit that is shared with nobody by name. Others see those toolkits that are shared with them.
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

pub(super) struct Tool {
    toolkit: VisibleToolkit,
    /// Index among the tools of the toolkit.
    index: usize,
}

impl Tool {
    fn definition(&self) -> &ToolDefinition {
        &self.toolkit.definition().tools[self.index]
    }
}

/// A tool of a toolkit.
#[Object]
impl Tool {
    /// As MCP lists it: `{toolkit}__{tool}`.
    async fn name(&self) -> String {
        listed_name(&self.toolkit.definition().id, &self.definition().name)
    }

    async fn title(&self) -> Option<&str> {
        self.definition().title.as_deref()
    }

    async fn description(&self) -> &str {
        &self.definition().description
    }

    /// The JSON Schema of its arguments.
    #[graphql(complexity = "SCHEMA_COST")]
    async fn input_schema(&self, context: &Context<'_>) -> Result<Json<Value>, WebError> {
        RequestContext::of(context).schema(&self.definition().input_schema).await
    }

    /// The JSON Schema of its structured result, if it has one.
    #[graphql(complexity = "SCHEMA_COST")]
    async fn output_schema(&self, context: &Context<'_>) -> Result<Option<Json<Value>>, WebError> {
        let Some(schema) = &self.definition().output_schema else { return Ok(None) };
        RequestContext::of(context).schema(schema).await.map(Some)
    }

    /// What its author says about its effects.
    async fn annotations(&self) -> ToolAnnotations {
        self.definition().annotations.into()
    }
}

/// Messages that a user puts into a conversation.
#[derive(SimpleObject)]
pub(super) struct Prompt {
    /// As MCP lists it: `{toolkit}__{prompt}`.
    name: String,
    title: Option<String>,
    description: String,
    arguments: Vec<PromptArgument>,
}

/// What a prompt asks for.
#[derive(SimpleObject)]
pub(super) struct PromptArgument {
    name: String,
    title: Option<String>,
    description: Option<String>,
    required: bool,
}

/// A document of a toolkit, or many of a kind.
#[derive(SimpleObject)]
pub(super) struct Resource {
    /// As MCP lists it: `{toolkit}__{resource}`.
    name: String,
    title: Option<String>,
    description: String,
    /// With variables in braces where there are many of a kind: `kitbag://books/isbn/{isbn}`.
    uri: String,
    media_type: Option<String>,
}

impl Prompt {
    fn of(toolkit: &str, declared: &PromptDefinition) -> Self {
        let PromptDefinition { name, title, description, arguments } = declared.clone();
        let arguments = arguments.into_iter().map(|declared| {
            let kitbag_manifest::PromptArgument { name, title, description, required, .. } = declared;
            PromptArgument { name, title, description, required }
        });
        Self { name: listed_name(toolkit, &name), title, description, arguments: arguments.collect() }
    }
}

impl Resource {
    fn of(toolkit: &str, declared: &ResourceDefinition) -> Self {
        let ResourceDefinition { name, title, description, uri, media_type, .. } = declared.clone();
        let (name, uri) = (listed_name(toolkit, &name), resource_uri(toolkit, &uri));
        Self { name, title, description, uri, media_type }
    }
}

/// Hints of the Model Context Protocol about a tool; null where there is none.
#[derive(SimpleObject)]
#[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
pub(super) struct ToolAnnotations {
    /// It changes nothing.
    read_only_hint: Option<bool>,
    /// It may destroy something.
    destructive_hint: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    idempotent_hint: Option<bool>,
    /// It deals with systems outside of the server.
    open_world_hint: Option<bool>,
}

impl From<kitbag_manifest::ToolAnnotations> for ToolAnnotations {
    fn from(hints: kitbag_manifest::ToolAnnotations) -> Self {
        Self {
            read_only_hint: hints.read_only_hint,
            destructive_hint: hints.destructive_hint,
            idempotent_hint: hints.idempotent_hint,
            open_world_hint: hints.open_world_hint,
        }
    }
}

/// A deployed version of a toolkit.
#[derive(SimpleObject)]
pub(super) struct ToolkitVersion {
    version: String,
    /// Whether it is the one that is called.
    live: bool,
    /// SHA-256 of the component, hexadecimal.
    digest: String,
    /// Of the component, in bytes; a whole number.
    size: f64,
    deployed_by: String,
    /// RFC 3339, UTC.
    deployed_at: String,
    /// The reference in a registry that it was pulled from, with the digest; null of an uploaded file. Unless the server has
    /// pulled it (`sourcePulled`), it is what the operator who uploaded it said.
    source: Option<String>,
    /// Whether the server itself has pulled it from there.
    source_pulled: bool,
    /// The publisher whose signature was verified; null where nobody has signed it.
    publisher: Option<String>,
    /// SHA-256 of the publisher's key in DER, hexadecimal.
    publisher_key: Option<String>,
    /// Whether the publisher has been removed since.
    publisher_removed: bool,
    /// The capabilities that it has, and the version that was live before had not: `egress api.example.com`.
    added: Vec<String>,
    /// The other way round.
    removed: Vec<String>,
}

impl ToolkitVersion {
    fn of(record: VersionRecord, live: &str) -> Self {
        let signed_by = record.provenance.signed_by.as_ref();
        let (publisher, publisher_key) = signed_by.map(|by| (by.publisher.clone(), by.key.clone())).unzip();
        Self {
            live: record.version == live,
            version: record.version,
            digest: record.digest,
            size: bytes(u64::try_from(record.size).unwrap_or_default()),
            deployed_by: record.deployed_by,
            deployed_at: record.deployed_at,
            source: record.provenance.source.pinned(),
            source_pulled: record.provenance.source.is_pulled(),
            publisher_removed: record.provenance.signed_by.as_ref().is_some_and(|by| by.removed),
            publisher,
            publisher_key,
            added: record.changes.added,
            removed: record.changes.removed,
        }
    }
}

/// A name that a toolkit declares, or that you have set.
#[derive(SimpleObject)]
#[expect(clippy::struct_excessive_bools, reason = "they answer different questions")]
pub(super) struct Secret {
    name: String,
    /// Whether the toolkit still declares it.
    declared: bool,
    /// Whether the toolkit can read it. The server alone uses the others, to sign in for the toolkit.
    readable: bool,
    /// Whether you have set a value.
    set: bool,
    /// When you set it: RFC 3339, UTC.
    updated_at: Option<String>,
    /// Whether an operator has set a value for everyone.
    set_for_everyone: bool,
}

impl From<SecretStatus> for Secret {
    fn from(SecretStatus { name, declared, readable, set, updated_at, for_everyone }: SecretStatus) -> Self {
        Self { name, declared, readable, set, updated_at, set_for_everyone: for_everyone.is_some() }
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

/// Returns the settings of a toolkit with the user's values.
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
