//! Code mode, in which a client sends code that calls tools: `/mcp?mode=code`.

mod cost;

use std::time::Duration;

use http::Method;
use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::consent::command;
use crate::fetch::loopback_allowed;
use crate::harness::{Kitbag, Outcome, Revision, Upstream, User, Visitor, extractors, guests, within};

const CODE_MODE: &str = "/mcp?mode=code";

pub(crate) fn with_code(settings: &mut Settings) {
    loopback_allowed(settings);
    settings.extractors = extractors::folder();
    settings.operators = "olga".parse().expect("a list");
}

/// Starts a server with `text`, `hints` and `needy`. The user `ana` has a client in code mode.
async fn start() -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(with_code).await;
    for guest in [guests::TEXT, guests::HINTS, guests::NEEDS_SECRET] {
        kitbag.deploy(guest).await;
    }
    let ana = kitbag.as_user("ana").at(CODE_MODE);
    (kitbag, ana)
}

impl User {
    async fn run_code(&self, code: &str) -> Outcome {
        self.call("run_code", json!({ "code": code })).await
    }

    /// Runs code, and returns its result as JSON.
    async fn value_of_code(&self, code: &str) -> Value {
        let outcome = self.run_code(code).await;
        serde_json::from_str(outcome.text()).unwrap_or_else(|_| panic!("{}", outcome.text()))
    }
}

#[tokio::test]
async fn tools_are_found_described_and_called_by_code() {
    let (kitbag, _) = start().await;
    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").at(CODE_MODE).speaking(revision).await;
        let listed = ana.all_tools().await;
        let names: Vec<_> = listed.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["find_tools", "describe_tools", "run_code", "call_tool"], "{revision:?}");

        let found = ana.find_tools(json!({ "query": "how many words does a text have?" })).await;
        assert_eq!((&found[0]["name"], found[0].get("inputSchema")), (&json!("text__count"), None));
        let described = ana.call("describe_tools", json!({ "names": ["text__count", "text__gone"] })).await;
        let described = described.text();
        assert!(
            described.contains("tools.text.count(args: { ") && described.contains("words: number"),
            "{described}"
        );
        assert!(described.ends_with("// There is no tool \"text__gone\"."), "{described}");

        let counted = ana
            .value_of_code(
                "const texts = ['one two', 'three'];\n\
                 const counts = await Promise.all(texts.map((text) => tools.text.count({ text })));\n\
                 return counts.reduce((sum, { words }) => sum + words, 0);",
            )
            .await;
        assert_eq!(counted, 3, "{revision:?}");
        assert_eq!(ana.run_code("return await tools.hints.plain()").await.text(), "plain");
        assert_eq!(
            ana.run_code("return Object.keys(await tools.knowledge.search({ query: 'a' }))").await.text(),
            r#"["results"]"#
        );
    }
}

#[tokio::test]
async fn each_call_of_code_is_recorded_with_its_run() {
    let (_kitbag, ana) = start().await;
    ana.run_code("await tools.text.count({ text: 'a' }); return await tools.text.count({ text: 'b' })")
        .await
        .text();

    let counted = ana.logs("text").await;
    let run = &ana.logged_run().await;
    assert!(run["run"].is_string(), "{run}");
    assert_eq!(counted.len(), 2);
    assert!(counted.iter().all(|record| record["run"] == run["run"]), "{counted:?}");
}

impl User {
    async fn logged_run(&self) -> Value {
        let own = self.logs("knowledge").await;
        own.into_iter().rfind(|record| record["tool"] == "run_code").expect("it is recorded")
    }
}

