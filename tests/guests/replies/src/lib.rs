//! One tool for each kind of reply. `guest-sdk/typescript/test/toolkits/replies` is the same toolkit in
//! TypeScript, and `tests/replies.json` lists the replies of both, with and without a server.

mod knowledge;

use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

fn toolkit() -> Toolkit {
    Toolkit::new("replies", "Replies")
        .description("One tool for each kind of reply.")
        .icon("💬")
        .version("1.0.0")
        .visibility(Visibility::Shared)
        .secret("API_KEY")
        .egress("api.example")
        .scope(Scope::Search)
        .scope(Scope::Ingest)
        .config("language", Setting::string("Language").default("en"))
        .config("limit", Setting::number("Limit").default(5))
        .tool(Tool::new("echo", echo).description("Repeats a text.").input_schema(echo_schema))
        .tool(Tool::new("rate", rate).description("Returns stars."))
        .tool(Tool::new("fail", fail).description("Fails in a way that is asked for."))
        .tool(Tool::new("settings", settings).description("Returns the user's settings."))
        .tool(Tool::new("secret", secret).description("Needs a credential."))
        .tool(Tool::new("undeclared", undeclared).description("Asks for what is not declared."))
        .tool(Tool::new("large", large).description("Returns so many bytes."))
        .tool(Tool::new("content", content).description("Returns a picture and documents."))
        .tool(Tool::new("fetch", fetch).description("Sends a request to a host that is not listed."))
        .tool(Tool::new("unlisted", unlisted).description("Returns the error of a request."))
        .tool(Tool::new("search", knowledge::search).description("Counts what a search finds."))
        .tool(Tool::new("document", knowledge::document).description("Returns the text of a document."))
        .tool(Tool::new("ingest", knowledge::ingest).description("Stores documents."))
        .tool(
            Tool::new("matches", matches)
                .description("Takes what one of its patterns matches.")
                .input_schema(matches_schema),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
    #[serde(default)]
    tags: Vec<String>,
}

/// The schema as the schema library of the TypeScript SDK generates it.
fn echo_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "minLength": 1, "maxLength": 20 },
            "count": { "type": "integer", "minimum": 1, "maximum": 5 },
            "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 100_000 },
        },
        "required": ["text"],
    })
}

async fn echo(echo: Echo, _: Ctx) -> String {
    format!("{} {}", echo.text, echo.tags.join(",")).trim_end().to_owned()
}

#[derive(Deserialize, JsonSchema)]
struct RateArgs {
    stars: i32,
}

#[derive(Serialize, JsonSchema)]
struct Rating {
    #[schemars(range(max = 5))]
    stars: i32,
    tags: Vec<String>,
}

async fn rate(args: RateArgs, _: Ctx) -> Structured<Rating> {
    Structured::new("rated", Rating { stars: args.stars, tags: Vec::new() })
}

#[derive(Deserialize, JsonSchema)]
struct FailArgs {
    how: How,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum How {
    ToolError,
    Retryable,
    Wrapped,
    Thrown,
}

async fn fail(args: FailArgs, _: Ctx) -> Result<String> {
    let closed = ToolError::new("The library is closed: \"until nine\".").data(json!({ "now": 8 }));
    match args.how {
        How::ToolError => Err(closed.into()),
        How::Retryable => Err(closed.retryable().into()),
        How::Wrapped => Err(closed).context("for the log only"),
        How::Thrown => {
            let count: u32 = "many".parse().context("reading the count")?;
            Ok(count.to_string())
        }
    }
}

async fn settings(_: NoArgs, ctx: Ctx) -> Result<String> {
    #[derive(Deserialize)]
    struct Settings {
        language: String,
        limit: u32,
    }

    let Settings { language, limit } = ctx.config_as()?;
    Ok(format!("{language} {limit}"))
}

async fn secret(_: NoArgs, ctx: Ctx) -> Result<String> {
    Ok(ctx.require_secret("API_KEY").await?.len().to_string())
}

async fn undeclared(_: NoArgs, ctx: Ctx) -> Result<String> {
    Ok(ctx.secret("OTHER_KEY").await?.unwrap_or_default())
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    bytes: u32,
}

async fn large(size: Size, _: Ctx) -> String {
    "x".repeat(size.bytes as usize)
}

async fn content(_: NoArgs, _: Ctx) -> ToolResult {
    ToolResult::new("a chart")
        .with(Content::image([1, 2, 3, 255], "image/png"))
        .with(EmbeddedResource::text("data:week", "1,2").media_type("text/csv"))
        .with(
            ContentBlock::new(ResourceLink::new("https://a.example/week", "week"))
                .audience([Role::User])
                .priority(0.25)
                .last_modified("2026-11-26T09:30:00Z"),
        )
}

async fn fetch(_: NoArgs, ctx: Ctx) -> Result<String> {
    Ok(ctx.fetch(Request::get("https://evil.example/")).await?.text().await?)
}

#[derive(Deserialize, JsonSchema)]
struct Url {
    url: String,
}

async fn unlisted(args: Url, ctx: Ctx) -> String {
    match ctx.fetch(Request::get(args.url)).await {
        Ok(response) => response.status().as_u16().to_string(),
        Err(error) => error.to_string(),
    }
}

#[derive(Deserialize, JsonSchema)]
struct Words {
    words: Vec<String>,
}

fn matches_schema() -> Value {
    let patterns: Vec<Value> =
        (0..40).map(|index| json!({ "type": "string", "pattern": format!("^[a-z]+{index}$") })).collect();
    json!({
        "type": "object",
        "properties": { "words": { "type": "array", "items": { "anyOf": patterns } } },
        "required": ["words"],
    })
}

async fn matches(words: Words, _: Ctx) -> String {
    words.words.len().to_string()
}

#[cfg(test)]
mod tests;
