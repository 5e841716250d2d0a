//! Actions of users and operators while the server is measured.

use kitbag_database::audit::Actor;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::api::Client;
use super::fill::{LARGE, MEASURED, TEMPLATE};
use super::memory;
use super::report::Figures;
use super::server::{Running, Simulated};
use crate::Outcome;
use crate::service::OPERATOR;
use crate::stats::median;
use crate::words::words;

const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!) { ingest(documents: $documents) { documents { id change } } }";
const COUNTS: &str = "{ me { documents { total pending failed } usage { documents } } }";
const SEARCH: &str = "query ($query: String!, $source: String, $author: String) {
    search(query: $query, source: $source, author: $author) {
        mode results { snippet score document { id title feed { name } } } pageInfo { endCursor }
    }
}";
const LIST: &str =
    "query ($first: Int, $after: String, $source: String, $feed: String, $state: DocumentState) {
    documents(first: $first, after: $after, source: $source, feed: $feed, state: $state) {
        totalCount nodes { id title feed { name } artifact { size } } pageInfo { endCursor }
    }
}";
const DOCUMENT: &str = "query ($id: ID!) { document(id: $id) { title text } }";
const DELETE: &str = "mutation ($id: ID!) { deleteDocument(id: $id) }";

/// Documents per user, in addition to one with a file.
pub(crate) const DOCUMENTS: usize = 9;
/// Words per document: two chunks.
const WORDS: usize = 150;
/// Calls per user.
const CALLS: usize = 10;
/// Requests of each kind by a single user.
const REPETITIONS: usize = 10;
/// Longest interval at which processes look for jobs and count pending ones.
const IDLE: Duration = Duration::from_secs(6);

/// Deploys toolkits, and creates the data of the template user.
pub(crate) async fn prepare(running: &Running<'_>, components: &[Vec<u8>]) -> Outcome<()> {
    let mut operator = running.client(OPERATOR)?;
    for component in components {
        deploy(&mut operator, component).await?;
    }
    let user = &mut running.client(TEMPLATE)?;
    let documents: Vec<_> = (0..DOCUMENTS).map(|number| document(number, TEMPLATE)).collect();
    user.graphql(INGEST, json!({ "documents": documents })).await?;
    upload(user, "notes").await?;
    settled(user).await?;
    user.expect(Method::PUT, "/toolkits/probe/secrets/API_KEY", "text/plain", secret()).await?;
    configure(user, "imperial").await?;
    for _ in 0..CALLS {
        user.call("probe__nothing", &json!({})).await?;
    }
    if user.call("probe__secret", &json!({ "name": "NOT_DECLARED" })).await.is_ok() {
        return Err("the last call should have failed".into());
    }
    Ok(())
}

/// Sends requests of some users, one after the other, and adds the median duration of each kind.
pub(crate) async fn run(
    simulated: &Simulated,
    running: &Running<'_>,
    place: usize,
    components: &[Vec<u8>],
    figures: &mut Figures,
) -> Outcome<()> {
    let mut clients = Vec::new();
    for number in 1..=MEASURED {
        clients.push(running.client(&format!("user-{number}"))?);
    }
    let of_users = &mut Users { clients, figures };
    // Warms up: opens connections, and has tokens verified. The second measurement replaces the first.
    of_users
        .measure("counts of documents", async |user, _| user.graphql(COUNTS, json!({})).await.map(drop))
        .await?;
    of_users
        .measure("counts of documents", async |user, _| user.graphql(COUNTS, json!({})).await.map(drop))
        .await?;

    call_tools(of_users).await?;
    search(of_users).await?;
    read_documents(of_users).await?;
    write_documents(of_users, place).await?;
    keep_secrets(of_users).await?;
    read_records(of_users).await?;
    operate(of_users.figures, running, components).await?;
    browse(of_users.figures, simulated).await?;
    sleep(IDLE).await;
    Ok(())
}

