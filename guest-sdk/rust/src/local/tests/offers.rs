//! Prompts, resources and completions.

use super::bare;
use crate::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// Title of the book.
    book: String,
    tone: Option<Tone>,
    author: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Kind,
    Strict,
}

#[derive(Deserialize)]
struct Book {
    isbn: String,
}

async fn review(Review { book, tone, author }: Review, ctx: Ctx) -> Result<Vec<PromptMessage>> {
    if book == "nothing" {
        return Err(ToolError::new("There is no such book.").into());
    }
    let tone = if matches!(tone, Some(Tone::Strict)) { "strictly" } else { "kindly" };
    let by = author.map(|author| format!(" by {author}")).unwrap_or_default();
    let limit = ctx.config()["words"].as_f64().unwrap_or_default();
    let answer = PromptMessage::assistant(ResourceLink::new("books/7", "book"));
    Ok(vec![PromptMessage::user(format!("Review {book}{by} {tone}, in {limit} words.")), answer])
}

fn books() -> Toolkit {
    bare()
        .config("words", Setting::number("Words").default(100))
        .tool(
            Tool::new("t", async |_: NoArgs, _| {
                ToolResult::new("a book").with(ResourceLink::new("books/7", "book"))
            })
            .description("d"),
        )
        .prompt(Prompt::new("review", review).description("Asks for a review.").complete(
            "author",
            |typed: Completion, _| async move {
                let book = typed.others.get("book").cloned().unwrap_or_default();
                Ok::<_, ToolError>(vec![format!("{}, of {book}", typed.value)])
            },
        ))
        .resource(
            Resource::new("book", "books/{isbn}", async |Book { isbn }: Book, _: Ctx| format!("book {isbn}"))
                .description("A book.")
                .media_type("text/plain")
                .values("isbn", ["71", "72", "8"]),
        )
        .resource(
            Resource::new("cover", "cover", async |_: NoArgs, _: Ctx| {
                ResourceContents::blob([1, 2]).media_type("image/png")
            })
            .description("A picture."),
        )
}

#[test]
fn a_prompt_has_the_fields_of_its_type_as_arguments() {
    let declared = books().definition().prompts.remove(0);

    let shown: Vec<_> = declared
        .arguments
        .iter()
        .map(|it| (it.name.as_str(), it.required, it.values.join(","), it.completes))
        .collect();
    assert_eq!(
        shown,
        [
            ("book", true, String::new(), false),
            ("author", false, String::new(), true),
            ("tone", false, "kind,strict".to_owned(), false),
        ]
    );
    assert_eq!(declared.arguments[0].description.as_deref(), Some("Title of the book."));
}

#[test]
fn a_prompt_answers_with_messages_whose_links_are_whole() {
    let arguments = json!({ "book": "Emma", "author": "Jane", "tone": "strict" });
    let outcome = dispatch(&books(), Call::prompt("review").args(arguments).config("words", 50));

    assert_eq!(
        outcome.messages(),
        [
            PromptMessage::user("Review Emma by Jane strictly, in 50 words."),
            PromptMessage::assistant(ResourceLink::new("kitbag://books/books/7", "book")),
        ]
    );
    let of_tool = dispatch(&books(), Call::new("t"));
    assert_eq!(of_tool.content(), [ResourceLink::new("kitbag://books/books/7", "book").into()]);
}

#[test]
fn arguments_of_a_prompt_are_checked_and_its_errors_are_told() {
    let failure = |arguments| dispatch(&books(), Call::prompt("review").args(arguments)).failure().clone();

    assert_eq!(failure(json!({})).code, ErrorCode::InvalidParams);
    assert_eq!(failure(json!({ "book": 7 })).code, ErrorCode::InvalidParams);
    assert_eq!(failure(json!({ "book": "a", "other": "b" })).code, ErrorCode::InvalidParams);
    assert_eq!(failure(json!({ "book": "a", "tone": "loud" })).code, ErrorCode::InvalidParams);
    assert_eq!(failure(json!({ "book": "nothing" })).error, "There is no such book.");
}

#[test]
fn a_resource_is_read_by_its_uri_and_by_no_other() {
    let contents = |uri: &str| dispatch(&books(), Call::resource(uri)).contents().clone();

    assert_eq!(contents("books/a%20b"), ResourceContents::text("book a b").media_type("text/plain"));
    assert_eq!(contents("kitbag://books/books/7"), ResourceContents::text("book 7").media_type("text/plain"));
    assert_eq!(contents("cover"), ResourceContents::blob([1, 2]).media_type("image/png"));
    for uri in ["books", "books/..", "books/a%2Fb", "kitbag://other/books/7", "/cover"] {
        let failure = dispatch(&books(), Call::resource(uri)).failure().clone();
        assert_eq!(failure.code, ErrorCode::InvalidParams, "{uri}");
    }
}

#[test]
fn values_are_proposed_by_the_declaration_or_by_a_handler() {
    let listed = dispatch(&books(), Call::complete_resource("book", "isbn", "7"));
    let none = dispatch(&books(), Call::complete_prompt("review", "book", "E"));
    let others = json!({ "book": "Emma" });
    let made = dispatch(&books(), Call::complete_prompt("review", "author", "J").args(others));

    assert_eq!(listed.values(), ["71", "72"]);
    assert!(none.values().is_empty());
    assert_eq!(made.values(), ["J, of Emma"]);
    let names = dispatch(&books(), Call::complete_prompt("review", "tone", "S"));
    assert_eq!(names.values(), ["strict"]);
}

#[test]
fn what_is_wrong_with_a_prompt_is_told_when_the_declaration_is_checked() {
    #[derive(Deserialize, JsonSchema)]
    struct Numbers {
        #[expect(dead_code, reason = "only its schema matters")]
        count: u32,
    }
    let prompt = Prompt::new("p", async |_: Numbers, _: Ctx| "x")
        .description("d")
        .complete("other", |_, _| async { vec!["x"] });
    let toolkit = books().prompt(prompt);

    let problems = toolkit.check().expect_err("it has problems").to_string();

    assert_eq!(
        problems,
        "prompts[1].arguments: \"other\" is completed, and is no argument\n\
         prompts[1].arguments: \"count\" is no text: use a String, an enum of names, or an Option of these"
    );
}

#[test]
fn a_resource_that_is_too_large_is_a_failure() {
    let large = Resource::new("large", "large", async |_: NoArgs, _: Ctx| "x".repeat(5 << 20));

    let outcome = dispatch(&books().resource(large.description("d")), Call::resource("large"));

    assert!(outcome.failure().error.contains("4 MiB") || outcome.failure().error.contains("too large"));
}
