//! GraphQL queries: an accepted query is within the limits, also with its fragments expanded.

use async_graphql::Positioned;
use async_graphql::parser::parse_query;
use async_graphql::parser::types::{Directive, ExecutableDocument, Selection, SelectionSet};
use kitbag::fuzzing::web::query as parse_within_bounds;

/// The limits as stated in `docs/schema.graphql` and the README.
const MAX_FIELDS: usize = 1000;
const MAX_DEPTH: usize = 20;
const MAX_OPERATIONS: usize = 10;
const MAX_DIRECTIVES: usize = 4;
const MAX_BRACKETS: usize = 48;

/// Input: a query.
///
/// Checks that an accepted query is within every limit when its fragments are expanded, and that a query
/// within the limits is not refused for its size.
pub fn query(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut left = MAX_FIELDS;
    match parse_within_bounds(text) {
        Ok(document) => assert!(is_within(&document, &mut left), "accepted beyond a bound: {text}"),
        // Only a query with few brackets can be parsed safely here. Queries with fragments are skipped: the
        // server also measures each fragment separately, even if it is unused.
        Err(reason) if text.bytes().filter(|byte| b"{[(".contains(byte)).count() <= MAX_BRACKETS => {
            let Ok(document) = parse_query(text) else { return };
            let is_small = document.fragments.is_empty() && is_within(&document, &mut left);
            assert!(!is_small, "refused within the bounds ({reason}): {text}");
        }
        Err(_) => {}
    }
}

/// Returns whether the document is within the limits; `left` is how many selections it may still have.
fn is_within(document: &ExecutableDocument, left: &mut usize) -> bool {
    let mut count = 0;
    for (_, operation) in document.operations.iter() {
        count += 1;
        if !few(&operation.node.directives) || !walk(document, &operation.node.selection_set.node, 0, left) {
            return false;
        }
    }
    count <= MAX_OPERATIONS
}

/// Walks a selection set with fragments expanded; returns whether it is within the limits.
fn walk(document: &ExecutableDocument, set: &SelectionSet, depth: usize, left: &mut usize) -> bool {
    set.items.iter().all(|selection| {
        let Some(fewer) = left.checked_sub(1) else { return false };
        *left = fewer;
        if depth >= MAX_DEPTH || !few(selection.node.directives()) {
            return false;
        }
        match &selection.node {
            Selection::Field(field) => walk(document, &field.node.selection_set.node, depth + 1, left),
            Selection::InlineFragment(inline) => {
                walk(document, &inline.node.selection_set.node, depth + 1, left)
            }
            Selection::FragmentSpread(spread) => {
                let fragment = document.fragments.get(&spread.node.fragment_name.node);
                fragment.is_some_and(|it| walk(document, &it.node.selection_set.node, depth + 1, left))
            }
        }
    })
}

fn few(directives: &[Positioned<Directive>]) -> bool {
    directives.len() <= MAX_DIRECTIVES
}
