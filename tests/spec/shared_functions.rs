//! Toolkits in TypeScript carry the same JavaScript engine: a server compiles it once.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::{Kitbag, Wat, guests};

/// The file of the functions that a server keeps between compilations.
fn file(data: &Path) -> Option<PathBuf> {
    let engines = fs::read_dir(data.join("code")).expect("a folder").flatten();
    engines.map(|engine| engine.path().join("functions.cwasm")).find(|path| path.exists())
}

/// Its bytes.
fn kept(kitbag: &Kitbag) -> u64 {
    file(kitbag.data()).map_or(0, |file| fs::metadata(file).expect("it is there").len())
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

#[tokio::test]
async fn functions_that_are_damaged_are_not_used_and_are_kept_anew() {
    // Large components alone have their functions kept.
    let padding = format!(r#"(data "{}")"#, "0".repeat(4 << 20));
    let component = Wat { fields: &padding, ..Wat::default() }.component();
    let kitbag = Kitbag::start().await;
    kitbag.as_operator().deploy(component.clone()).await.assert_status(201);
    let stopped = kitbag.stop().await;
    let file = file(stopped.data()).expect("functions are kept");
    let good = fs::read(&file).expect("it is ours");
    let mut damaged = good.clone();
    damaged[good.len() / 2] ^= 1;
    fs::write(&file, &damaged).expect("it is ours");

    let kitbag = stopped.start().await;
    kitbag.as_operator().deploy(component).await.assert_status(201);

    let log = kitbag.log().text();
    assert!(log.contains("the functions that were kept cannot be used"), "{log}");
    assert_eq!(kept(&kitbag), good.len() as u64);
    assert_ne!(fs::read(&file).expect("it is ours"), damaged);
    assert_eq!(kitbag.as_operator().call("wat__run", json!({})).await.text(), "done");
}
