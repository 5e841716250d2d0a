//! The table of good and bad declarations that the TypeScript SDK is held to as well
//! (`guest-sdk/typescript/test/declarations.test.mjs`), so that the two never disagree.

use kitbag_manifest::{Problem, ToolkitDefinition, validate};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    name: String,
    declaration: ToolkitDefinition,
    problems: Vec<Problem>,
}

#[test]
fn every_declaration_of_the_table_has_the_problems_it_lists_and_no_others() {
    let table = include_str!("../../../tests/declarations.json");
    let cases: Vec<Case> = serde_json::from_str(table).expect("the table is a list of cases");
    assert!(cases.len() > 50, "the table is not empty");

    for Case { name, declaration, problems } in cases {
        let found = validate(declaration).err().map(|problems| problems.0).unwrap_or_default();
        assert_eq!(found, problems, "{name}");
    }
}
