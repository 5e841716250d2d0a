//! Toolkits in TypeScript carry the same JavaScript engine: a server compiles it once.

use std::fs;

use serde_json::json;

use crate::harness::{Kitbag, guests};

/// Bytes of the functions that the server keeps between compilations.
fn kept(kitbag: &Kitbag) -> u64 {
    let engines = fs::read_dir(kitbag.data().join("code")).expect("a folder").flatten();
    let files = engines.filter_map(|engine| fs::metadata(engine.path().join("functions.cwasm")).ok());
    files.map(|file| file.len()).sum()
}

#[tokio::test]
async fn a_second_toolkit_in_typescript_has_its_engine_compiled_already() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CURRENCY).await;
    let first = kept(&kitbag);
    assert!(first > 10 << 20, "{first} bytes");

    kitbag.deploy(guests::TRANSLATE).await;

    let grown = kept(&kitbag) - first;
    assert!(grown < first / 4, "{grown} bytes beside {first}");
    let arguments = json!({ "amount": 1, "from": "EUR", "to": ["EUR"] });
    let outcome = kitbag.as_operator().call("currency__convert", arguments).await;
    outcome.assert_tool_error("The amount is in EUR already.");
}