#[tokio::test]
async fn code_calls_what_its_user_may_call_and_nothing_else() {
    let (kitbag, ana) = start().await;
    let operator = kitbag.as_operator();
    let code = |tool: &str| {
        format!(
            "try {{ return await tools.{tool} }} catch (error) {{ return error.code + ': ' + error.message }}"
        )
    };

    let refused = ana.run_code(&code("hints.mutating()")).await;
    assert!(
        refused.text().starts_with("NOT_IN_CODE: hints__mutating may change something"),
        "{}",
        refused.text()
    );
    assert_eq!(
        ana.call("call_tool", json!({ "name": "hints__mutating", "arguments": {} })).await.text(),
        "mutating"
    );
    assert_eq!(
        ana.run_code(&code("hints.explicit()")).await.text(),
        "explicit",
        "its author says that it reads"
    );
    for tool in
        ["hints.gone()", "knowledge.run_code({ code: '1' })", "run_code.run_code({})", "code.run_code({})"]
    {
        assert!(ana.run_code(&code(tool)).await.text().starts_with("UNKNOWN_TOOL: "), "{tool}");
    }
    assert!(ana.run_code(&code("text.count([1])")).await.text().starts_with("INVALID_PARAMS: "));
    assert!(ana.run_code(&code("text.count({})")).await.text().starts_with("INVALID_PARAMS: "));
    let missing = ana.run_code(&code("needy.need()")).await;
    assert!(
        missing.text().starts_with("TOOL_ERROR: ") && missing.text().contains("kitbag secret set"),
        "{}",
        missing.text()
    );

    // Tools that are not selected, are hidden, or are for other users do not exist in code.
    let chooses = kitbag.as_user("ana").at("/mcp?mode=code&toolkits=text");
    assert!(chooses.run_code(&code("hints.plain()")).await.text().starts_with("UNKNOWN_TOOL: "));
    ana.post("/toolkits/hints/hide", &json!({ "tools": ["plain"] })).await.assert_status(204);
    assert!(ana.run_code(&code("hints.plain()")).await.text().starts_with("UNKNOWN_TOOL: "));
    ana.post("/toolkits/hints/show-again", &json!({ "tools": ["plain"] })).await.assert_status(204);
    let grants = json!({ "grants": [{ "user": "ben" }, { "user": "ana", "tool": "plain", "perDay": 1 }] });
    operator.post("/toolkits/hints/audience", &grants).await.assert_status(200);
    assert!(ana.run_code(&code("hints.explicit()")).await.text().starts_with("UNKNOWN_TOOL: "));
    assert_eq!(ana.run_code(&code("hints.plain()")).await.text(), "plain");
    assert!(ana.run_code(&code("hints.plain()")).await.text().contains("The limit of 1 call a day"));
    let described = ana.call("describe_tools", json!({ "names": ["hints__explicit"] })).await;
    assert_eq!(described.text(), "// There is no tool \"hints__explicit\".");
}

#[tokio::test]
async fn what_may_change_something_is_called_by_code_once_its_user_allows_it() {
    let (kitbag, ana) = start().await;
    let code = "return await tools.hints.mutating()";
    ana.run_code(code).await.assert_tool_error("kitbag toolkit allow-in-code hints mutating");

    let route = "/toolkits/hints/code-tools/mutating";
    let key = ana.post("/keys", &json!({ "name": "a script" })).await.assert_status(201).json();
    let program = kitbag.with_token(key["key"].as_str().expect("a key"));
    program.post(route, &json!(null)).await.assert_status(403);
    ana.post("/toolkits/hints/code-tools/gone", &json!(null)).await.assert_status(404);
    ana.run_code(code).await.assert_tool_error("has not allowed it in code");
    let said = command(&kitbag, &ana, &["toolkit", "allow-in-code", "hints", "mutating"]).await.succeeded();
    assert!(said.contains("code may call of hints: mutating"), "{said}");
    assert_eq!(ana.run_code(code).await.text(), "mutating");
    let others = "try { return await tools.hints.mutating() } catch (error) { return error.code }";
    assert_eq!(kitbag.as_user("ben").at(CODE_MODE).run_code(others).await.text(), "NOT_IN_CODE");
    assert_eq!(ana.get("/toolkits/hints/code-tools").await.json(), json!(["mutating"]));

    ana.delete(route).await.assert_status(204);
    ana.run_code(code).await.assert_tool_error("has not allowed it in code");
    // The page allows it too, until the toolkit has another owner.
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let page = visitor.get("/ui/toolkits/hints").await.assert_status(200);
    page.assert_says("aria-label=\"Allow in code: mutating\"");
    let fields = [("allow", "mutating")];
    let done = visitor.post("/ui/toolkits/hints/code-tools", &fields).await.assert_status(303);
    assert_eq!(done.header("location"), Some("/ui/toolkits/hints?done=allowed-in-code"));
    assert_eq!(ana.run_code(code).await.text(), "mutating");
    kitbag.as_user("olga").post("/toolkits/hints/take-over", &json!({})).await.assert_status(200);
    ana.run_code(code).await.assert_tool_error("has not allowed it in code");
}

