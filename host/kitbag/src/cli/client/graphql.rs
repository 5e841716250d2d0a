//! GraphQL requests to the server.

use http::Method;
use kitbag_manifest::Problem;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Client;
use crate::cli::error::CliError;

/// Reasons why a request returned no data.
pub(in crate::cli) enum GraphqlFailure {
    /// No GraphQL response.
    Failed(CliError),
    /// GraphQL errors in the response.
    Refused(GraphqlError),
}

/// First GraphQL error of a response.
#[derive(Deserialize)]
pub(in crate::cli) struct GraphqlError {
    pub(in crate::cli) message: String,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Default, Deserialize)]
struct Extensions {
    #[serde(default)]
    problems: Vec<Problem>,
}

#[derive(Deserialize)]
struct GraphQlResponse {
    data: Option<Value>,
    #[serde(default)]
    errors: Vec<GraphqlError>,
}

impl Client {
    /// Sends a query and parses its data.
    pub(in crate::cli) async fn ask<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: Value,
    ) -> Result<T, GraphqlFailure> {
        let question = json!({ "query": query, "variables": variables });
        let answer: GraphQlResponse =
            self.send(Method::POST, "/graphql", "application/json", question.to_string()).await?;
        if let Some(refusal) = answer.errors.into_iter().next() {
            return Err(GraphqlFailure::Refused(refusal));
        }
        let data = answer.data.unwrap_or_default();
        serde_json::from_value(data)
            .map_err(|error| CliError::new(format!("the server's answer cannot be read: {error}")).into())
    }
}

impl GraphqlError {
    /// Validation problems, each with the path of the invalid field.
    pub(in crate::cli) fn problems(&self) -> &[Problem] {
        &self.extensions.problems
    }
}

impl From<CliError> for GraphqlFailure {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

impl From<GraphqlFailure> for CliError {
    fn from(unanswered: GraphqlFailure) -> Self {
        match unanswered {
            GraphqlFailure::Failed(error) => error,
            GraphqlFailure::Refused(refusal) => Self::listing(&refusal.message, refusal.problems()),
        }
    }
}
