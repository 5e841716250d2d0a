//! The server's own tools `search` and `fetch`, with which MCP clients read their user's documents without a
//! toolkit.
//!
//! Names and schemas are those that `ChatGPT` requires of a server for its connectors and deep research
//! (<https://platform.openai.com/docs/mcp>): clients that know no other tools know these.

use std::ops::Range;
use std::sync::Arc;

use jiff::Timestamp;
use kitbag_base::base_url::below;
use kitbag_base::redaction::Redactor;
use kitbag_knowledge::{
    Coverage, DEFAULT_RESULTS, DocumentPart, Hit, Holder, Knowledge, KnowledgeError, MINE, NO_GOOD_MATCH,
    Query, State, Summary, Version,
};
use kitbag_manifest::{ToolAnnotations, ToolDefinition, ToolkitDefinition};
use kitbag_sandbox::contract::{CallError, ToolError, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::error;
use url::Url;

use crate::schemas::Schemas;
pub use kitbag_knowledge::TOOLS as ID;

/// Maximum length of a document's text in one answer, in characters and in bytes: some 15,000 tokens, or
/// 20,000 of a text without Latin letters. Clients accept 25,000.
pub const MAX_CHARACTERS: u32 = 50_000;
const MAX_BYTES: usize = 60_000;
/// Maximum offset in characters: databases count them in signed 32-bit integers.
const MAX_OFFSET: u32 = 1 << 30;

/// Name of the tool that finds documents.
const SEARCH: &str = "search";
/// Name of the tool that reads a document.
pub const FETCH: &str = "fetch";

/// The server's own tools.
pub struct KnowledgeTools {
    knowledge: Knowledge,
    /// URL of a document's page, without the document's id.
    pages: String,
    definition: ToolkitDefinition,
    schemas: Schemas,
}

/// One of the server's own tools.
#[derive(Clone)]
pub struct KnowledgeTool {
    /// All of the server's own tools.
    pub tools: Arc<KnowledgeTools>,
    /// Index of this tool among them.
    pub index: usize,
}

/// Who calls, and whose documents they may read.
pub struct Reader<'r> {
    /// Id of the user.
    pub user_id: &'r str,
    /// The user, and collections.
    pub readable: &'r [Holder],
}