/// Sends the requests of a user with very many documents.
pub(crate) async fn run_large(running: &Running<'_>, place: usize, figures: &mut Figures) -> Outcome<()> {
    let mut figures_of_large = Figures::default();
    let mut large = Users { clients: vec![running.client(LARGE)?], figures: &mut figures_of_large };
    // Waits until the work started by other users' requests has ended.
    sleep(IDLE).await;
    let before = memory::private()?;
    search(&mut large).await?;
    let index = memory::private()?.saturating_sub(before) as f64 / 1e6;
    large.figures.add("memory after the first searches", "MB", index);
    for _ in 0..REPETITIONS {
        large.clients.push(running.client(LARGE)?);
    }
    large
        .measure("counts of documents", async |user, _| user.graphql(COUNTS, json!({})).await.map(drop))
        .await?;
    large
        .measure("search, index in memory", async |user, number| {
            user.graphql(SEARCH, json!({ "query": words(number + 77, 6) })).await.map(drop)
        })
        .await?;
    large
        .measure("search with a source and a byline", async |user, number| {
            let variables =
                json!({ "query": words(number + 77, 6), "source": "user", "author": "Ana Author" });
            user.graphql(SEARCH, variables).await.map(drop)
        })
        .await?;
    read_documents(&mut large).await?;
    write_documents(&mut large, 10 + place).await?;
    figures.add_of("large user: ", figures_of_large);
    Ok(())
}

/// Users whose requests are measured.
struct Users<'f> {
    clients: Vec<Client>,
    figures: &'f mut Figures,
}

impl Users<'_> {
    /// Runs `work` as each user, and sets the figure `name` to the median duration, replacing an earlier one.
    async fn measure(
        &mut self,
        name: &str,
        work: impl AsyncFn(&mut Client, usize) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut times = Vec::new();
        for (number, client) in self.clients.iter_mut().enumerate() {
            let started = Instant::now();
            work(client, number).await.map_err(|error| format!("{name}: {error}"))?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        self.figures.set(name, "ms", median(times));
        Ok(())
    }
}

async fn call_tools(users: &mut Users<'_>) -> Outcome<()> {
    users.measure("call of a tool", async |user, _| user.call("probe__nothing", &json!({})).await).await?;
    users
        .measure("toolkits", async |user, _| {
            user.expect(Method::GET, "/toolkits", "text/plain", Bytes::new()).await.map(drop)
        })
        .await
}

async fn search(users: &mut Users<'_>) -> Outcome<()> {
    let query = |number: usize| words(number + 77, 6);
    users
        .measure("first search: reads the index", async |user, number| {
            user.graphql(SEARCH, json!({ "query": query(number) })).await.map(drop)
        })
        .await?;
    users
        .measure("search, index in memory", async |user, number| {
            user.graphql(SEARCH, json!({ "query": query(number) })).await.map(drop)
        })
        .await?;
    users
        .measure("search with a source and a byline", async |user, number| {
            let variables = json!({ "query": query(number), "source": "user", "author": "Ana Author" });
            user.graphql(SEARCH, variables).await.map(drop)
        })
        .await?;
    users
        .measure("call of a tool that searches", async |user, _| {
            user.call("probe__search", &json!({ "query": "w12 w200" })).await
        })
        .await
}

async fn read_documents(users: &mut Users<'_>) -> Outcome<()> {
    for (name, variables) in [
        ("list of documents", json!({ "first": 5 })),
        ("list of documents of a source", json!({ "first": 5, "source": "user" })),
        ("list of documents of a feed", json!({ "first": 5, "feed": "feed-1" })),
        ("list of documents in a state", json!({ "first": 5, "state": "READY" })),
    ] {
        users
            .measure(name, async |user, _| {
                let page = user.graphql(LIST, variables.clone()).await?;
                expect_some(&page["documents"]["nodes"])
            })
            .await?;
    }
    users
        .measure("document with its text", async |user, _| {
            let page = user.graphql(LIST, json!({ "first": 1 })).await?;
            let id = &page["documents"]["nodes"][0]["id"];
            user.graphql(DOCUMENT, json!({ "id": id })).await.map(drop)
        })
        .await?;
    users
        .measure("feeds", async |user, _| {
            let feeds = user.graphql("{ feeds { key name documentCount } }", json!({})).await?;
            expect_some(&feeds["feeds"])
        })
        .await
}

