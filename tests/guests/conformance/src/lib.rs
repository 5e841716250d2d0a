//! The tools, prompts and resources that MCP's conformance suite asks for. The suite defines names, texts and behaviour;
//! `tests/conformance` runs it.

mod asking;

use std::time::Duration;

use kitbag_toolkit::prelude::*;

use wstd::task::sleep;

kitbag_toolkit::export!(toolkit);

/// One red pixel.
const PNG: &[u8] = include_bytes!("pixel.png");
/// A short silent recording.
const WAV: &[u8] = include_bytes!("silence.wav");

fn toolkit() -> Toolkit {
    Toolkit::new("conformance", "Conformance")
        .description("What the conformance suite calls.")
        .icon("✅")
        .version("1.0.0")
        .visibility(Visibility::Shared)
        .scope(Scope::Ask)
        .tool(Tool::new("test_simple_text", text).description("Returns text."))
        .tool(Tool::new("test_image_content", image).description("Returns a picture."))
        .tool(Tool::new("bare_image", bare_image).description("Returns an image without a text."))
        .tool(Tool::new("test_audio_content", audio).description("Returns a sound."))
        .tool(Tool::new("test_embedded_resource", resource).description("Returns a document."))
        .tool(Tool::new("test_multiple_content_types", mixed).description("Returns one of each."))
        .tool(Tool::new("test_error_handling", fail).description("Fails."))
        .tool(Tool::new("test_tool_with_progress", progress).description("Says how far it has come."))
        .tool(Tool::new("test_streaming_elicitation", progress).description("Answers with a stream."))
        .tool(Tool::new("test_elicitation", asking::elicit).description("Asks for a name and an address."))
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", asking::defaults)
                .description("Asks with defaults."),
        )
        .tool(Tool::new("test_elicitation_sep1330_enums", asking::choices).description("Asks for choices."))
        .tool(
            Tool::new("test_input_required_result_elicitation", asking::name).description("Asks for a name."),
        )
        .tool(
            Tool::new("test_input_required_result_request_state", asking::confirm)
                .description("Asks whether to go on, and hands out a state."),
        )
        .tool(
            Tool::new("test_input_required_result_multi_round", asking::rounds)
                .description("Asks for a name, and then for a colour."),
        )
        .tool(
            Tool::new("test_input_required_result_tampered_state", asking::confirm)
                .description("Asks whether to go on."),
        )
        .tool(Tool::new("test_logging_tool", log_something).description("Writes to its log."))
        .tool(
            Tool::new("test_trigger_tool_change", text).description("The harness changes the list of tools."),
        )
        .tool(Tool::new("test_headers", region).description("Has a parameter that travels in a header."))
        .tool(
            Tool::new("json_schema_2020_12_tool", anything)
                .description("Has a schema with everything in it.")
                .input_schema(schema_with_many_keywords),
        )
        .prompt(Prompt::new("test_simple_prompt", simple_prompt).description("Is simple."))
        .prompt(
            Prompt::new("test_prompt_with_arguments", prompt_with_arguments)
                .description("Has arguments.")
                .complete(
                    "arg1",
                    |typed: Completion, _| async move { vec![format!("{}Value1", typed.value)] },
                ),
        )
        .prompt(
            Prompt::new("test_prompt_with_embedded_resource", prompt_with_resource)
                .description("Has a document."),
        )
        .prompt(Prompt::new("test_prompt_with_image", prompt_with_image).description("Has a picture."))
        .resource(
            Resource::new("static_text", "static-text", static_text)
                .description("A text.")
                .media_type("text/plain"),
        )
        .resource(
            Resource::new("static_binary", "static-binary", static_binary)
                .description("A picture.")
                .media_type("image/png"),
        )
        .resource(
            Resource::new("template", "template/{id}/data", template)
                .description("Data, by its id.")
                .media_type("application/json"),
        )
}

async fn simple_prompt(_: NoArgs, _: Ctx) -> &'static str {
    "This is a simple prompt for testing."
}

#[derive(Deserialize, JsonSchema)]
struct PromptArguments {
    /// The first.
    arg1: String,
    /// The second.
    arg2: String,
}

async fn prompt_with_arguments(PromptArguments { arg1, arg2 }: PromptArguments, _: Ctx) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

#[derive(Deserialize, JsonSchema)]
struct EmbeddedUri {
    /// Of the document.
    #[serde(rename = "resourceUri")]
    uri: String,
}

async fn prompt_with_resource(EmbeddedUri { uri }: EmbeddedUri, _: Ctx) -> Vec<PromptMessage> {
    let document = EmbeddedResource::text(uri, "Embedded resource content for testing.");
    vec![
        PromptMessage::user(document.media_type("text/plain")),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn prompt_with_image(_: NoArgs, _: Ctx) -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(Content::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

async fn static_text(_: NoArgs, _: Ctx) -> &'static str {
    "This is the content of the static text resource."
}

async fn static_binary(_: NoArgs, _: Ctx) -> Vec<u8> {
    PNG.to_vec()
}

#[derive(Deserialize)]
struct TemplateId {
    id: String,
}

async fn template(TemplateId { id }: TemplateId, _: Ctx) -> String {
    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string()
}

async fn text(_: NoArgs, _: Ctx) -> &'static str {
    "This is a simple text response for testing."
}

async fn image(_: NoArgs, _: Ctx) -> ToolResult {
    ToolResult::new("A picture.").with(Content::image(PNG, "image/png"))
}

async fn bare_image(_: NoArgs, _: Ctx) -> ToolResult {
    ToolResult::new("").with(Content::image(PNG, "image/png"))
}

async fn audio(_: NoArgs, _: Ctx) -> ToolResult {
    ToolResult::new("A sound.").with(Content::audio(WAV, "audio/wav"))
}

async fn resource(_: NoArgs, _: Ctx) -> ToolResult {
    let document =
        EmbeddedResource::text("test://embedded-resource", "This is an embedded resource content.");
    ToolResult::new("A document.").with(document.media_type("text/plain"))
}

async fn mixed(_: NoArgs, _: Ctx) -> ToolResult {
    let document = EmbeddedResource::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
    ToolResult::new("Multiple content types test:")
        .with(Content::image(PNG, "image/png"))
        .with(document.media_type("application/json"))
}

async fn fail(_: NoArgs, _: Ctx) -> Result<String> {
    Err(ToolError::new("This tool intentionally returns an error for testing").into())
}

async fn progress(_: NoArgs, ctx: Ctx) -> &'static str {
    for done in [0, 50, 100] {
        ctx.progress(Progress::new(done).of(100).message(format!("{done} of 100")));
        sleep(Duration::from_millis(50).into()).await;
    }
    "done"
}

async fn log_something(_: NoArgs, ctx: Ctx) -> &'static str {
    log!(ctx, "this is for the toolkit's author");
    "done"
}

#[derive(Deserialize, JsonSchema)]
struct Region {
    /// Where to run.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

async fn region(arguments: Region, _: Ctx) -> String {
    arguments.region
}

#[derive(Deserialize, JsonSchema)]
struct Anything {}

async fn anything(_: Anything, _: Ctx) -> &'static str {
    "fits"
}

fn schema_with_many_keywords() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
