//! Tools that ask their user.

use kitbag_toolkit::prelude::*;
use kitbag_toolkit::serde_json::Map;

fn shown(asked: Asked<Map<String, Value>>) -> String {
    match asked {
        Asked::Accepted(content) => format!("action=accept, content={}", Value::Object(content)),
        Asked::Declined => "action=decline, content={}".to_owned(),
        Asked::Cancelled => "action=cancel, content={}".to_owned(),
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Message {
    /// What to show the user.
    message: String,
}

pub(crate) async fn elicit(Message { message }: Message, ctx: Ctx) -> Result<String> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    Ok(format!("User response: {}", shown(ctx.ask_with("user", message, &schema).await?)))
}

pub(crate) async fn defaults(_: NoArgs, ctx: Ctx) -> Result<String> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
    });
    let asked = ctx.ask_with("defaults", "Look at the defaults.", &schema).await?;
    Ok(format!("Elicitation completed: {}", shown(asked)))
}

pub(crate) async fn choices(_: NoArgs, ctx: Ctx) -> Result<String> {
    let titled = |names: [&str; 3]| -> Value {
        let choice =
            |(at, name): (usize, &str)| json!({ "const": format!("value{}", at + 1), "title": name });
        names.into_iter().enumerate().map(choice).collect()
    };
    let options = json!(["option1", "option2", "option3"]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"]) },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": {
                "type": "array",
                "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) },
            },
        },
    });
    let asked = ctx.ask_with("choices", "Choose.", &schema).await?;
    Ok(format!("Elicitation completed: {}", shown(asked)))
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

pub(crate) async fn name(_: NoArgs, ctx: Ctx) -> Result<String> {
    let asked = ctx.ask::<Name>("user_name", "What is your name?").await?;
    Ok(asked.accepted().map_or("Hello!".to_owned(), |it| format!("Hello, {}!", it.name)))
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    ok: bool,
}

pub(crate) async fn confirm(_: NoArgs, ctx: Ctx) -> Result<&'static str> {
    let asked = ctx.ask::<Confirmation>("confirm", "Please confirm").await?;
    Ok(if asked.accepted().is_some_and(|it| it.ok) { "state-ok" } else { "not confirmed" })
}

#[derive(Deserialize, JsonSchema)]
struct Colour {
    color: String,
}

pub(crate) async fn rounds(_: NoArgs, ctx: Ctx) -> Result<String> {
    let name = ctx.ask::<Name>("step1", "Step 1: What is your name?").await?.accepted();
    let colour = ctx.ask::<Colour>("step2", "Step 2: What is your favorite color?").await?.accepted();
    let (name, colour) = (name.map(|it| it.name), colour.map(|it| it.color));
    Ok(format!("{} likes {}.", name.as_deref().unwrap_or("Somebody"), colour.as_deref().unwrap_or("nothing")))
}