#[derive(Deserialize)]
struct SearchArguments {
    query: String,
    offset: Option<u32>,
    collections: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct FetchArguments {
    id: String,
    offset: Option<u32>,
    version: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchResults {
    results: Vec<SearchResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
    /// Sentences about the results as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Serialize)]
struct SearchResult {
    id: String,
    title: String,
    /// Id of the collection; absent for the user's own documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    url: String,
    snippet: String,
    /// Relevance, 0 to 1, to two decimal places.
    score: f64,
}

#[derive(Serialize)]
struct FetchedDocument {
    id: String,
    title: String,
    text: String,
    url: String,
    metadata: Metadata,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
    /// Number of the text.
    version: u32,
    /// Time of the last change: RFC 3339, UTC.
    updated_at: String,
    /// Length of the whole text.
    characters: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// Description of the missing parts, if the text may be incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl KnowledgeTools {
    /// Creates the tools over `knowledge` for the server with this URL.
    pub fn new(knowledge: Knowledge, base_url: &Url) -> Self {
        let definition = definition();
        let schemas = Schemas::compile(&definition.tools).expect("these schemas compile");
        let pages = below(base_url, "/ui/documents/");
        Self { knowledge, pages, definition, schemas }
    }

    /// Returns the declaration of the tools.
    pub fn definition(&self) -> &ToolkitDefinition {
        &self.definition
    }

    /// Returns the compiled schemas of the tools.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// Finds a tool by its name.
    pub fn find(self: &Arc<Self>, name: &str) -> Option<KnowledgeTool> {
        let index = self.definition.tools.iter().position(|tool| tool.name == name)?;
        Some(KnowledgeTool { tools: self.clone(), index })
    }

    async fn search(&self, reader: &Reader<'_>, arguments: SearchArguments) -> Result<ToolResult, CallError> {
        let SearchArguments { query: text, offset, collections } = arguments;
        let offset = offset.unwrap_or_default();
        let limit = DEFAULT_RESULTS;
        let query = Query { text, has_operators: true, limit, offset, source: None, author: None };
        let is_chosen = |holder: &&Holder| {
            let name = holder.collection_id().unwrap_or(MINE);
            collections.as_ref().is_none_or(|chosen| chosen.iter().any(|it| it == name))
        };
        let holders = reader.readable.iter().filter(is_chosen).cloned().collect();
        let found = self.knowledge.search(reader.user_id, holders, &query).await.map_err(refused)?;
        let next_offset = found.has_more.then(|| offset.saturating_add(limit));
        let result = |Hit { document, snippet, score, .. }: Hit| {
            let url = self.url(&document);
            let score = (score * 100.0).round() / 100.0;
            let collection = document.holder.collection_id().map(str::to_owned);
            SearchResult { id: document.id, title: document.title, collection, url, snippet, score }
        };
        let is_poor = !found.has_good_match && !found.hits.is_empty();
        let notes = [is_poor.then(|| NO_GOOD_MATCH.to_owned()), found.coverage.and_then(Coverage::note)];
        let note =
            Some(notes.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|it| !it.is_empty());
        returned(&SearchResults { results: found.hits.into_iter().map(result).collect(), next_offset, note })
    }

    async fn fetch(
        &self,
        reader: &Reader<'_>,
        redactor: &Redactor,
        arguments: FetchArguments,
    ) -> Result<ToolResult, CallError> {
        let FetchArguments { id, offset, version } = arguments;
        let offset = offset.unwrap_or_default();
        // Reads a margin around the part, so that a secret that the part cuts is found.
        let longest = u32::try_from(redactor.longest()).unwrap_or(u32::MAX);
        let margin = longest.min(offset);
        let count = MAX_CHARACTERS.saturating_add(longest.saturating_mul(2));
        let start = offset - margin;
        let part = match version {
            Some(number) => self.version_part(reader, &id, number, start..start.saturating_add(count)).await,
            None => self.knowledge.document_part(reader.readable, &id, start, count).await,
        };
        let DocumentPart { summary, text: around, characters } = part.map_err(refused)?;
        let part = bytes_of_part(&around, margin);
        let end = u64::from(offset) + around[part.clone()].chars().count() as u64;
        let text = redactor.redact_part(&around, part);
        returned(&FetchedDocument {
            url: self.url(&summary),
            id: summary.id,
            title: summary.title,
            text,
            metadata: Metadata {
                collection: summary.holder.collection_id().map(str::to_owned),
                source: summary.source,
                author: summary.author,
                version: summary.version,
                updated_at: Timestamp::from_millisecond(summary.updated_at).unwrap_or_default().to_string(),
                characters,
                next_offset: (end < characters).then_some(end),
                note: note(&summary.state),
            },
        })
    }

    /// Reads a part of an earlier text, or of the present one, by its number.
    async fn version_part(
        &self,
        reader: &Reader<'_>,
        id: &str,
        number: u32,
        part: Range<u32>,
    ) -> Result<DocumentPart, KnowledgeError> {
        let summary = self.knowledge.summary(reader.readable, id).await?;
        if summary.version == number {
            let count = part.end.saturating_sub(part.start);
            return self.knowledge.document_part(reader.readable, id, part.start, count).await;
        }
        let (version, text) = self.knowledge.version_part(reader.readable, id, number, part).await?;
        let Version { title, changed_at: updated_at, characters, .. } = version;
        let summary = Summary { title, updated_at, version: number, state: State::Ready, ..summary };
        Ok(DocumentPart { summary, text, characters })
    }

    /// Returns the URL of the document for people.
    fn url(&self, document: &Summary) -> String {
        document.url.clone().unwrap_or_else(|| format!("{}{}", self.pages, document.id))
    }
}

impl KnowledgeTool {
    /// Returns the tool's declaration.
    pub fn definition(&self) -> &ToolDefinition {
        &self.tools.definition.tools[self.index]
    }

    /// Runs a call with validated arguments. `redactor` contains the user's secrets: it finds
    /// those that a part of a text cuts. Whole secrets are left to the caller.
    pub async fn call(
        &self,
        reader: &Reader<'_>,
        redactor: &Redactor,
        arguments: Value,
    ) -> Result<ToolResult, CallError> {
        match self.definition().name.as_str() {
            SEARCH => self.tools.search(reader, read(arguments)?).await,
            _ => self.tools.fetch(reader, redactor, read(arguments)?).await,
        }
    }
}

/// Returns the byte range of one answer's part of a text, after `before` characters.
fn bytes_of_part(text: &str, before: u32) -> Range<usize> {
    let at = |characters: u32| {
        let mut places = text.char_indices().map(|(place, _)| place);
        usize::try_from(characters).ok().and_then(|characters| places.nth(characters)).unwrap_or(text.len())
    };
    let start = at(before);
    let end = at(before.saturating_add(MAX_CHARACTERS));
    start..text.floor_char_boundary(end.min(start + MAX_BYTES))
}

/// Deserialises arguments. Schemas accept a whole number within 32 bits written as `1.0`, which serde rejects
/// as an integer.
fn read<T: for<'de> Deserialize<'de>>(arguments: Value) -> Result<T, CallError> {
    serde_json::from_value(arguments).map_err(|error| CallError::InvalidParams(error.to_string()))
}

/// Returns the result in the form that clients expect: the same JSON as structured value and as text.
fn returned(result: &impl Serialize) -> Result<ToolResult, CallError> {
    let json = serde_json::to_string(result).map_err(|error| CallError::Failure(error.to_string()))?;
    Ok(ToolResult { text: json.clone(), structured: Some(json), ..ToolResult::default() })
}

fn refused(error: KnowledgeError) -> CallError {
    let (message, retryable) = match error {
        KnowledgeError::Invalid(problems) => return CallError::InvalidParams(problems.to_string()),
        KnowledgeError::Unavailable(why) => (why.to_owned(), true),
        KnowledgeError::Storage(cause) if cause.is_user_ended() => (cause.to_string(), false),
        KnowledgeError::Storage(cause) => {
            error!(%cause, "the knowledge base failed");
            ("the knowledge base cannot be reached now; try again later".to_owned(), true)
        }
        other => (other.to_string(), false),
    };
    CallError::Tool(ToolError { message, retryable, data: None })
}

fn note(state: &State) -> Option<String> {
    match state {
        State::Ready => None,
        State::Pending => Some("its file was not read yet, or search does not find it yet".to_owned()),
        State::Failed(why) => Some(format!("not all of it could be read: {why}")),
    }
}

fn definition() -> ToolkitDefinition {
    ToolkitDefinition {
        id: ID.to_owned(),
        name: "Documents".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tools: vec![search_definition(), fetch_definition()],
        ..ToolkitDefinition::default()
    }
}

fn text(of: &str) -> Value {
    json!({ "type": "string", "description": of })
}

fn offset(of: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "description": of })
}

fn search_definition() -> ToolDefinition {
    ToolDefinition {
        name: SEARCH.to_owned(),
        title: Some("Search documents".to_owned()),
        description: "Searches the user's documents and their team's, by words and by meaning. Answers with the best ones, each with the \
                      passage that fits best; `fetch` reads one."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Words, or a question. \"a phrase\", -word, source:ID and in:COLLECTION narrow it down.",
                },
                "collections": {
                    "type": "array",
                    "maxItems": 64,
                    "items": { "type": "string" },
                    "description": "Only in these, by id; `mine` are the user's own documents.",
                },
                "offset": offset("`nextOffset` of the answer before, for more results."),
            },
            "required": ["query"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "results": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": text("What `fetch` takes."),
                            "title": text("Its title."),
                            "collection": text("The collection it is in, if any."),
                            "url": text("Where a person finds it."),
                            "snippet": text("The passage that fits best."),
                            "score": { "type": "number", "description": "How good it is, 0 to 1; below 0.4 it is probably about something else." },
                        },
                        "required": ["id", "title", "url", "snippet", "score"],
                    },
                },
                "nextOffset": { "type": "integer", "description": "The `offset` of more results, if there are any." },
                "note": text("What to know about these results, such as that none is a good match."),
            },
            "required": ["results"],
        })),
        ..reading()
    }
}

