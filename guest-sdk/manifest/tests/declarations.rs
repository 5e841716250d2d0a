//! Tests the rules with a table of valid and invalid declarations. The TypeScript SDK is tested with the same
//! table (`guest-sdk/typescript/test/declarations.test.mjs`), so that the two never disagree.

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

    let wrong: Vec<String> = cases.into_iter().filter_map(disagreement).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Describes how the rules and the table differ on one case; `None` if they agree.
fn disagreement(Case { name, declaration, problems }: Case) -> Option<String> {
    let found = validate(declaration).err().map(|problems| problems.0).unwrap_or_default();
    (found != problems).then(|| format!("{name}\n  found:  {found:?}\n  listed: {problems:?}"))
}
