//! Tests the published JSON Schema of the manifest, `wit/current/manifest.schema.json`.

use std::path::Path;
use std::{env, fs};

use kitbag_manifest::{json_schema, parse};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    name: String,
    declaration: Value,
}

#[test]
fn the_published_schema_is_the_one_that_manifests_are_read_with() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/current/manifest.schema.json");
    let schema = format!("{:#}\n", json_schema());

    if env::var_os("RENEW_SCHEMA").is_some() {
        fs::write(&file, &schema).expect("the file can be written");
    }

    let published = fs::read_to_string(&file).expect("the schema is there");
    assert!(published == schema, "manifest.schema.json is not up to date: run `just schema`");
}

#[test]
fn every_declaration_of_the_table_fits_it() {
    let table = include_str!("../../../tests/declarations.json");
    let cases: Vec<Case> = serde_json::from_str(table).expect("the table is a list of cases");
    assert!(cases.len() > 50, "the table is not empty");

    for Case { name, declaration } in cases {
        if let Err(problems) = parse(&declaration.to_string()) {
            panic!("{name}: {problems}");
        }
    }
}
