//! The GraphQL schema, and the cost limits of a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_graphql::extensions::{
    Extension, ExtensionContext, ExtensionFactory, NextResolve, NextValidation, ResolveInfo,
};
use async_graphql::{
    EmptySubscription, Schema, ServerError, ServerResult, ValidationResult, Value, async_trait,
};
use tokio::task::coop::consume_budget;

use super::error::limit;
use super::mutation::Mutation;
use super::query::Query;

pub(super) type KitbagSchema = Schema<Query, Mutation, EmptySubscription>;

/// Maximum total cost of a request's fields. A field costs 1; fields that are read from the database, or
/// occur many times, cost more: see `complexity` at the fields.
const MAX_COST: usize = 3000;

/// Cost of a mutation: a request may have about a dozen.
pub(super) const CHANGE_COST: usize = 250;
/// Cost of a search, without its results.
pub(super) const SEARCH_COST: usize = 250;
/// Cost of a list of documents or feeds, without its elements: all matches are scanned.
pub(super) const LIST_COST: usize = 100;
/// Cost of a single record, without its contents.
pub(super) const READ_COST: usize = 20;
/// Cost of a document's text.
pub(super) const TEXT_COST: usize = 20;

/// Maximum number of introspection values in a response: how often a selection below `__schema` occurs is not
/// known before. Tools need about a quarter of this.
const MAX_SCHEMA_VALUES: usize = 20_000;

/// Builds the schema; it contains no user data.
pub(super) fn build() -> KitbagSchema {
    Schema::build(Query, Mutation, EmptySubscription).extension(Bounds).finish()
}

/// Extension that creates the limits of a request.
struct Bounds;

impl ExtensionFactory for Bounds {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Price { of_schema: AtomicUsize::new(0) })
    }
}

/// Refuses requests that cost too much, with the code `LIMIT`.
struct Price {
    /// Number of introspection values in the response so far.
    of_schema: AtomicUsize,
}

#[async_trait::async_trait]
impl Extension for Price {
    async fn validation(
        &self,
        context: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        let valid = next.run(context).await?;
        if valid.complexity > MAX_COST {
            let message = format!(
                "The request costs {}, and one may cost {MAX_COST}. Ask for less at a time.",
                valid.complexity
            );
            return Err(vec![limit(message)]);
        }
        Ok(valid)
    }

    async fn resolve(
        &self,
        context: &ExtensionContext<'_>,
        info: ResolveInfo<'_>,
        next: NextResolve<'_>,
    ) -> ServerResult<Option<Value>> {
        // A request of many fields would otherwise be one turn of its thread, while others wait.
        consume_budget().await;
        if info.is_for_introspection && self.of_schema.fetch_add(1, Ordering::Relaxed) >= MAX_SCHEMA_VALUES {
            return Err(limit(format!(
                "An answer may have at most {MAX_SCHEMA_VALUES} values of the schema. Ask for less of it."
            )));
        }
        next.run(context, info).await
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn an_answer_about_the_schema_is_bounded() {
        let schema = build();
        let inner = (0..200).map(|it| format!("d{it}: description ")).collect::<Vec<_>>().concat();
        let many = format!(
            "{{ __schema {{ types {{ fields {{ {inner} }} }} a: types {{ fields {{ {inner} }} }} b: types {{ fields {{ {inner} }} }} }} }}"
        );
        let usual = include_str!("../../../../tests/spec/graphql_limits/introspection.graphql");

        let refused = schema.execute(many).await;
        let answered = schema.execute(usual).await;

        assert!(refused.errors.iter().any(|it| it.message.contains("values of the schema")), "{refused:?}");
        assert!(answered.errors.is_empty(), "{:?}", answered.errors);
    }

    #[tokio::test]
    async fn what_goes_through_many_rows_has_its_price() {
        let schema = build();
        for field in ["documents(first: 1) { totalCount }", "feeds(first: 1) { key }"] {
            let fields = (0..30).map(|it| format!("a{it}: {field} ")).collect::<Vec<_>>().concat();
            let refused = schema.execute(format!("{{ {fields} }}")).await;
            assert!(refused.errors.iter().any(|it| it.message.contains("The request costs")), "{field}");
        }
        let counts = (0..30).map(|it| format!("a{it}: documents {{ total }} ")).collect::<Vec<_>>().concat();
        let refused = schema.execute(format!("{{ me {{ {counts} }} }}")).await;
        assert!(refused.errors.iter().any(|it| it.message.contains("The request costs")));
    }

    #[test]
    fn the_schema_in_docs_is_the_servers() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.graphql");
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