fn fetch_definition() -> ToolDefinition {
    let metadata = json!({
        "type": "object",
        "properties": {
            "source": text("Who added it: the id of a toolkit, or `user`."),
            "collection": text("The collection it is in, if any."),
            "author": text("Its byline."),
            "version": { "type": "integer", "description": "Of the text: what to cite." },
            "updatedAt": text("When it was changed last, RFC 3339."),
            "characters": { "type": "integer", "description": "Of the whole text." },
            "nextOffset": { "type": "integer", "description": "The `offset` that continues the text." },
            "note": text("What is missing of the text."),
        },
        "required": ["source", "version", "updatedAt", "characters"],
    });
    ToolDefinition {
        name: FETCH.to_owned(),
        title: Some("Read a document".to_owned()),
        description: format!(
            "Reads a document that `search` has found. Of a long text, the answer has up to \
             {MAX_CHARACTERS} characters; `metadata.nextOffset` continues it."
        ),
        input_schema: json!({
            "type": "object",
            "properties": {
                "id": text("The `id` of a result of `search`."),
                "offset": offset("How many characters of the text to leave out."),
                "version": { "type": "integer", "minimum": 1, "maximum": u32::MAX, "description": "An earlier text, by its number." },
            },
            "required": ["id"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "id": text("Its id."),
                "title": text("Its title."),
                "text": text("Its text, or a part of it."),
                "url": text("Where a person finds it."),
                "metadata": metadata,
            },
            "required": ["id", "title", "text", "url", "metadata"],
        })),
        ..reading()
    }
}

/// Common part of both declarations: the tools are read-only, and reach nothing else.
fn reading() -> ToolDefinition {
    let annotations = ToolAnnotations {
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    };
    ToolDefinition { annotations, always_on: true, ..ToolDefinition::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_breaks_no_rule_but_that_nobody_else_has_its_id() {
        let other = ToolkitDefinition {
            id: "other".to_owned(),
            description: "x".to_owned(),
            icon: "📚".to_owned(),
            ..definition()
        };

        let problems = |definition| match kitbag_manifest::validate(definition) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.into_iter().map(|problem| problem.path).collect::<Vec<_>>(),
        };

        assert_eq!(problems(other.clone()), Vec::<String>::new());
        assert_eq!(problems(ToolkitDefinition { id: ID.to_owned(), ..other }), ["id"]);
    }
}
