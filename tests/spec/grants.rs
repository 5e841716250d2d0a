//! A capability is there when it was declared, and not otherwise: the deploy refuses what imports
//! more, and without the deploy it cannot be linked.

use kitbag::app;
use kitbag::capabilities::Grants;
use kitbag::egress::{Egress, EgressSettings};
use kitbag::sandbox::{CompilerEngine, Functions, LoadError, Sandbox};
use kitbag::settings::Settings;
use serde_json::json;

use crate::harness::{Kitbag, Wat, guests};

const SEARCH: &str =
    r#"(import "kitbag:toolkit/search@0.1.0" "get-document" (func $search (param i32 i32 i32)))"#;
const INGEST: &str = r#"(import "kitbag:toolkit/ingest@0.1.0" "ingest" (func $ingest (param i32 i32 i32)))"#;

#[tokio::test]
async fn each_import_beyond_the_declaration_is_refused_by_name_with_what_to_declare() {
    let kitbag = Kitbag::start().await;
    let both = [SEARCH, INGEST].concat();

    for (imports, scopes, refused) in [
        (SEARCH, &[][..], &[("search", "the scope svc:search")][..]),
        (INGEST, &[], &[("ingest", "the scope svc:ingest")]),
        (&both, &[], &[("ingest", "the scope svc:ingest"), ("search", "the scope svc:search")]),
        (&both, &["svc:search"], &[("ingest", "the scope svc:ingest")]),
        (&both, &["svc:ingest"], &[("search", "the scope svc:search")]),
        (SEARCH, &["svc:ingest"], &[("search", "the scope svc:search")]),
        (INGEST, &["svc:search"], &[("ingest", "the scope svc:ingest")]),
    ] {
        let component = Wat { scopes, imports, ..Wat::default() }.component();

        let answer = kitbag.as_operator().deploy(component).await;

        let expected = refused.iter().map(|(interface, declaration)| {
            let path = format!("imports.kitbag:toolkit/{interface}");
            (path, format!("imported, but not granted: declare {declaration}"))
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

    for (imports, scope, call) in [(SEARCH, "svc:search", reads), (INGEST, "svc:ingest", writes)] {
        let toolkit = Wat { scopes: &[scope], imports, call, ..Wat::default() };
        let operator = kitbag.as_operator();

        operator.deploy(toolkit.component()).await.assert_status(201);

        assert_eq!(operator.call("wat__run", json!({})).await.text(), "done", "{scope}");
        operator.delete("/toolkits/wat").await.assert_status(204);
    }
}

/// Bypasses everything that a deploy checks.
#[tokio::test]
async fn a_component_without_its_grants_cannot_be_linked() {
    let sandbox = Sandbox::new(app::limits(&Settings::default()), Egress::new(EgressSettings::default()))
        .expect("the engine starts");
    let code = tempfile::NamedTempFile::new().expect("a scratch file");
    let compiler = CompilerEngine::for_toolkits().expect("the engine starts");
    let component = compiler.compile(&guests::PROBE.bytes(), &mut Functions::default()).expect("a component");
    let machine_code = component.machine_code().expect("it was compiled");
    std::fs::write(code.path(), machine_code).expect("a scratch file takes bytes");
    let declared =
        compiler.describe(&component, sandbox.describe_limits()).await.expect("it describes itself");
    let all = Grants::of(&declared);
    sandbox.load(code.path(), &all).map(drop).expect("it is granted all that it imports");

    for (interface, grants) in [
        ("wasi:http/outgoing-handler", Grants { egress: None, ..all.clone() }),
        ("kitbag:toolkit/secrets", Grants { secrets: [].into(), ..all.clone() }),
        ("kitbag:toolkit/search", Grants { search: false, ..all.clone() }),
        ("kitbag:toolkit/ingest", Grants { ingest: false, ..all.clone() }),
    ] {
        let refused = sandbox.load(code.path(), &grants).map(drop).expect_err(interface);

        assert!(matches!(&refused, LoadError::Link(_)), "{refused}");
        assert!(refused.to_string().contains(interface), "{refused}");
    }
}
