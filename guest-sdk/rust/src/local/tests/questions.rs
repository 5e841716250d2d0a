//! Questions to the user, which end a run.

use std::cell::Cell;
use std::rc::Rc;

use super::bare;
use crate::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Delete them for good?
    sure: bool,
}

async fn clear(_: NoArgs, ctx: Ctx) -> Result<String> {
    log!(ctx, "begins");
    Ok(match ctx.ask::<Confirmation>("clear", "All 12 notes will be deleted.").await? {
        Asked::Accepted(it) if it.sure => "deleted",
        Asked::Accepted(_) => "kept",
        Asked::Declined => "declined",
        Asked::Cancelled => "cancelled",
    }
    .to_owned())
}

fn toolkit() -> Toolkit {
    bare().scope(Scope::Ask).tool(Tool::new("clear", clear).description("Deletes all notes."))
}

#[test]
fn a_handler_runs_again_with_the_answer() {
    let sure = |sure: bool| dispatch(&toolkit(), Call::new("clear").answer("clear", json!({ "sure": sure })));
    assert_eq!(sure(true).text(), "deleted");
    assert_eq!(sure(false).text(), "kept");
    assert_eq!(dispatch(&toolkit(), Call::new("clear").decline("clear")).text(), "declined");

    let cancelled = dispatch(&toolkit(), Call::new("clear").cancel("clear"));

    assert_eq!(cancelled.text(), "cancelled");
    assert_eq!(cancelled.log().len(), 2, "it began twice");
    assert_eq!(cancelled.questions().len(), 1);
    assert_eq!(cancelled.questions()[0].message, "All 12 notes will be deleted.");
}

#[test]
fn a_user_who_cannot_be_asked_is_an_error_that_the_model_reads() {
    let outcome = dispatch(&toolkit(), Call::new("clear"));

    assert_eq!(outcome.failure().code, ErrorCode::ToolError);
    assert!(outcome.failure().error.contains("cannot be asked here"), "{:?}", outcome.failure());
}

#[test]
fn a_toolkit_without_the_scope_asks_nobody() {
    let toolkit = bare().tool(Tool::new("clear", clear).description("Deletes all notes."));

    let outcome = dispatch(&toolkit, Call::new("clear").answer("clear", json!({ "sure": true })));

    assert!(outcome.detail().is_some_and(|it| it.contains("svc:ask")), "{:?}", outcome.detail());
}

#[test]
fn a_question_that_changes_is_another_question() {
    let runs = Rc::new(Cell::new(0));
    let counted = runs.clone();
    let toolkit = bare().scope(Scope::Ask).tool(
        Tool::new("ask", move |_: NoArgs, ctx: Ctx| {
            let runs = counted.clone();
            async move {
                runs.update(|it| it + 1);
                ctx.ask::<Confirmation>("clear", format!("{} notes will be deleted.", runs.get())).await?;
                Ok::<_, Failure>("done")
            }
        })
        .description("Asks."),
    );

    let outcome = dispatch(&toolkit, Call::new("ask").answer("clear", json!({ "sure": true })));

    assert!(outcome.detail().is_some_and(|it| it.contains("5 questions")), "{:?}", outcome.detail());
    assert_eq!((runs.get(), outcome.questions().len()), (6, 5));
}

#[test]
#[should_panic(expected = "no answer to the question \"clear\"")]
fn a_test_answers_what_is_asked() {
    dispatch(&toolkit(), Call::new("clear").answer("other", json!({})));
}

#[test]
#[should_panic(expected = "/sure")]
fn an_answer_of_a_test_fits_the_question() {
    dispatch(&toolkit(), Call::new("clear").answer("clear", json!({ "sure": "yes" })));
}