async fn write_documents(users: &mut Users<'_>, place: usize) -> Outcome<()> {
    let new = |number: usize| document(1_000 + 100 * place + number, "new");
    let ingest = async |user: &mut Client, document: Value| {
        user.graphql(INGEST, json!({ "documents": [document] })).await.map(drop)
    };
    users.measure("ingest of a new document", async |user, number| ingest(user, new(number)).await).await?;
    users.measure("ingest of the same", async |user, number| ingest(user, new(number)).await).await?;
    users
        .measure("upload of a file", async |user, number| {
            upload(user, &format!("new {place} {number}")).await
        })
        .await?;
    let started = Instant::now();
    for user in &mut users.clients {
        settled(user).await?;
    }
    users.figures.add("until all are found", "ms", started.elapsed().as_secs_f64() * 1e3);
    users
        .measure("ingest of a changed document", async |user, number| {
            let mut document = new(number);
            document["title"] = json!("Another title");
            ingest(user, document).await
        })
        .await?;
    for user in &mut users.clients {
        settled(user).await?;
    }
    users
        .measure("search after changes", async |user, number| {
            user.graphql(SEARCH, json!({ "query": words(number + 77, 6) })).await.map(drop)
        })
        .await?;
    // The file, which was added last, and the document before it.
    for name in ["removal of a document with a file", "removal of a document"] {
        users
            .measure(name, async |user, _| {
                let page = user.graphql(LIST, json!({ "first": 1 })).await?;
                user.graphql(DELETE, json!({ "id": page["documents"]["nodes"][0]["id"] })).await.map(drop)
            })
            .await?;
    }
    Ok(())
}

async fn keep_secrets(users: &mut Users<'_>) -> Outcome<()> {
    users
        .measure("setting a secret", async |user, _| {
            user.expect(Method::PUT, "/toolkits/probe/secrets/API_KEY", "text/plain", secret())
                .await
                .map(drop)
        })
        .await?;
    users
        .measure("call of a tool that reads a secret", async |user, _| {
            user.call("probe__secret", &json!({ "name": "API_KEY" })).await
        })
        .await?;
    users
        .measure("list of secrets", async |user, _| {
            user.expect(Method::GET, "/toolkits/probe/secrets", "", Bytes::new()).await.map(drop)
        })
        .await?;
    users
        .measure("unsetting a secret", async |user, _| {
            user.expect(Method::DELETE, "/toolkits/probe/secrets/API_KEY", "", Bytes::new()).await.map(drop)
        })
        .await?;
    users.measure("changing a setting", async |user, _| configure(user, "metric").await).await
}

async fn read_records(users: &mut Users<'_>) -> Outcome<()> {
    for (name, path) in [
        ("own records", "/toolkits/probe/logs?limit=20"),
        ("own records of failures", "/toolkits/probe/logs?limit=20&outcome=any-failure"),
        ("own usage", "/toolkits/probe/usage"),
    ] {
        users
            .measure(name, async |user, _| user.expect(Method::GET, path, "", Bytes::new()).await.map(drop))
            .await?;
    }
    Ok(())
}

