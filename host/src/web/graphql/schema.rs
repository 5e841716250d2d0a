//! The schema, and what its fields may cost together.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextValidation};
use async_graphql::{EmptySubscription, Schema, ServerError, ValidationResult, async_trait};

use super::error::limit;
use super::mutation::Mutation;
use super::query::Query;

pub(super) type KitbagSchema = Schema<Query, Mutation, EmptySubscription>;

/// What the fields of a request may cost together. A field costs 1; one that is read from the database,
/// or comes many times, costs more: see `complexity` at the fields.
const MOST_EXPENSIVE: usize = 3000;

/// What a change costs: so a request may have about a dozen.
pub(super) const CHANGE: usize = 250;
/// What a search costs, beside its results.
pub(super) const SEARCH: usize = 250;
/// What a list or a single record costs, beside what is in it.
pub(super) const READ: usize = 20;
/// What the text of a document costs.
pub(super) const TEXT: usize = 20;
/// Of lists without a bound of their own: as if they had so many elements.
pub(super) const USUAL_LENGTH: usize = 20;

/// Builds the schema; it holds nothing that belongs to anybody.
pub(super) fn build() -> KitbagSchema {
    Schema::build(Query, Mutation, EmptySubscription).extension(Price).finish()
}

/// Refuses what costs too much, with a code that says so.
struct Price;

impl ExtensionFactory for Price {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait::async_trait]
impl Extension for Price {
    async fn validation(
        &self,
        context: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        let valid = next.run(context).await?;
        if valid.complexity > MOST_EXPENSIVE {
            let message = format!(
                "The request costs {}, and one may cost {MOST_EXPENSIVE}. Ask for less at a time.",
                valid.complexity
            );
            return Err(vec![limit(message)]);
        }
        Ok(valid)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_schema_in_docs_is_the_servers() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema.graphql");
        let sdl = format!("# Written by `just schema`.\n\n{}\n", build().sdl().trim());
        if std::env::var_os("RENEW_SCHEMA").is_some() {
            std::fs::write(&file, &sdl).expect("docs can be written");
        }

        let kept = std::fs::read_to_string(&file).unwrap_or_default();

        assert!(
            kept == sdl,
            "docs/schema.graphql is not the server's schema any more; `just schema` renews it"
        );
    }
}
