//! Requests to the GraphQL API. The other modules of this benchmark handle only documents and results.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::Outcome;
use crate::child::Server;
use crate::client::Connection;

/// Connection of a user to a server.
pub(crate) struct Client {
    connection: Connection,
    address: SocketAddr,
    token: String,
}

/// Document to ingest.
pub(crate) struct Document {
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Documents per request.
pub(crate) const BATCH: usize = 500;

const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!, $collection: String) {
    ingest(documents: $documents, collection: $collection) { ingested }
}";
const MAKE: &str = "mutation ($id: String!, $members: [MemberInput!]!) {
    createCollection(id: $id, name: $id)
    shareCollection(id: $id, with: $members)
}";
const COUNTS: &str = "{ me { documents { pending failed } } }";
const COUNTS_IN: &str = "query ($id: String!) { me: collection(id: $id) { documents { pending failed } } }";
const SEARCH: &str = "query ($query: String!, $limit: Int!, $after: String) {
    search(query: $query, limit: $limit, after: $after) {
        mode results { document { url } } pageInfo { endCursor hasNextPage }
    }
}";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    mode: String,
    results: Vec<Hit>,
    page_info: PageInfo,
}

#[derive(Deserialize)]
struct Hit {
    document: Named,
}

#[derive(Deserialize)]
struct Named {
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    end_cursor: Option<String>,
    has_next_page: bool,
}

impl Client {
    /// Opens a connection for a user with an access token.
    pub(crate) async fn with_token(server: &Server, token: String) -> Outcome<Self> {
        let address = server.address();
        Ok(Self { connection: Connection::open(address).await?, address, token })
    }

    /// Stores documents, in a collection if one is named; returns once they are durable.
    pub(crate) async fn ingest(&mut self, documents: &[Document], collection: Option<&str>) -> Outcome<()> {
        let documents: Vec<_> =
            documents.iter().map(|it| json!({ "url": it.url, "title": it.title, "text": it.text })).collect();
        let variables = json!({ "documents": documents, "collection": collection });
        self.ask(INGEST, variables).await.map(drop)
    }

    /// Makes a collection that these users may read.
    pub(crate) async fn make_collection(&mut self, id: &str, readers: &[String]) -> Outcome<()> {
        let members: Vec<_> =
            readers.iter().map(|user| json!({ "with": { "user": user }, "role": "READER" })).collect();
        self.ask(MAKE, json!({ "id": id, "members": members })).await.map(drop)
    }

    /// Waits until all of the user's own documents are searchable.
    pub(crate) async fn settled(&mut self) -> Outcome<()> {
        self.settled_by(COUNTS, json!({})).await
    }

    /// Waits until all documents of a collection are searchable.
    pub(crate) async fn settled_in(&mut self, collection: &str) -> Outcome<()> {
        self.settled_by(COUNTS_IN, json!({ "id": collection })).await
    }

    async fn settled_by(&mut self, query: &str, variables: Value) -> Outcome<()> {
        loop {
            let counts = self.ask(query, variables.clone()).await?["me"]["documents"].take();
            if counts["failed"] != 0 {
                return Err(format!("{} documents failed", counts["failed"]).into());
            }
            if counts["pending"] == 0 {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Returns the URLs of the best documents, best first, and the search mode.
    pub(crate) async fn search(&mut self, query: &str, wanted: usize) -> Outcome<(Vec<String>, String)> {
        let (mut urls, mut after, mut limit) = (Vec::new(), None, wanted.min(50));
        loop {
            let variables = json!({ "query": query, "limit": limit, "after": after });
            let found: Found = serde_json::from_value(self.ask(SEARCH, variables).await?["search"].take())?;
            urls.extend(found.results.into_iter().filter_map(|hit| hit.document.url));
            limit = wanted.saturating_sub(urls.len()).min(50);
            if limit == 0 || !found.page_info.has_next_page {
                return Ok((urls, found.mode));
            }
            after = found.page_info.end_cursor;
        }
    }

    async fn ask(&mut self, query: &str, variables: Value) -> Outcome<Value> {
        let body = serde_json::to_vec(&json!({ "query": query, "variables": variables }))?;
        let request = Request::post("/graphql")
            .header(header::HOST, self.address.to_string())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(Bytes::from(body)))?;
        if !self.connection.is_open() {
            self.connection = Connection::open(self.address).await?;
        }
        let mut answer: Value = serde_json::from_slice(&self.connection.exchange(&request).await?)?;
        if answer["errors"].is_array() {
            return Err(format!("the server answered {}", answer["errors"]).into());
        }
        Ok(answer["data"].take())
    }
}
