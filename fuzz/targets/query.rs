//! GraphQL queries: what is accepted is small, however it is counted.

use async_graphql::Positioned;
use async_graphql::parser::parse_query;
use async_graphql::parser::types::{Directive, ExecutableDocument, Selection, SelectionSet};
use kitbag::fuzzing::web::query as parse_within_bounds;

/// As `docs/schema.graphql` and README state them.
const MAX_FIELDS: usize = 1000;
const MAX_DEPTH: usize = 20;
const MAX_OPERATIONS: usize = 10;
const MAX_DIRECTIVES: usize = 4;
const MAX_BRACKETS: usize = 48;

/// Input: a query.
///
/// An accepted query is within every bound when its fragments are written out. A query that is within them
/// is not refused for its size.
pub fn query(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut left = MAX_FIELDS;
    match parse_within_bounds(text) {
        Ok(document) => assert!(is_within(&document, &mut left), "accepted beyond a bound: {text}"),
        // Only a query with few brackets can be parsed here without harm. Fragments are measured one by one
        // as well, also those that nobody uses; without them there is one way to count.
        Err(reason) if text.bytes().filter(|byte| b"{[(".contains(byte)).count() <= MAX_BRACKETS => {
            let Ok(document) = parse_query(text) else { return };
            let is_small = document.fragments.is_empty() && is_within(&document, &mut left);
            assert!(!is_small, "refused within the bounds ({reason}): {text}");
        }
        Err(_) => {}
    }
}

/// Whether the document is within the bounds; `left` is how many selections it may have.
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

/// Goes through a selection set as if each fragment were written out where it is used.
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
