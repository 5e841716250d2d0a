//! The schema, and what its fields may cost together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_graphql::extensions::{
    Extension, ExtensionContext, ExtensionFactory, NextResolve, NextValidation, ResolveInfo,
};
use async_graphql::{
    EmptySubscription, Schema, ServerError, ServerResult, ValidationResult, Value, async_trait,
};

use super::error::limit;
use super::mutation::Mutation;
use super::query::Query;

pub(super) type KitbagSchema = Schema<Query, Mutation, EmptySubscription>;

/// What the fields of a request may cost together. A field costs 1; one that is read from the database,
/// or comes many times, costs more: see `complexity` at the fields.
const MAX_COST: usize = 3000;

/// What a change costs: so a request may have about a dozen.
pub(super) const CHANGE_COST: usize = 250;
/// What a search costs, beside its results.
pub(super) const SEARCH_COST: usize = 250;
/// What a list of documents or feeds costs, beside what is in it: all that match are gone through.
pub(super) const LIST_COST: usize = 100;
/// What another list or a single record costs, beside what is in it.
pub(super) const READ_COST: usize = 20;
/// What the text of a document costs.
pub(super) const TEXT_COST: usize = 20;
/// What the schema of a tool costs.
pub(super) const SCHEMA_COST: usize = 20;
/// Of lists without a bound of their own: as if they had so many elements.
pub(super) const DEFAULT_LENGTH: usize = 20;

/// Values of the schema itself that an answer may have: its lists have no price, and tools need about a
/// tenth of it.
const MAX_SCHEMA_VALUES: usize = 50_000;

/// Builds the schema; it holds nothing that belongs to anybody.
pub(super) fn build() -> KitbagSchema {
    Schema::build(Query, Mutation, EmptySubscription).extension(Bounds).finish()
}

/// Makes what bounds one request.
struct Bounds;

impl ExtensionFactory for Bounds {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Price { of_schema: AtomicUsize::new(0) })
    }
}

/// Refuses what costs too much, with a code that says so.
struct Price {
    /// Values of the schema itself that the answer has so far.
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
