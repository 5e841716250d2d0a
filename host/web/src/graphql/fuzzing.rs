//! Entry points for `fuzz/`.

use async_graphql::parser::types::ExecutableDocument;

use super::bounds;

/// Parses a query that is within bounds, or says why it is not.
pub fn query(text: &str) -> Result<ExecutableDocument, String> {
    bounds::parse(text).map_err(|refusal| refusal.message)
}