async fn operate(figures: &mut Figures, running: &Running<'_>, components: &[Vec<u8>]) -> Outcome<()> {
    let clients = (0..REPETITIONS).map(|_| running.client(OPERATOR)).collect::<Outcome<_>>()?;
    let operator = &mut Users { clients, figures };
    for (name, path) in [
        ("operator: toolkits", "/toolkits"),
        ("operator: a toolkit", "/toolkits/probe"),
        ("operator: records", "/toolkits/probe/logs?limit=20"),
        ("operator: records of failures", "/toolkits/probe/logs?limit=20&outcome=any-failure"),
        ("operator: usage", "/toolkits/probe/usage"),
        ("operator: failing toolkits", "/failures"),
    ] {
        operator
            .measure(name, async |user, _| user.expect(Method::GET, path, "", Bytes::new()).await.map(drop))
            .await?;
    }
    operator.clients.truncate(1);
    operator
        .measure("deploy, with its compilation", async |user, _| deploy(user, &components[0]).await)
        .await?;
    let metrics = &mut running.metrics_client();
    let started = Instant::now();
    metrics.expect(Method::GET, "/metrics", "", Bytes::new()).await?;
    operator.figures.add("metrics", "ms", started.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Measures browser sessions by direct use of the session store.
async fn browse(figures: &mut Figures, simulated: &Simulated) -> Outcome<()> {
    let sessions = simulated.sessions().await?;
    let (mut begins, mut finds) = (Vec::new(), Vec::new());
    for number in 1..=MEASURED {
        let user = format!("user-{number}");
        let started = Instant::now();
        let cookie = sessions.begin(&user, "Mozilla/5.0").await?;
        begins.push(started.elapsed().as_secs_f64() * 1e3);
        let started = Instant::now();
        let found = sessions.find(secrecy::ExposeSecret::expose_secret(&cookie)).await?;
        finds.push(started.elapsed().as_secs_f64() * 1e3);
        let found = found.ok_or("the session has just begun")?;
        sessions.of_user(&user).await?;
        sessions.end(&Actor::user_only(&user), &user, &found.id).await?;
    }
    figures.add("sign-in of a browser", "ms", median(begins));
    figures.add("session of a browser", "ms", median(finds));
    Ok(())
}

async fn deploy(operator: &mut Client, component: &[u8]) -> Outcome<()> {
    let component = Bytes::copy_from_slice(component);
    operator.expect(Method::POST, "/toolkits", "application/wasm", component).await.map(drop)
}

async fn configure(user: &mut Client, units: &str) -> Outcome<()> {
    let change = json!({ "units": units }).to_string();
    user.expect(Method::PATCH, "/toolkits/weather/config", "application/json", change.into()).await.map(drop)
}

async fn upload(user: &mut Client, title: &str) -> Outcome<()> {
    let path = format!("/documents/file?title={}", title.replace(' ', "%20"));
    let text = format!("{title}\n{}", words(5, WORDS));
    user.expect(Method::POST, &path, "text/plain", text.into()).await.map(drop)
}

/// Waits until all documents of the user are searchable.
async fn settled(user: &mut Client) -> Outcome<()> {
    loop {
        let counts = user.graphql(COUNTS, json!({})).await?["me"]["documents"].take();
        if counts["failed"] != 0 {
            let failed =
                user.graphql("{ documents(state: FAILED) { nodes { title reason } } }", json!({})).await?;
            return Err(format!("documents failed: {failed}").into());
        }
        if counts["pending"] == 0 {
            return Ok(());
        }
        sleep(Duration::from_millis(20)).await;
    }
}

fn expect_some(found: &Value) -> Outcome<()> {
    match found.as_array() {
        Some(found) if !found.is_empty() => Ok(()),
        _ => Err("nothing was found".into()),
    }
}

/// Creates a document to ingest. Two of three are in one of two feeds.
fn document(number: usize, kind: &str) -> Value {
    let mut document = json!({
        "title": format!("{kind} {}", words(number, 5)),
        "text": words(number + 1, WORDS),
        "url": format!("https://example.com/{kind}/{number}"),
        "author": if number.is_multiple_of(2) { "Ana Author" } else { "Ben Byline" },
    });
    if let feed @ 1.. = number % 3 {
        document["feed"] =
            json!({ "key": format!("feed-{feed}"), "name": format!("Feed {feed}"), "label": "channel" });
    }
    document
}

fn secret() -> Bytes {
    Bytes::from_static(b"a secret that is long enough")
}
