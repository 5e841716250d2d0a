//! GraphQL requests of a user.

use http::Method;
use serde_json::{Value, json};

use super::{User, eventually};

/// The first error of a response.
#[derive(Debug)]
pub(crate) struct GraphqlError {
    pub(crate) message: String,
    pub(crate) extensions: Value,
    /// The whole response.
    pub(crate) answer: Value,
}

impl User {
    /// Sends a query and returns its data; panics if there are errors.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "tests write the variables where they ask")]
    pub(crate) fn ask(&self, query: &str, variables: Value) -> impl Future<Output = Value> {
        let question = json!({ "query": query, "variables": variables }).to_string();
        async move {
            let answer = self.send(Method::POST, "/graphql", "application/json", question).await;
            let mut answer = answer.assert_status(200).json();
            assert!(answer.get("errors").is_none(), "{answer}");
            answer["data"].take()
        }
    }

    /// Sends a query and returns its first error; panics if there is none.
    pub(crate) async fn ask_for_error(&self, query: &str, variables: Value) -> GraphqlError {
        let question = json!({ "query": query, "variables": variables }).to_string();
        let answer = self.send(Method::POST, "/graphql", "application/json", question).await;
        let answer = answer.assert_status(200).json();
        let first = &answer["errors"][0];
        let message = first["message"].as_str().unwrap_or_else(|| panic!("no error in {answer}")).to_owned();
        GraphqlError { message, extensions: first["extensions"].clone(), answer }
    }

    /// Ingests documents, and returns their ids once they are searchable.
    pub(crate) async fn ingest(&self, documents: Value) -> Vec<String> {
        let mutation = "mutation ($documents: [IngestDocumentInput!]!) {
            ingest(documents: $documents) { documents { id } }
        }";
        let stored = self.ask(mutation, json!({ "documents": documents })).await;
        self.settled().await;
        let stored = stored["ingest"]["documents"].as_array().expect("a list").clone();
        stored.iter().map(|document| document["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// Waits until no document is pending.
    pub(crate) async fn settled(&self) {
        eventually("no document is pending", async || {
            self.ask("{ me { documents { pending } } }", json!({})).await["me"]["documents"]["pending"] == 0
        })
        .await;
    }
}

impl GraphqlError {
    #[track_caller]
    pub(crate) fn assert(&self, code: &str, words: &str) -> &Self {
        assert_eq!(self.extensions["code"], code, "{}", self.answer);
        assert!(self.message.contains(words), "no {words:?} in {}", self.message);
        self
    }

    /// Asserts a problem at `path` whose message contains `words`.
    #[track_caller]
    pub(crate) fn assert_problem(&self, path: &str, words: &str) {
        let problems = self.extensions["problems"].as_array().expect("there are problems");
        let problem = problems.iter().find(|problem| problem["path"] == path);
        let message = problem.and_then(|problem| problem["message"].as_str());
        assert!(message.is_some_and(|message| message.contains(words)), "{path}: {}", self.answer);
    }
}
