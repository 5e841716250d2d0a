//! Validation and reporting of arguments, results and errors.

use std::num::NonZeroU8;

use super::{Text, bare, nothing};
use crate::prelude::*;

fn run(tool: Tool, arguments: Value) -> Outcome {
    dispatch(&bare().tool(tool.description("d")), Call::new("t").args(arguments))
}

#[test]
fn a_bare_string_is_the_text() {
    let owned = run(Tool::new("t", async |args: Text, _| args.text), json!({ "text": "a" }));
    let borrowed = run(Tool::new("t", async |_: NoArgs, _| "b"), json!({}));

    assert_eq!(owned.to_json(), json!({ "ok": true, "text": "a" }));
    assert_eq!(borrowed.to_json(), json!({ "ok": true, "text": "b" }));
}

#[test]
fn a_value_may_be_attached_without_a_schema() {
    let tool = Tool::new("t", async |_: NoArgs, _| ToolResult::new("two").with_structured([1, 2]));

    let outcome = run(tool, json!({}));

    assert_eq!(outcome.to_json(), json!({ "ok": true, "text": "two", "structured": [1, 2] }));
}

#[test]
fn pictures_and_documents_stand_beside_the_text() {
    let tool = Tool::new("t", async |_: NoArgs, _| {
        ToolResult::new("a chart")
            .with(Content::image([1, 2], "image/png"))
            .with(EmbeddedResource::text("data:week", "1,2").media_type("text/csv"))
    });

    let outcome = run(tool, json!({}));

    assert_eq!(outcome.text(), "a chart");
    let expected = EmbeddedResource::text("data:week", "1,2").media_type("text/csv");
    assert_eq!(outcome.content(), [ContentBlock::new(Content::image([1, 2], "image/png")), expected.into()]);
}

#[test]
fn a_test_sees_what_was_reported_of_the_progress() {
    let tool = Tool::new("t", async |_: NoArgs, ctx: Ctx| {
        ctx.progress(Progress::new(1).of(2).message("half"));
        "done"
    });

    assert_eq!(run(tool, json!({})).progress(), [Progress::new(1).of(2).message("half")]);
}

#[test]
fn a_structured_result_declares_its_schema_and_is_checked_against_it() {
    #[derive(Serialize, JsonSchema)]
    struct Rating {
        #[schemars(range(max = 5))]
        stars: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    struct RateArgs {
        stars: u8,
    }

    let rate = || Tool::new("t", async |args: RateArgs, _| Structured::json(Rating { stars: args.stars }));
    let good = run(rate(), json!({ "stars": 5 }));
    let bad = run(rate(), json!({ "stars": 6 }));

    assert_eq!(good.to_json(), json!({ "ok": true, "text": "{\"stars\":5}", "structured": { "stars": 5 } }));
    assert_eq!(bad.failure().code, ErrorCode::ToolError);
    assert!(bad.failure().error.contains("/stars: "), "{}", bad.failure().error);
    assert!(!bad.failure().retryable);
}

#[test]
fn arguments_that_break_the_schema_never_reach_the_handler() {
    #[derive(Deserialize, JsonSchema)]
    struct Page {
        // The maximum is in the schema only: the type would accept the value.
        #[expect(dead_code, reason = "the handler never runs")]
        #[schemars(range(max = 9))]
        page: u8,
    }

    let tool = Tool::new("t", async |_: Page, _| -> Result<String> { panic!("the handler ran") });

    let outcome = run(tool, json!({ "page": 10 }));

    assert_eq!(outcome.failure().code, ErrorCode::InvalidParams);
    assert!(outcome.failure().error.starts_with("Invalid arguments: /page: "), "{}", outcome.failure().error);
}

#[test]
fn arguments_that_fit_the_schema_but_not_the_type_are_named_too() {
    #[derive(Deserialize, JsonSchema)]
    struct Pages {
        #[schemars(with = "Vec<u8>")]
        pages: Vec<NonZeroU8>,
    }

    let tool = Tool::new("t", async |args: Pages, _| args.pages.len().to_string());

    let outcome = run(tool, json!({ "pages": [1, 0] }));

    assert_eq!(outcome.failure().code, ErrorCode::InvalidParams);
    assert!(
        outcome.failure().error.starts_with("Invalid arguments: /pages/1: "),
        "{}",
        outcome.failure().error
    );
}

#[test]
fn a_tool_error_is_what_the_model_reads() {
    let tool = Tool::new("t", async |_: NoArgs, _| -> Result<String> {
        Err(ToolError::new("Closed until nine.").retryable().data(json!({ "now": 8 })))
            .context("the model must not see this")
    });

    let outcome = run(tool, json!({}));

    assert_eq!(
        outcome.to_json(),
        json!({ "ok": false, "code": "TOOL_ERROR", "error": "Closed until nine.", "retryable": true })
    );
    assert_eq!(outcome.detail(), Some(r#"{"now":8}"#));
}

#[test]
fn any_other_error_is_a_generic_failure_with_its_story_in_the_log() {
    let tool = Tool::new("t", async |_: NoArgs, _| -> Result<String> {
        let count: u32 = "many".parse().context("reading the count")?;
        Ok(count.to_string())
    });

    let outcome = run(tool, json!({}));

    assert_eq!(
        outcome.to_json(),
        json!({ "ok": false, "code": "TOOL_ERROR", "error": "The tool failed.", "retryable": false })
    );
    assert_eq!(outcome.detail(), Some("reading the count: invalid digit found in string"));
}

#[test]
fn the_whole_declaration_is_checked_and_all_problems_come_at_once() {
    let toolkit = Toolkit::new("Books!", "Books")
        .description("Finds books.")
        .icon("📚")
        .version("1.0")
        .egress("https://books.example")
        .config("order", Setting::select("Order", ["title"]).default("author"))
        .config("order", Setting::string("Order"))
        .tool(Tool::new("find", nothing))
        .tool(Tool::new("find", async |_: NoArgs, _| Structured::json(vec![1])).description("d"));

    let problems = toolkit.check().expect_err("it breaks rules").0;

    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "id",
            "version",
            "tools[0].description",
            "tools[1].output",
            "tools[1].name",
            "egress[0]",
            "config.order"
        ]
    );
}

#[test]
#[should_panic(expected = "tools: must have at least one tool")]
fn nothing_runs_on_a_declaration_that_is_not_valid() {
    dispatch(&bare(), Call::new("t"));
}

#[test]
#[should_panic(expected = "has no tool \"find\"; it has t")]
fn an_unknown_tool_is_a_mistake_of_the_test() {
    dispatch(&bare().tool(Tool::new("t", nothing).description("d")), Call::new("find"));
}