#[tokio::test]
async fn code_has_no_network_and_no_secret() {
    let upstream = Upstream::start().await;
    let (_kitbag, ana) = start().await;
    ana.set_secret("needy", "API_KEY", "canary-of-ana").await;

    for code in [
        format!("return await fetch('{}').then((it) => it.status)", upstream.url("/")),
        "return await fetch('http://tools.kitbag.invalid.example/probe/nothing', { method: 'POST', body: '{}' })".to_owned(),
    ] {
        ana.run_code(&code).await.assert_tool_error("code has no network: it calls tools");
    }
    assert!(upstream.requests().is_empty());
    let used = ana.run_code("return await tools.needy.need()").await;
    assert!(
        !used.raw().contains("canary-of-ana") && !used.raw().contains("\"isError\":true"),
        "{}",
        used.raw()
    );
    let names = "return [typeof process, typeof require, typeof ctx, typeof Deno, Object.keys(tools).length]";
    assert_eq!(ana.run_code(names).await.text(), r#"["undefined","undefined","undefined","undefined",0]"#);
}

#[tokio::test]
async fn a_run_makes_so_many_calls_and_waits_for_places_of_its_user() {
    let kitbag = Kitbag::start_with(|settings| {
        with_code(settings);
        settings.bounds.concurrent_calls_per_user = 1;
    })
    .await;
    kitbag.deploy(guests::HINTS).await;
    kitbag.deploy(guests::HOSTILE).await;
    let (ana, in_mode) = (kitbag.as_user("ana"), kitbag.as_user("ana").at(CODE_MODE));
    let counting = "let made = 0, last = '';\n\
        const all = Array.from({ length: 60 }, () => tools.hints.plain().then(() => { made += 1 }, (error) => { last = error.code }));\n\
        await Promise.all(all); return [made, last]";
    // Code makes up to eight calls at a time, which wait for the user's only slot, and 50 calls in all.
    assert_eq!(in_mode.value_of_code(counting).await, json!([50, "TOO_MANY_CALLS"]));

    // A run waits while another call takes the user's only slot.
    let occupying = ana.occupy("hostile__sleep_poll", json!({}), "hints__plain").await;
    let run = in_mode.start_call("run_code", json!({ "code": "return await tools.hints.plain()" }));
    sleep(Duration::from_millis(300)).await;
    assert!(!run.is_finished());
    occupying.abort();
    assert_eq!(run.await.expect("it ran").text(), "plain");
}

#[tokio::test]
async fn code_that_does_not_end_is_ended_and_nobody_waits_for_it() {
    let kitbag = Kitbag::start_with(|settings| {
        with_code(settings);
        settings.call_time = "2s".parse().expect("a time");
    })
    .await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana").at(CODE_MODE);
    let ben = kitbag.as_user("ben").at(CODE_MODE);
    ben.run_code("return 1").await.text();

    for (code, ending) in [
        ("for (;;) {}", "deadline"),
        ("for (;;) await null", "deadline"),
        ("for (;;) { try { await tools.hints.plain() } catch {} }", "deadline"),
        ("return await new Promise(() => {})", "failed"),
        ("const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))", "tool-error"),
        ("return { get a() { for (;;) {} } }", "deadline"),
    ] {
        let run = ana.start_call("run_code", json!({ "code": code }));
        assert_eq!(ben.run_code("return 2").await.text(), "2", "{code}");
        let outcome = within("the end of the code", run).await.expect("it ends");
        assert!(outcome.raw().contains("\"isError\":true"), "{code}: {}", outcome.raw());
        assert_eq!(ana.logged_run().await["outcome"], ending, "{code}");
    }
    assert_eq!(ana.run_code("return 3").await.text(), "3");
}

#[tokio::test]
async fn calls_end_with_the_run_that_made_them() {
    let (kitbag, ana) = start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let outcomes = async || {
        let records = ana.logs("hostile").await;
        records
            .iter()
            .map(|record| record["outcome"].as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };

    // The code does not await the call. Repeated, because on a busy machine it may not have started in time.
    let code = "tools.hostile.sleep_poll(); await new Promise((resolve) => setTimeout(resolve, 500)); return 'returned'";
    let left_alone = async {
        while outcomes().await.is_empty() {
            assert_eq!(ana.run_code(code).await.text(), "returned");
        }
    };
    within("a call that nobody waits for", left_alone).await;
    // The client disconnects during the call.
    let abandoned = async {
        while outcomes().await.len() < 2 {
            let run = ana.start_call("run_code", json!({ "code": "await tools.hostile.sleep_poll()" }));
            sleep(Duration::from_millis(500)).await;
            run.abort();
            sleep(Duration::from_millis(500)).await;
        }
    };
    within("a call whose client is gone", abandoned).await;
    let all = outcomes().await;
    assert!(all.iter().all(|outcome| outcome == "cancelled"), "{all:?}");
    assert_eq!(ana.run_code("return 1").await.text(), "1");
}

#[tokio::test]
async fn what_code_sends_and_answers_is_bounded() {
    let (_kitbag, ana) = start().await;

    let long = "try { await tools.text.count({ text: 'x'.repeat(300_000) }) } catch (error) { return error.message }";
    assert_eq!(ana.run_code(long).await.text(), "the arguments are too long");
    let many = "const all = await Promise.all(Array.from({ length: 10_000 }, () => tools.hints.plain().catch((error) => error.code)));\n\
                return [all.filter((it) => it === 'plain').length, all.filter((it) => it === 'TOO_MANY_CALLS').length]";
    assert_eq!(ana.value_of_code(many).await, json!([50, 9_950]));
    let thrown = ana.run_code("throw new Error('x'.repeat(900_000))").await;
    assert!(thrown.raw().len() < 6_000, "{}", thrown.raw().len());
    let forged = "JSON.stringify = () => ({ length: 0, toString: () => 'x'.repeat(900_000) }); return {}";
    assert!(ana.run_code(forged).await.raw().len() < 300_000);
}

#[tokio::test]
async fn calls_of_code_count_towards_the_rate_of_their_user() {
    let kitbag = Kitbag::start_with(|settings| {
        with_code(settings);
        settings.mcp_requests_per_minute = 60.try_into().expect("not zero");
    })
    .await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana").at(CODE_MODE);
    let code = "let made = 0; try { for (let n = 0; n < 40; n += 1) { await tools.hints.plain(); made += 1 } return made } catch (error) { return error.code + error.retryable }";

    assert_eq!(ana.run_code(code).await.text(), "40");
    assert_eq!(ana.run_code(code).await.text(), "TOO_MANY_REQUESTStrue");
}

#[tokio::test]
async fn what_code_does_to_its_world_stays_there() {
    let (_kitbag, ana) = start().await;

    for (code, text) in [
        ("Object.prototype.polluted = 1; globalThis.fetch = null; return 1", "1"),
        ("return typeof {}.polluted + typeof fetch", "undefinedfunction"),
        (
            "const all = Array.from({ length: 10_000 }, async (_, n) => n); return (await Promise.all(all)).length",
            "10000",
        ),
        ("return { toJSON() { return 'told' } }", "\"told\""),
        ("return await tools", "{}"),
        // Results of tools are data, not code.
        ("return (await tools.text.count({ text: 'throw new Error(1)' })).words", "4"),
        ("return '</script>__proto__'", "</script>__proto__"),
    ] {
        assert_eq!(ana.run_code(code).await.text(), text, "{code}");
    }
    for (code, error) in [
        ("return 1 +", "SyntaxError"),
        ("}); return 1; ({", "SyntaxError"),
        ("const a = 1;\nreturn a.b.c", "TypeError: cannot read property 'c' of undefined (line 2)"),
        (
            "\n\nawait tools.text.gone({})",
            "there is no tool text__gone; find_tools finds those that there are (line 3)",
        ),
        ("return { get a() { throw new Error('got') } }", "Error: got"),
        ("return 'x'.repeat(1e6)", "at most 60000 are passed on"),
        ("return 1n", "TypeError"),
        ("tools.text = 1", "TypeError"),
    ] {
        ana.run_code(code).await.assert_tool_error(error);
    }
    ana.run_code("Array.prototype.map = null; return 1").await.assert_tool_error("The tool failed");
    let printed = ana.run_code("console.log('a', { b: 1 }); return 2").await;
    assert_eq!(printed.text(), "2\n\nPrinted:\na {\"b\":1}\n");
    let too_long = ana.call("run_code", json!({ "code": "x".repeat(100_001) })).await;
    assert!(too_long.raw().contains("INVALID_PARAMS"), "{}", too_long.raw());
}

#[tokio::test]
async fn a_server_without_the_component_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let kitbag = Kitbag::start_with(|settings| settings.extractors = folder.path().to_owned()).await;

    kitbag.deploy(guests::HINTS).await;

    let listed = kitbag.as_user("ana").at(CODE_MODE).all_tools().await;
    let refused = kitbag.as_user("ana").at(CODE_MODE).run_code("return 1").await;

    let has = |name: &str| listed.iter().any(|tool| tool["name"] == name);
    assert!(has("find_tools") && has("call_tool") && !has("run_code"), "{listed:?}");
    assert!(kitbag.log().text().contains("code.wasm is not among the extractors"));
    refused.assert_tool_error("its operator has not installed code.wasm");
    let (path, json) = ("/mcp?mode=codes", "application/json");
    let unknown = kitbag.as_user("ana").send(Method::POST, path, json, "{}").await.assert_status(400);
    assert!(unknown.text().contains("mode=code"), "{}", unknown.text());
}
