//! What the host of a test does as a server does it.

use std::time::Duration;

use super::{Text, bare, nothing};
use crate::prelude::*;

const API: &str = "https://api.example/";
const SECRET: &str = "s3cr3t-value";

async fn read(args: Text, ctx: Ctx) -> Result<String> {
    Ok(ctx.fetch(args.text).await?.text().await?)
}

fn call_read(toolkit: Toolkit, upstream: impl Fn(&Request) -> Answer + 'static) -> Outcome {
    let toolkit = ["api.example", "other.example", "auth.example"].into_iter().fold(toolkit, Toolkit::egress);
    let toolkit = toolkit.tool(Tool::new("read", read).description("d"));
    dispatch(&toolkit, Call::new("read").args(json!({ "text": API })).fetch(upstream))
}

fn redirect(location: &str) -> Answer {
    Response::new(302, "").with_header("location", location).into()
}

#[test]
fn redirects_are_followed_within_the_allowlist() {
    let leads_to = |location: &'static str| {
        call_read(bare(), move |request| {
            if request.url() == API { redirect(location) } else { Response::new(200, request.url()).into() }
        })
    };

    let listed = leads_to("https://other.example/x#top");
    assert_eq!((listed.text(), listed.requests().len()), ("https://other.example/x", 2));
    for location in ["https://evil.example/", "http://other.example/", "https://user:p@other.example/"] {
        let refused = leads_to(location);
        assert!(!refused.is_ok() && refused.requests().len() == 1, "{location}");
    }
    let endless = call_read(bare(), |_| redirect("/again"));
    assert_eq!((endless.is_ok(), endless.requests().len()), (false, 21));
}

#[test]
fn a_request_without_a_user_agent_gets_one() {
    let outcome = call_read(bare(), |_| Response::new(200, "").into());

    let agent = outcome.requests()[0].headers().get("user-agent").expect("a header");
    assert!(agent.to_str().expect("a text").contains("Kitbag/"), "{agent:?}");
}

#[test]
fn secrets_leave_neither_in_a_result_nor_in_the_log() {
    let tool = Tool::new("leak", async |_: NoArgs, ctx: Ctx| -> Result<ToolResult> {
        let key = ctx.require_secret("KEY").await?;
        log!(ctx, "key", key, base64(&key));
        if ctx.user_id() == "fails" {
            return Err(ToolError::new(format!("no {key}")).data(&key).into());
        }
        let text = format!("it is {key} or {}", base64(&key));
        Ok(ToolResult { structured: Some(json!({ "key": key })), ..ToolResult::new(text) })
    });
    let toolkit = bare().secret("KEY").tool(tool.description("d"));

    let returned = dispatch(&toolkit, Call::new("leak").secret("KEY", SECRET));
    let failed = dispatch(&toolkit, Call::new("leak").secret("KEY", SECRET).user("fails"));

    assert_eq!(returned.text(), "it is [redacted] or [redacted]");
    assert_eq!(*returned.structured(), json!({ "key": "[redacted]" }));
    assert_eq!(returned.log(), [vec![json!("key"), json!("[redacted]"), json!("[redacted]")]]);
    assert_eq!(failed.failure().error, "no [redacted]");
    assert_eq!(failed.detail(), Some("\"[redacted]\""));
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(text)
}

fn granting(answers: impl Fn(usize) -> Response + 'static) -> Outcome {
    let auth = ClientCredentials {
        token_url: "https://auth.example/token",
        client_id_secret: "ID",
        client_secret_secret: "SECRET",
        scope: None,
        api_host: "api.example",
    };
    let toolkit = ["api.example", "auth.example"]
        .into_iter()
        .fold(bare().secret("ID").secret("SECRET").auth(auth), Toolkit::egress)
        .tool(
            Tool::new("ask", async |_: NoArgs, ctx: Ctx| -> Result<String> {
                let status = ctx.fetch(API).await?.status();
                if status.is_success() { Ok("done".into()) } else { Err(ToolError::new("refused").into()) }
            })
            .description("d"),
        );
    let asked = std::cell::Cell::new(0);
    let call = Call::new("ask").secret("ID", "the-id").secret("SECRET", "the-secret");
    dispatch(
        &toolkit,
        call.fetch(move |request| {
            if request.url() == API {
                return Response::new(401, "");
            }
            asked.set(asked.get() + 1);
            answers(asked.get())
        }),
    )
}

