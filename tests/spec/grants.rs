//! Capabilities of a toolkit are those that it declares: a deploy refuses other imports, and a component with
//! other imports cannot be linked.

use kitbag::app;
use kitbag::settings::Settings;
use kitbag_manifest::ToolkitDefinition;
use kitbag_net::egress::{Egress, EgressSettings};
use kitbag_sandbox::capabilities::{Grants, Services};
use kitbag_sandbox::{Background, CompilerEngine, LoadError, Sandbox};
use serde_json::json;

use crate::harness::wat::versioned;
use crate::harness::{Kitbag, Wat, guests};

/// WAT text that imports a function with `words` parameters of type `i32` from an interface of the contract.
fn import(interface: &str, function: &str, name: &str, words: usize) -> String {
    let words = " i32".repeat(words);
    format!(r#"(import "{}" "{function}" (func ${name} (param{words})))"#, versioned(interface))
}

/// WAT text that imports the interface `search`.
pub(crate) fn search() -> String {
    import("search", "get-document", "search", 3)
}

/// WAT text that imports the interface `cache`.
pub(crate) fn cache() -> String {
    import("cache", "get", "cache", 3)
}

fn ingest() -> String {
    import("ingest", "ingest", "ingest", 3)
}

fn ask() -> String {
    import("ask", "ask", "ask", 7)
}

#[tokio::test]
async fn each_import_beyond_the_declaration_is_refused_by_name_with_what_to_declare() {
    let kitbag = Kitbag::start().await;
    let (search, ingest, ask, cache) = (search(), ingest(), ask(), cache());
    let both = [search.as_str(), &ingest].concat();

    for (imports, scopes, refused) in [
        (&search, &[][..], &[("search", "the scope svc:search")][..]),
        (&ingest, &[], &[("ingest", "the scope svc:ingest")]),
        (&both, &[], &[("ingest", "the scope svc:ingest"), ("search", "the scope svc:search")]),
        (&both, &["svc:search"], &[("ingest", "the scope svc:ingest")]),
        (&both, &["svc:ingest"], &[("search", "the scope svc:search")]),
        (&search, &["svc:ingest"], &[("search", "the scope svc:search")]),
        (&ingest, &["svc:search"], &[("ingest", "the scope svc:ingest")]),
        (&ask, &["svc:search", "svc:ingest"], &[("ask", "the scope svc:ask")]),
        (&search, &["svc:ask"], &[("search", "the scope svc:search")]),
        (&cache, &["svc:search", "svc:ingest"], &[("cache", "the scope svc:cache")]),
        (&both, &["svc:cache", "svc:ingest"], &[("search", "the scope svc:search")]),
    ] {
        let component = Wat { scopes, imports, ..Wat::default() }.component();

        let answer = kitbag.as_operator().deploy(component).await;

        let expected = refused.iter().map(|(interface, declaration)| {
            let path = format!("imports.kitbag:toolkit/{interface}");
            let remedy = format!("declare {declaration}, or build it for a world that does not import it");
            (path, format!("imported, but not granted: {remedy}"))
        });
        let problems = answer.assert_problem(422, "refused").problems();
        assert_eq!(problems, expected.collect::<Vec<_>>(), "{scopes:?}");
    }
    assert_eq!(kitbag.as_operator().get("/toolkits").await.json(), json!([]));
}

#[tokio::test]
async fn what_is_imported_and_declared_is_there_when_it_is_called() {
    let kitbag = Kitbag::start().await;
    let reads = "(call $search (i32.const 0) (i32.const 0) (i32.const 256))";
    let writes = "(call $ingest (i32.const 0) (i32.const 0) (i32.const 256))";

    // This client does not support forms, so the user is not asked.
    let zeros = "(i32.const 0) ".repeat(6);
    let asks = format!("(call $ask {zeros} (i32.const 256))");
    let cached = "(call $cache (i32.const 0) (i32.const 0) (i32.const 256))";

    for (imports, scope, call) in [
        (search(), "svc:search", reads),
        (ingest(), "svc:ingest", writes),
        (ask(), "svc:ask", &asks),
        (cache(), "svc:cache", cached),
    ] {
        let toolkit = Wat { scopes: &[scope], imports: &imports, call, ..Wat::default() };
        let operator = kitbag.as_operator();

        operator.deploy(toolkit.component()).await.assert_status(201);

        assert_eq!(operator.call("wat__run", json!({})).await.text(), "done", "{scope}");
        operator.delete("/toolkits/wat").await.assert_status(204);
    }
}

/// Links the component directly, without the checks of a deploy.
#[tokio::test]
async fn a_component_without_its_grants_cannot_be_linked() {
    let services = Services::new(Egress::new(EgressSettings::default()));
    let background = Background::start().expect("threads can be started");
    let sandbox = Sandbox::new(app::limits(&Settings::default()), services, background);
    let sandbox = sandbox.expect("the engine starts");
    let code = tempfile::NamedTempFile::new().expect("a scratch file");
    let compiler = CompilerEngine::for_toolkits().expect("the engine starts");
    let component = compiler.compile(&guests::PROBE.bytes()).expect("a component");
    let machine_code = component.machine_code().expect("it was compiled");
    std::fs::write(code.path(), machine_code).expect("a scratch file takes bytes");
    let declared =
        compiler.describe(&component, sandbox.describe_limits()).await.expect("it describes itself");
    let load = |definition: &ToolkitDefinition| sandbox.load(code.path(), &Grants::of(definition)).map(drop);
    load(&declared).expect("it is granted all that it imports");
    let without = |scope: &str| {
        let scopes = declared.scopes.iter().filter(|it| *it != scope).cloned().collect();
        ToolkitDefinition { scopes, ..declared.clone() }
    };

    for (interface, declared) in [
        ("wasi:http/outgoing-handler", ToolkitDefinition { egress: Vec::new(), ..declared.clone() }),
        ("kitbag:toolkit/secrets", ToolkitDefinition { secrets: Vec::new(), ..declared.clone() }),
        ("kitbag:toolkit/ask", without("svc:ask")),
        ("kitbag:toolkit/search", without("svc:search")),
        ("kitbag:toolkit/ingest", without("svc:ingest")),
        ("kitbag:toolkit/cache", without("svc:cache")),
    ] {
        let refused = load(&declared).expect_err(interface);

        assert!(matches!(&refused, LoadError::Link(_)), "{refused}");
        assert!(refused.to_string().contains(interface), "{refused}");
    }
}
