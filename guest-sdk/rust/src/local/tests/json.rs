//! Tests of `fetch_json`: one for each row of its error table.

use super::bare;
use crate::prelude::*;

#[derive(Deserialize)]
struct Book {
    title: String,
}

async fn find(_: NoArgs, ctx: Ctx) -> Result<String> {
    let book: Book = ctx.fetch_json("https://books.example/1?key=canary").await?;
    Ok(book.title)
}

async fn find_mapped(_: NoArgs, ctx: Ctx) -> Result<String> {
    let book: Book = ctx
        .fetch_json_with("https://books.example/1", |head, body| {
            (head.status == 404).then(|| ToolError::new(format!("No such book: {body}")).retryable())
        })
        .await?;
    Ok(book.title)
}

async fn find_by_hand(_: NoArgs, ctx: Ctx) -> Result<String> {
    let book: Book = ctx.fetch("https://books.example/1").await?.json().await?;
    Ok(book.title)
}

fn call<A: Into<Answer>>(tool: &str, upstream: impl Fn() -> A + 'static) -> Outcome {
    let toolkit = bare()
        .egress("books.example")
        .tool(Tool::new("find", find).description("d"))
        .tool(Tool::new("find_mapped", find_mapped).description("d"))
        .tool(Tool::new("find_by_hand", find_by_hand).description("d"));
    dispatch(&toolkit, Call::new(tool).fetch(move |_| upstream()))
}

#[test]
fn a_json_body_is_returned_as_its_type() {
    for tool in ["find", "find_mapped", "find_by_hand"] {
        assert_eq!(call(tool, || json!({ "title": "Moby Dick", "pages": 635 })).text(), "Moby Dick");
    }
}

#[test]
fn a_status_decides_whether_trying_again_may_help() {
    for (status, retryable) in
        [(400, false), (401, false), (404, false), (429, true), (500, true), (503, true)]
    {
        let outcome = call("find", move || Response::new(status, "{}"));

        assert_eq!(outcome.failure().retryable, retryable, "{status}");
        assert!(outcome.failure().error.contains(&status.to_string()), "{}", outcome.failure().error);
        assert!(outcome.failure().error.starts_with("books.example "), "{}", outcome.failure().error);
    }
}

#[test]
fn no_answer_and_malformed_json_are_worth_trying_again() {
    let lost = call("find", || FetchError::Network("connection reset".into()));
    let page = call("find", || Response::new(200, "<html>"));
    let by_hand = call("find_by_hand", || Response::new(200, "<html>"));

    for outcome in [lost, page, by_hand] {
        assert_eq!(outcome.failure().code, ErrorCode::ToolError);
        assert!(outcome.failure().retryable, "{outcome:?}");
    }
}

#[test]
fn an_empty_body_is_null_and_what_may_have_been_done_is_not_asked_for_again() {
    async fn remove(_: NoArgs, ctx: Ctx) -> Result<String> {
        let removed: Option<Book> = ctx.fetch_json(Request::delete("https://books.example/1")).await?;
        Ok(format!("{}", removed.is_none()))
    }
    let removed = |upstream: Response| {
        let upstream = std::cell::RefCell::new(Some(upstream));
        let toolkit = bare().egress("books.example").tool(Tool::new("remove", remove).description("d"));
        let fetch = move |_: &Request| upstream.borrow_mut().take().expect("one request is sent");
        dispatch(&toolkit, Call::new("remove").fetch(fetch))
    };

    assert_eq!(removed(Response::new(204, "")).text(), "true");
    assert!(!removed(Response::new(200, "<html>")).failure().retryable);
    let empty = call("find", || Response::new(200, " "));
    assert_eq!(empty.failure().error, "books.example answered with HTTP status 200 and an empty body");
    assert!(!empty.failure().retryable);
}

#[test]
fn json_of_another_shape_is_named_by_its_path_and_not_worth_trying_again() {
    for tool in ["find", "find_by_hand"] {
        let outcome = call(tool, || json!({ "title": { "en": "Moby Dick" } }));

        assert!(
            outcome.failure().error.contains(" unexpected JSON at /title: "),
            "{}",
            outcome.failure().error
        );
        assert!(!outcome.failure().retryable);
    }
}

#[test]
fn the_apis_own_errors_come_first_and_the_table_after() {
    let mapped = call("find_mapped", || Response::new(404, "1"));
    let other = call("find_mapped", || Response::new(403, "1"));

    assert_eq!(mapped.failure().error, "No such book: 1");
    assert!(mapped.failure().retryable);
    assert!(other.failure().error.contains("403"));
}

#[test]
fn no_error_shows_the_query_of_the_request() {
    for outcome in [
        call("find", || Response::new(403, "{}")),
        call("find", || Response::new(200, "<html>")),
        call("find", || FetchError::Network("connection reset".into())),
    ] {
        assert!(!format!("{} {:?}", outcome.to_json(), outcome).contains("canary"));
    }
}
