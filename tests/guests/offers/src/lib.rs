//! Has prompts, resources and completions: plain ones, and some that misbehave.

use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

const API_KEY: &str = "API_KEY";
/// More than a result may have.
const HUGE: usize = 10 << 20;

fn toolkit() -> Toolkit {
    Toolkit::new("offers", "Offers")
        .description("Has prompts and resources.")
        .icon("📚")
        .version("1.0.0")
        .visibility(Visibility::Shared)
        .secret(API_KEY)
        .config("greeting", Setting::string("Greeting").default("Hello"))
        .tool(Tool::new("link", link).description("Links to its own resource, and to others'."))
        .prompt(Prompt::new("greet", greet).title("Greet somebody").description("Greets a person.").complete(
            "name",
            |typed: Completion, _| async move {
                (0..10_000).map(|number| format!("{}{number}", typed.value)).collect::<Vec<_>>()
            },
        ))
        .prompt(Prompt::new("reveal", reveal).description("Says a secret."))
        .prompt(Prompt::new("fail", fail).description("Fails with a reason."))
        .prompt(Prompt::new("spin", spin).description("Never ends."))
        .prompt(Prompt::new("trap", trap).description("Panics."))
        .prompt(Prompt::new("huge", huge_prompt).description("Has ten megabytes."))
        .prompt(Prompt::new("odd", odd).description("Has a hint that clients refuse."))
        .resource(
            Resource::new("summary", "summary", summary)
                .title("Summary")
                .description("A summary.")
                .media_type("text/markdown"),
        )
        .resource(
            Resource::new("note", "notes/{id}", note)
                .description("A note, by its id.")
                .media_type("text/plain")
                .values("id", ["10", "11", "20"]),
        )
        .resource(Resource::new("picture", "picture", picture).description("A picture."))
        .resource(Resource::new("leak", "leak", leak).description("Has a secret."))
        .resource(Resource::new("huge", "huge", huge_resource).description("Has ten megabytes."))
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom to greet.
    name: String,
    tone: Option<Tone>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Kind,
    Strict,
}

async fn greet(Greeting { name, tone }: Greeting, ctx: Ctx) -> Vec<PromptMessage> {
    log!(ctx, "greeting", name);
    let greeting = ctx.config()["greeting"].as_str().unwrap_or_default().to_owned();
    let end = if matches!(tone, Some(Tone::Strict)) { "." } else { "!" };
    vec![
        PromptMessage::user(format!("{greeting}, {name}{end} I am {}.", ctx.user_id())),
        PromptMessage::assistant(ResourceLink::new("notes/7", "note")),
    ]
}

async fn reveal(_: NoArgs, ctx: Ctx) -> Result<String> {
    Ok(format!("It is {}.", ctx.require_secret(API_KEY).await?))
}

async fn fail(_: NoArgs, _: Ctx) -> Result<String> {
    Err(ToolError::new("There is nobody to greet.").into())
}

async fn spin(_: NoArgs, _: Ctx) -> String {
    loop {
        std::hint::spin_loop();
    }
}

async fn trap(_: NoArgs, _: Ctx) -> String {
    panic!("a detail for the log alone")
}

async fn huge_prompt(_: NoArgs, _: Ctx) -> String {
    "x".repeat(HUGE)
}

async fn odd(_: NoArgs, _: Ctx) -> PromptMessage {
    PromptMessage::user(ContentBlock::new(Content::image([1], "image/png")).priority(7.0))
}

async fn summary(_: NoArgs, _: Ctx) -> &'static str {
    "# Summary"
}

#[derive(Deserialize)]
struct Note {
    id: String,
}

async fn note(Note { id }: Note, _: Ctx) -> Result<String> {
    if id == "0" {
        return Err(ToolError::new("There is no note 0.").into());
    }
    Ok(format!("note {id:?}"))
}

async fn picture(_: NoArgs, _: Ctx) -> ResourceContents {
    ResourceContents::blob([0, 1, 2]).media_type("image/png")
}

async fn leak(_: NoArgs, ctx: Ctx) -> Result<String> {
    Ok(format!("It is {}.", ctx.require_secret(API_KEY).await?))
}

async fn huge_resource(_: NoArgs, _: Ctx) -> Vec<u8> {
    vec![7; HUGE]
}

async fn link(_: NoArgs, _: Ctx) -> ToolResult {
    ToolResult::new("links")
        .with(ResourceLink::new("notes/7", "own"))
        .with(ResourceLink::new("kitbag://greeter/notes/7", "another's"))
        .with(ResourceLink::new("notes/../7", "odd"))
}
