//! Each grant, paired with its denial.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::{Text, bare, nothing};
use crate::future::join_all;
use crate::prelude::*;

async fn read(args: Text, ctx: Ctx) -> Result<String> {
    let response = ctx.fetch(args.text).await?;
    Ok(format!("{} {}", response.status().as_u16(), response.text().await?))
}

fn call_read(toolkit: Toolkit, url: &str) -> Outcome {
    let call = Call::new("read").args(json!({ "text": url })).fetch(|_| Response::new(418, "tea"));
    dispatch(&toolkit.tool(Tool::new("read", read).description("d")), call)
}

#[test]
fn a_listed_host_is_reached() {
    let outcome = call_read(bare().egress("a.example").egress("b.example:8443"), "https://b.example:8443/x");

    assert_eq!(outcome.text(), "418 tea");
    assert_eq!(outcome.requests()[0].url(), "https://b.example:8443/x");
}

#[test]
fn a_host_that_is_not_listed_is_a_network_error_that_names_the_entry_to_add() {
    for (url, entry) in
        [("https://evil.example/x", "evil.example"), ("https://a.example:8443/x", "a.example:8443")]
    {
        let expected =
            format!("network error: {entry} is not listed in egress: add {entry:?} to the toolkit's egress");
        let outcome = call_read(bare().egress("a.example"), url);

        assert_eq!(outcome.detail(), Some(expected.as_str()));
        assert!(outcome.requests().is_empty());
    }
    assert!(!call_read(bare(), "https://a.example/").is_ok());
}

#[test]
fn several_requests_are_in_flight_at_once() {
    let toolkit = bare().egress("a.example").tool(
        Tool::new("all", async |_: NoArgs, ctx: Ctx| {
            let all = join_all(
                (0..3).map(|page| ctx.fetch(Request::get("https://a.example/").query("page", page))),
            );
            Ok::<_, Failure>(all.await.into_iter().flatten().count().to_string())
        })
        .description("d"),
    );

    let outcome = dispatch(&toolkit, Call::new("all").fetch(|_| json!({})));

    assert_eq!(outcome.text(), "3");
    assert_eq!(outcome.most_in_flight(), 3);
}

#[test]
fn requests_that_are_awaited_one_by_one_are_alone_in_flight() {
    let toolkit = bare().egress("a.example").tool(
        Tool::new("each", async |_: NoArgs, ctx: Ctx| -> Result<&'static str> {
            ctx.fetch("https://a.example/1").await?;
            ctx.fetch("https://a.example/2").await?;
            Ok("done")
        })
        .description("d"),
    );

    assert_eq!(dispatch(&toolkit, Call::new("each").fetch(|_| json!({}))).most_in_flight(), 1);
}

async fn peek(args: Text, ctx: Ctx) -> Result<String> {
    Ok(ctx.secret(&args.text).await?.unwrap_or_else(|| "not set".to_owned()))
}

async fn need(args: Text, ctx: Ctx) -> Result<String> {
    ctx.require_secret(&args.text).await
}

fn call_with_secret(tool: &str, name: &str, call: impl FnOnce(Call) -> Call) -> Outcome {
    let toolkit = bare()
        .secret("API_KEY")
        .tool(Tool::new("peek", peek).description("d"))
        .tool(Tool::new("need", need).description("d"));
    dispatch(&toolkit, call(Call::new(tool).args(json!({ "text": name }))))
}

#[test]
fn a_declared_credential_is_read() {
    let set = |call: Call| call.secret("API_KEY", "k-1");

    assert_eq!(call_with_secret("peek", "API_KEY", set).text(), "k-1");
    assert_eq!(call_with_secret("need", "API_KEY", set).text(), "k-1");
}

#[test]
fn a_credential_without_a_value_is_nothing_or_an_error_that_says_how_to_set_it() {
    assert_eq!(call_with_secret("peek", "API_KEY", |call| call).text(), "not set");
    assert_eq!(
        call_with_secret("need", "API_KEY", |call| call).to_json(),
        json!({
            "ok": false,
            "code": "TOOL_ERROR",
            "error": "The credential API_KEY is not set. Set it with: kitbag secret set books API_KEY --from-stdin",
            "retryable": false,
        })
    );
}

