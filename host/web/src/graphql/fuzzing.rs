//! Entry points for `fuzz/`.

use async_graphql::parser::types::ExecutableDocument;

use super::bounds;

/// Parses a query and checks its size; returns the error message otherwise.
pub fn query(text: &str) -> Result<ExecutableDocument, String> {
    bounds::parse(text).map_err(|refusal| refusal.message)
}