#[test]
fn a_token_that_cannot_be_renewed_is_the_reply() {
    let renewed = granting(|count| match count {
        1 => json!({ "access_token": "t-1" }).into(),
        _ => Response::new(400, r#"{"error":"invalid_client"}"#),
    });
    assert!(renewed.failure().error.contains("HTTP status 400 (invalid_client)"), "{renewed:?}");

    let in_success = granting(|_| Response::new(200, r#"{"error":"invalid_grant"}"#));
    assert!(in_success.failure().error.contains("HTTP status 200 (invalid_grant)"), "{in_success:?}");
}

#[test]
fn a_resource_has_its_declared_media_type() {
    let resource = |own: Option<&'static str>| {
        Resource::new("book", "book", move |_: NoArgs, _: Ctx| async move {
            let contents = ResourceContents::text("# a");
            own.map_or(contents.clone(), |kind| contents.media_type(kind))
        })
        .description("d")
        .media_type("text/markdown")
    };
    let kind = |own| {
        let toolkit = bare().resource(resource(own)).tool(Tool::new("t", nothing).description("d"));
        dispatch(&toolkit, Call::resource("book")).contents().media_type.clone()
    };

    assert_eq!(kind(None).as_deref(), Some("text/markdown"));
    assert_eq!(kind(Some("text/plain")).as_deref(), Some("text/plain"));
}

#[test]
fn a_run_that_has_ended_at_a_question_asks_no_other() {
    let tool = Tool::new("both", async |_: NoArgs, ctx: Ctx| -> Result<String> {
        log!(ctx, "begins");
        let schema = json!({ "type": "object", "properties": {} });
        let both = ["a", "b"].map(|key| ctx.ask_with(key, "Sure?", &schema));
        let all = crate::future::join_all(both).await;
        Ok(all.into_iter().filter(|it| matches!(it, Ok(Asked::Accepted(_)))).count().to_string())
    });
    let toolkit = bare().scope(Scope::Ask).tool(tool.description("d"));

    let outcome = dispatch(&toolkit, Call::new("both").answer("a", json!({})).answer("b", json!({})));

    assert_eq!((outcome.text(), outcome.questions().len(), outcome.log().len()), ("2", 2, 3));
}

#[test]
fn ingested_documents_are_found_and_have_no_secrets() {
    let ingest = |url: &'static str| {
        let tool = Tool::new("save", move |_: NoArgs, ctx: Ctx| async move {
            let svc = ctx.svc().context("a scope is declared")?;
            let text = format!("a whale, {}", ctx.require_secret("KEY").await?);
            let document = |title: &str| IngestDocument {
                title: title.into(),
                text: Some(text.clone()),
                url: Some(url.into()),
                ..IngestDocument::default()
            };
            svc.ingest(vec![document("first")]).await?;
            svc.ingest(vec![document("second")]).await?;
            let found = svc.search("whale", SearchOptions::default()).await?;
            Ok::<String, Failure>(
                found.into_iter().map(|it| it.document.title + ": " + &it.snippet).collect(),
            )
        });
        let toolkit =
            bare().secret("KEY").scope(Scope::Ingest).scope(Scope::Search).tool(tool.description("d"));
        dispatch(&toolkit, Call::new("save").secret("KEY", SECRET))
    };

    assert_eq!(ingest("https://a.example/").text(), "second: a whale, [redacted]");
    let refused = ingest("https://a.example/s3cr3t-value");
    assert!(refused.failure().error.contains("documents[0].url: holds a secret"), "{refused:?}");
}

#[test]
fn a_cached_value_ends_with_its_lifetime() {
    let swap = Tool::new("swap", async |_: NoArgs, ctx: Ctx| -> Result<String> {
        let before = ctx.cache().get("k").await?;
        ctx.cache().set_for("k", "v", Duration::from_mins(1)).await?;
        Ok(before.unwrap_or_else(|| "gone".to_owned()))
    });
    let toolkit = bare().scope(Scope::Cache).tool(swap.description("d"));

    let first = dispatch(&toolkit, Call::new("swap"));
    let soon = dispatch(&toolkit, Call::new("swap").after(&first, Duration::from_secs(30)));
    let late = dispatch(&toolkit, Call::new("swap").after(&soon, Duration::from_mins(1)));

    assert_eq!([first.text(), soon.text(), late.text()], ["gone", "v", "gone"]);
    assert_eq!(late.cached("k"), Some("v"));
}