#[test]
fn a_credential_that_is_not_declared_is_a_failure() {
    for tool in ["peek", "need"] {
        let outcome = call_with_secret(tool, "OTHER_KEY", |call| call.secret("API_KEY", "k-1"));

        assert_eq!(outcome.failure().error, "The tool failed.");
        assert!(outcome.detail().expect("a detail").contains(r#"add "OTHER_KEY" to the toolkit's secrets"#));
    }
}

#[test]
#[should_panic(expected = "secret OTHER_KEY: not declared")]
fn a_credential_that_nobody_could_set_is_a_mistake_of_the_test() {
    call_with_secret("peek", "API_KEY", |call| call.secret("OTHER_KEY", "x"));
}

/// Tries all three methods of the knowledge base in turn; the result has one line for each.
async fn study(_: NoArgs, ctx: Ctx) -> Result<String> {
    let Some(svc) = ctx.svc() else { return Ok("no knowledge base".to_owned()) };
    let found = match svc.search("whale", SearchOptions::default()).await {
        Ok(results) => results.into_iter().map(|result| result.document.title).collect(),
        Err(error) => error.to_string(),
    };
    let read = svc.get_document("d2").await.map_or_else(|error| error.to_string(), |document| document.text);
    let minutes =
        IngestDocument { title: "Minutes".into(), text: Some("…".into()), ..IngestDocument::default() };
    let stored =
        svc.ingest(vec![minutes]).await.map_or_else(|error| error.to_string(), |count| count.to_string());
    Ok([found, read, stored].join("\n"))
}

fn call_study(toolkit: Toolkit) -> Outcome {
    let document = |id: &str, title: &str, text: &str| Document {
        summary: DocumentSummary { id: id.into(), title: title.into(), ..DocumentSummary::default() },
        text: text.into(),
    };
    let call = Call::new("study").document(document("d1", "Walden", "A pond.")).document(document(
        "d2",
        "Moby Dick",
        "A white Whale.",
    ));
    dispatch(&toolkit.tool(Tool::new("study", study).description("d")), call)
}

#[test]
fn a_scope_grants_its_own_part_of_the_knowledge_base() {
    let refused = |scope: &str| {
        format!("The knowledge base refused the request: the toolkit does not declare the scope {scope}")
    };
    let search = call_study(bare().scope(Scope::Search));
    let ingest = call_study(bare().scope(Scope::Ingest));
    let both = call_study(bare().scope(Scope::Search).scope(Scope::Ingest));

    assert_eq!(search.text(), format!("Moby Dick\nA white Whale.\n{}", refused("svc:ingest")));
    assert!(search.ingested().is_empty());
    assert_eq!(ingest.text(), [refused("svc:search"), refused("svc:search"), "1".into()].join("\n"));
    assert_eq!(both.text(), "Moby Dick\nA white Whale.\n1");
    assert_eq!(both.ingested()[0].title, "Minutes");
}

/// Calls all methods of the cache with the given key and value; returns the earlier value.
async fn swap(args: SwapArgs, ctx: Ctx) -> Result<String> {
    let before = ctx.cache().get(&args.key).await?;
    match args.value {
        Some(value) => ctx.cache().set_for(&args.key, &value, Duration::from_secs(args.seconds)).await?,
        None => ctx.cache().delete(&args.key).await?,
    }
    Ok(before.unwrap_or_else(|| "nothing".to_owned()))
}

#[derive(Deserialize, JsonSchema)]
struct SwapArgs {
    key: String,
    value: Option<String>,
    seconds: u64,
}

fn call_swap(toolkit: Toolkit, arguments: Value, change: impl FnOnce(Call) -> Call) -> Outcome {
    let call = change(Call::new("swap").args(arguments));
    dispatch(&toolkit.tool(Tool::new("swap", swap).description("d")), call)
}

#[test]
fn a_scope_grants_the_cache_and_nothing_of_the_knowledge_base() {
    let value = |value: &str| json!({ "key": "etag", "value": value, "seconds": 60 });
    let cache = || bare().scope(Scope::Cache);

    let first = call_swap(cache(), value("one"), |call| call);
    assert_eq!((first.text(), first.cached("etag")), ("nothing", Some("one")));
    let second = call_swap(cache(), value("two"), |call| call.cached("etag", "one"));
    assert_eq!((second.text(), second.cached("etag")), ("one", Some("two")));
    let none = json!({ "key": "etag", "value": null, "seconds": 0 });
    let third = call_swap(cache(), none, |call| call.cached("etag", "two").cached("other", "kept"));
    assert_eq!((third.text(), third.cached("etag"), third.cached("other")), ("two", None, Some("kept")));

    assert_eq!(call_study(cache()).text(), "no knowledge base");
    let refused = call_swap(bare().scope(Scope::Search), value("one"), |call| call);
    assert!(refused.detail().expect("a failure").contains("does not declare the scope svc:cache"));
}

#[test]
fn what_breaks_a_rule_of_the_cache_is_the_authors_mistake() {
    let refusal = |key: &str, value: &str, seconds: u64| {
        let arguments = json!({ "key": key, "value": value, "seconds": seconds });
        let outcome = call_swap(bare().scope(Scope::Cache), arguments, |call| call);
        outcome.detail().expect("it is no error for the model").to_owned()
    };

    assert!(refusal("", "v", 1).contains("key: is empty"));
    assert!(refusal(&"k".repeat(257), "v", 1).contains("key: is 257 bytes long, and may be 256"));
    assert!(refusal("k", &"v".repeat((64 << 10) + 1), 1).contains("value: is 65537 bytes long"));
    assert!(refusal("k", "v", 0).contains("seconds: is 0"));
    assert!(refusal("k", "v", u64::MAX).contains("may be 1 to 2592000 (30 days)"));
}

#[test]
fn the_oldest_values_make_room() {
    let value = "v".repeat((64 << 10) - 2);
    let filled = |call: Call| (10..26).fold(call, |call, number| call.cached(&number.to_string(), &value));
    let again = json!({ "key": "10", "value": value, "seconds": 60 });

    let fits = call_swap(bare().scope(Scope::Cache), again, filled);
    assert!((10..26).all(|number| fits.cached(&number.to_string()).is_some()));

    let more = json!({ "key": "k", "value": "v", "seconds": 60 });
    let crowded = call_swap(bare().scope(Scope::Cache), more, |call| filled(call).cached("10", &value));
    assert!(
        crowded.cached("11").is_none() && crowded.cached("10").is_some() && crowded.cached("k").is_some()
    );
}

#[test]
fn without_a_scope_there_is_no_knowledge_base() {
    assert_eq!(call_study(bare()).text(), "no knowledge base");
}

#[test]
fn a_document_without_a_body_is_refused_and_nothing_is_stored() {
    let toolkit = bare().scope(Scope::Ingest).tool(
        Tool::new("save", async |_: NoArgs, ctx: Ctx| -> Result<String> {
            let good =
                IngestDocument { title: "A".into(), text: Some("a".into()), ..IngestDocument::default() };
            let bad = IngestDocument { title: "B".into(), ..IngestDocument::default() };
            let svc = ctx.svc().context("the scope is declared")?;
            Ok(svc.ingest(vec![good, bad]).await?.to_string())
        })
        .description("d"),
    );

    let outcome = dispatch(&toolkit, Call::new("save"));

    assert!(outcome.failure().error.contains("documents[1].text: is required"), "{outcome:?}");
    assert!(outcome.ingested().is_empty());
}

#[test]
fn settings_are_the_users_over_the_defaults() {
    #[derive(Deserialize, Serialize)]
    struct Settings {
        language: String,
        limit: Option<u8>,
    }

    let toolkit = bare()
        .config("language", Setting::string("Language").default("en"))
        .config("limit", Setting::number("Limit"))
        .tool(
            Tool::new("show", async |_: NoArgs, ctx: Ctx| -> Result<String> {
                let settings: Settings = ctx.config_as()?;
                let typed = serde_json::to_value(settings)?;
                Ok(format!("{} {} {typed}", ctx.user_id(), Value::Object(ctx.config().clone())))
            })
            .description("d"),
        );
    let defaults = dispatch(&toolkit, Call::new("show"));
    let chosen =
        dispatch(&toolkit, Call::new("show").user("ana").config("language", "de").config("limit", 3));

    assert_eq!(defaults.text(), r#"test-user {"language":"en"} {"language":"en","limit":null}"#);
    assert_eq!(chosen.text(), r#"ana {"language":"de","limit":3} {"language":"de","limit":3}"#);
}

#[test]
#[should_panic(expected = "config language: not declared")]
fn a_setting_that_nobody_could_make_is_a_mistake_of_the_test() {
    let toolkit = bare().tool(Tool::new("t", nothing).description("d"));
    dispatch(&toolkit, Call::new("t").config("language", "en"));
}

#[test]
fn the_log_holds_values_and_is_always_granted() {
    let toolkit = bare().tool(
        Tool::new("t", async |_: NoArgs, ctx: Ctx| {
            log!(ctx, "found", 3, json!({ "took": 0.5 }));
            ctx.log("done");
            "ok"
        })
        .description("d"),
    );

    let outcome = dispatch(&toolkit, Call::new("t"));

    assert_eq!(outcome.log(), [vec![json!("found"), json!(3), json!({ "took": 0.5 })], vec![json!("done")]]);
}

#[test]
fn an_upstream_may_count_and_fail() {
    let seen = Rc::new(Cell::new(0));
    let counter = Rc::clone(&seen);
    let call = Call::new("read").args(json!({ "text": "https://a.example/" })).fetch(move |_| {
        counter.set(counter.get() + 1);
        FetchError::Network("connection refused".into())
    });

    let outcome = dispatch(&bare().egress("a.example").tool(Tool::new("read", read).description("d")), call);

    assert_eq!(outcome.detail(), Some("network error: connection refused"));
    assert_eq!(seen.get(), 1);
}
