//! A collection of two users, and one search as each of them.

use std::path::Path;
use std::time::Duration;

use http::Method;
use kitbag_base::local_mode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::cli::client::{Client, Connection};
use crate::cli::error::CliError;

/// Id of the collection, which stays in the data directory for the next demo.
const COLLECTION: &str = "handbook";
/// The other user.
const COLLEAGUE: &str = "ben";
const QUESTION: &str = "How do we travel to customers?";

const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!, $collection: String) {
  ingest(documents: $documents, collection: $collection) { ingested }
}";
const PENDING: &str = "query ($id: String!) {
  me { documents { pending } }
  collection(id: $id) { documents { pending } }
}";
const SEARCH: &str = "query ($q: String!) {
  search(query: $q, limit: 2) { results { document { title collection } } }
}";

/// Time limit for indexing the documents.
const INDEXING_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
struct Collections {
    collections: Vec<Collection>,
}

#[derive(Deserialize)]
struct Collection {
    id: String,
}

#[derive(Deserialize)]
struct Waiting {
    me: Holder,
    collection: Holder,
}

#[derive(Deserialize)]
struct Holder {
    documents: Counts,
}

#[derive(Deserialize)]
struct Counts {
    pending: u64,
}

#[derive(Deserialize)]
struct SearchResponse {
    search: Found,
}

#[derive(Deserialize)]
struct Found {
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    document: Document,
}

#[derive(Deserialize)]
struct Document {
    title: String,
    collection: Option<String>,
}

/// Makes the collection, shares it with a second user, adds documents of all three, searches as each user, and formats
/// the results for people.
pub(super) async fn show(curator: &Client, data: &Path) -> Result<String, CliError> {
    let colleague = Connection::local_as(data.to_owned(), COLLEAGUE)?.open().await?;
    share(curator).await?;
    for (client, collection, document) in [
        (
            curator,
            Some(COLLECTION),
            text("Travelling", "By train, second class. The team pays for the tickets to customers."),
        ),
        (
            curator,
            None,
            text("My trips", "Customers in Lyon in May, and by ship to those in Bergen in June."),
        ),
        (
            &colleague,
            None,
            text("Notes of Ben", "The bicycle gets me to customers in town. Who lends me a pump?"),
        ),
    ] {
        let variables = json!({ "documents": [document], "collection": collection });
        client.ask::<Value>(INGEST, variables).await?;
    }
    let mut lines = vec![QUESTION.to_owned()];
    for (name, client) in [(local_mode::USER, curator), (COLLEAGUE, &colleague)] {
        settle(client).await?;
        lines.push(format!("  as {name}"));
        let SearchResponse { search } = client.ask(SEARCH, json!({ "q": QUESTION })).await?;
        lines.extend(search.results.into_iter().map(|Hit { document }| match document.collection {
            Some(collection) => format!("    {} (of {collection}, which both read)", document.title),
            None => format!("    {} (of {name} alone)", document.title),
        }));
    }
    Ok(lines.join("\n"))
}

/// Makes the collection unless an earlier demo has made it, and makes the second user a reader.
async fn share(curator: &Client) -> Result<(), CliError> {
    let Collections { collections } =
        curator.send(Method::GET, "/collections", "application/json", "").await?;
    if !collections.iter().any(|collection| collection.id == COLLECTION) {
        let new = json!({ "id": COLLECTION, "name": "Handbook", "description": "How we work" });
        let _: Value =
            curator.send(Method::POST, "/collections", "application/json", new.to_string()).await?;
    }
    let members = json!({ "members": [{ "user": COLLEAGUE, "role": "reader" }] });
    let path = format!("/collections/{COLLECTION}/members");
    curator.send(Method::POST, &path, "application/json", members.to_string()).await.map(|_: Value| ())
}

/// Waits until a user's documents, and those of the collection, are indexed.
async fn settle(client: &Client) -> Result<(), CliError> {
    let started = Instant::now();
    loop {
        let Waiting { me, collection } = client.ask(PENDING, json!({ "id": COLLECTION })).await?;
        let pending = me.documents.pending + collection.documents.pending;
        if pending == 0 || started.elapsed() > INDEXING_TIMEOUT {
            return Ok(());
        }
        sleep(POLL_INTERVAL).await;
    }
}

fn text(title: &str, text: &str) -> Value {
    json!({ "title": title, "text": text })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::future::pending;
    use std::net::SocketAddr;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::app::App;
    use crate::settings::Settings;

    #[tokio::test(flavor = "multi_thread")]
    async fn each_user_finds_what_is_theirs_and_what_both_read() {
        let private = Permissions::from_mode(0o700);
        let data = tempfile::Builder::new().permissions(private).tempdir().expect("a scratch directory");
        let settings = Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            data: data.path().to_owned(),
            ..Settings::default()
        };
        let app = App::start(&settings).await.expect("it starts");
        tokio::spawn(app.serve(pending()));
        let curator = Connection::local(data.path().to_owned()).open().await.expect("it serves");

        // A data directory is that of several demos.
        for _ in 0..2 {
            let shown = show(&curator, data.path()).await.expect("it is shown");

            assert_eq!(
                shown,
                "How do we travel to customers?\n  \
                 as local\n    Travelling (of handbook, which both read)\n    My trips (of local alone)\n  \
                 as ben\n    Travelling (of handbook, which both read)\n    Notes of Ben (of ben alone)"
            );
        }
    }
}
