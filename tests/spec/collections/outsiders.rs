//! Outsiders: a collection that they may not read is answered as one that does not exist, byte by byte but for its
//! id; and who is an outsider is decided by each request anew.

use http::Method;
use serde_json::{Value, json};

use super::{Team, member};
use crate::harness::{Answer, User, routes};

/// The collection that exists, and one that does not: of the same length.
const THERE: &str = "handbook";
const NOWHERE: &str = "nohandle";

/// Endpoints of clients that have selected one of them.
const ENDPOINTS: [&str; 2] = ["/mcp?collections=handbook", "/mcp?collections=nohandle"];

/// Requests over HTTP that name a collection: the route, the path and the body.
const REQUESTS: &[(&str, Method, &str, &str)] = &[
    ("/collections/id", Method::GET, "/collections/ID", ""),
    ("/collections/id", Method::PATCH, "/collections/ID", r#"{"name": "Mine"}"#),
    ("/collections/id", Method::DELETE, "/collections/ID", ""),
    ("/collections/id", Method::DELETE, "/collections/ID?purge=true", ""),
    ("/collections/id/restore", Method::POST, "/collections/ID/restore", ""),
    ("/collections/id/take-over", Method::POST, "/collections/ID/take-over", ""),
    (
        "/collections/id/members",
        Method::POST,
        "/collections/ID/members",
        r#"{"members": [{"user": "una", "role": "curator"}]}"#,
    ),
    ("/collections/id/members", Method::DELETE, "/collections/ID/members?user=ana", ""),
    ("/collections/id/members", Method::DELETE, "/collections/ID/members?group=sales", ""),
    ("/documents/file", Method::POST, "/documents/file?name=a.csv&collection=ID", "a,b"),
];

/// Fields of GraphQL with an argument that names a collection: the field, and a request with it.
const FIELDS: &[(&str, &str)] = &[
    ("search", "{ search(query: \"wombat\", collections: [\"ID\"]) { mode goodMatch results { snippet } } }"),
    ("search", "{ search(query: \"wombat in:ID\", operators: true) { goodMatch results { snippet } } }"),
    ("search", "{ search(query: \"wombat -in:ID\", operators: true) { goodMatch results { snippet } } }"),
    ("documents", "{ documents(collection: \"ID\") { totalCount nodes { id } } }"),
    ("bin", "{ bin(collection: \"ID\") { totalCount nodes { id } } }"),
    ("feeds", "{ feeds(collection: \"ID\") { key documentCount } }"),
    (
        "collection",
        "{ collection(id: \"ID\") { name members { user } documents { total } usage { bytes } } }",
    ),
    (
        "ingest",
        "mutation { ingest(collection: \"ID\", documents: [{ title: \"a\", text: \"b\" }]) { ingested } }",
    ),
    ("deleteDocuments", "mutation { deleteDocuments(collection: \"ID\", chosen: { all: true }) }"),
    (
        "restoreDocuments",
        "mutation { restoreDocuments(collection: \"ID\", chosen: { all: true }) { count } }",
    ),
    ("purgeDocuments", "mutation { purgeDocuments(collection: \"ID\", chosen: { all: true }) }"),
    ("moveDocuments", "mutation { moveDocuments(from: \"ID\", chosen: { all: true }) { count } }"),
    ("moveDocuments", "mutation { moveDocuments(to: \"ID\", chosen: { all: true }) { count } }"),
    ("describeCollection", "mutation { describeCollection(id: \"ID\", name: \"Mine\") }"),
    (
        "shareCollection",
        "mutation { shareCollection(id: \"ID\", with: [{ with: { user: \"una\" }, role: CURATOR }]) }",
    ),
    ("unshareCollection", "mutation { unshareCollection(id: \"ID\", with: { user: \"ana\" }) }"),
    ("deleteCollection", "mutation { deleteCollection(id: \"ID\") }"),
    ("restoreCollection", "mutation { restoreCollection(id: \"ID\") }"),
    ("purgeCollection", "mutation { purgeCollection(id: \"ID\") }"),
];

/// Requests about a document, by its id.
const OF_DOCUMENT: &[&str] = &[
    "{ document(id: \"ID\") { title text versions { number text } } }",
    "mutation { deleteDocument(id: \"ID\") }",
    "mutation { restoreVersion(id: \"ID\", number: 1) }",
    "mutation { deleteDocuments(chosen: { ids: [\"ID\"] }) }",
    "mutation { restoreDocuments(chosen: { ids: [\"ID\"] }) { count conflicts { id } } }",
    "mutation { purgeDocuments(chosen: { ids: [\"ID\"] }) }",
    "mutation { moveDocuments(chosen: { ids: [\"ID\"] }) { count conflicts { id } } }",
];

impl User {
    async fn query(&self, query: &str) -> Answer {
        self.send(Method::POST, "/graphql", "application/json", json!({ "query": query }).to_string()).await
    }
}

/// Status, headers and body of a response, without its time, and with `id` replaced.
fn shape(answer: &Answer, id: &str) -> String {
    let headers = answer.headers.iter().filter(|(name, _)| *name != "date");
    let headers: Vec<_> = headers.map(|(name, value)| format!("{name}: {value:?}")).collect();
    let body = String::from_utf8_lossy(&answer.body);
    format!("{}\n{}\n{body}", answer.status, headers.join("\n")).replace(id, "ID")
}

/// Responses to everything that names a collection, with what was asked.
async fn of_collection(user: &User, id: &'static str) -> Vec<(String, String)> {
    let mut shapes = Vec::new();
    for (_, method, path, body) in REQUESTS {
        let path = path.replace("ID", id);
        let content_type =
            if path.starts_with("/documents") { "application/octet-stream" } else { "application/json" };
        let answer = user.send(method.clone(), &path, content_type, *body).await;
        shapes.push((format!("{method} {path}").replace(id, "ID"), shape(&answer, id)));
    }
    for (_, query) in FIELDS {
        let answer = user.query(&query.replace("ID", id)).await;
        shapes.push(((*query).to_owned(), shape(&answer, id)));
    }
    let arguments = json!({ "query": format!("wombat in:{id}") });
    let params = json!({ "name": "search", "arguments": arguments });
    let answer = user.post_mcp("tools/call", Some("search"), params).await;
    shapes.push(("MCP search".to_owned(), shape(&answer, id)));
    let selected = user.clone().at(ENDPOINTS[usize::from(id == NOWHERE)]);
    for (method, name, params) in [
        ("tools/list", None, json!({})),
        ("resources/list", None, json!({})),
        ("resources/templates/list", None, json!({})),
        ("tools/call", Some("search"), json!({ "name": "search", "arguments": { "query": "wombat" } })),
    ] {
        let answer = selected.post_mcp(method, name, params).await;
        shapes.push((format!("MCP {method} of some collections"), shape(&answer, id)));
    }
    shapes
}

/// Responses to everything that names a document.
async fn of_document(user: &User, id: &str) -> Vec<(String, String)> {
    let mut shapes = Vec::new();
    let answer = user.get(&format!("/documents/{id}/artifact")).await;
    shapes.push(("artifact".to_owned(), shape(&answer, id)));
    for query in OF_DOCUMENT {
        let answer = user.query(&query.replace("ID", id)).await;
        shapes.push(((*query).to_owned(), shape(&answer, id)));
    }
    let params = json!({ "name": "fetch", "arguments": { "id": id } });
    let answer = user.post_mcp("tools/call", Some("fetch"), params).await;
    shapes.push(("MCP fetch".to_owned(), shape(&answer, id)));
    let uri = format!("kitbag://documents/{id}");
    let answer = user.post_mcp("resources/read", Some(&uri), json!({ "uri": uri })).await;
    shapes.push(("MCP resources/read".to_owned(), shape(&answer, id)));
    let body = json!({ "id": id }).to_string();
    let path = "/toolkits/knowledge/tools/fetch";
    let answer = user.send(Method::POST, path, "application/json", body).await;
    shapes.push(("HTTP fetch".to_owned(), shape(&answer, id)));
    shapes
}

/// Responses that are about no collection, and would show if a collection changed anything.
async fn of_nothing(user: &User) -> Vec<(String, String)> {
    let mut shapes = Vec::new();
    for path in ["/collections", "/all-collections"] {
        shapes.push((path.to_owned(), shape(&user.get(path).await, "ID")));
    }
    for query in [
        "{ collections { id } feeds { key } documents { totalCount } bin { totalCount } me { documents { total } } }",
        "{ search(query: \"wombat\") { mode goodMatch coverage { documents } results { score snippet } } }",
        "{ search(query: \"\\\"wombat train\\\"\", operators: true) { goodMatch results { score } } }",
    ] {
        shapes.push((query.to_owned(), shape(&user.query(query).await, "ID")));
    }
    let answer = user.post_mcp("resources/list", None, json!({})).await;
    shapes.push(("MCP resources/list".to_owned(), shape(&answer, "ID")));
    shapes
}

fn assert_same(who: &str, of_there: &[(String, String)], of_nowhere: &[(String, String)]) {
    let different: Vec<_> = of_there.iter().zip(of_nowhere).filter(|(one, other)| one != other).collect();
    assert_eq!(of_there.len(), of_nowhere.len());
    assert!(different.is_empty(), "{who}: {different:#?}");
}

async fn upload_to(user: &User, collection: &str) -> String {
    let path = format!("/documents/file?name=wombats.csv&collection={collection}");
    let stored = user.send(Method::POST, &path, "application/octet-stream", "name\nwombat\n").await;
    let id = stored.assert_status(201).json()["id"].as_str().expect("an id").to_owned();
    user.settled_in(collection).await;
    id
}

#[tokio::test]
async fn a_collection_of_others_is_answered_as_one_that_does_not_exist() {
    let team = Team::start().await;
    let Team { ana, ben, una, .. } = &team;
    una.ingest(json!([{ "title": "Note of Una", "text": "A wombat train of mine." }])).await;
    let before = of_nothing(una).await;
    let ids = team
        .with_handbook(
            json!([{ "title": "Travel", "text": "The wombat train.", "url": "https://a.example/" }]),
        )
        .await;
    ana.ingest_into(
        THERE,
        json!([{ "title": "Travel", "text": "Another text.", "url": "https://a.example/" }]),
    )
    .await;
    let file = upload_to(ana, THERE).await;
    ben.get(&format!("/documents/{file}/artifact")).await.assert_status(200);
    let nobodys = "0".repeat(file.len());

    // The program's own routes and fields that name a collection are all here.
    let named: Vec<_> = REQUESTS.iter().map(|(route, ..)| *route).collect();
    for route in routes().iter().filter(|route| route.starts_with("/collections/")) {
        assert!(named.contains(&route.as_str()), "no request for {route}");
    }
    let schema = "{ __schema { queryType { fields { name args { name } } } mutationType { fields { name args { name } } } } }";
    let schema = ana.ask(schema, json!({})).await["__schema"].take();
    for field in ["queryType", "mutationType"]
        .iter()
        .flat_map(|kind| schema[*kind]["fields"].as_array().expect("fields"))
    {
        let name = field["name"].as_str().expect("a name");
        let arguments = field["args"].to_string();
        let is_of_collection = ["\"collection", "\"from\"", "\"to\""].iter().any(|it| arguments.contains(it))
            || (name.to_lowercase().ends_with("collection") && name != "createCollection");
        assert!(
            !is_of_collection || FIELDS.iter().any(|(known, _)| *known == name),
            "no request with {name}"
        );
    }

    let outsider = of_collection(una, THERE).await;
    assert_same("una", &outsider, &of_collection(una, NOWHERE).await);
    for (asked, shape) in &outsider {
        let is_refused = asked.contains("search")
            || asked.contains("MCP")
            || shape.starts_with("40")
            || shape.contains("errors")
            || shape.contains("null");
        assert!(is_refused, "{asked}: {shape}");
    }
    for id in [&ids[0], &file] {
        assert_same("una", &of_document(una, id).await, &of_document(una, &nobodys).await);
    }
    assert_same("una", &of_nothing(una).await, &before);
    // The same requests find it for a reader, and have changed nothing.
    let reader = of_collection(ben, THERE).await;
    let found = reader.iter().filter(|(_, shape)| shape.contains("wombat")).count();
    assert!(found >= 4, "{reader:#?}");
    assert!(ana.get("/collections/handbook").await.assert_status(200).json()["size"]["documents"] == 2);

    // In the bin it does not exist for its readers either.
    ana.delete("/collections/handbook").await.assert_status(204);
    for user in [ben, una] {
        assert_same(
            "after the deletion",
            &of_collection(user, THERE).await,
            &of_collection(user, NOWHERE).await,
        );
        assert_same(
            "after the deletion",
            &of_document(user, &file).await,
            &of_document(user, &nobodys).await,
        );
    }
}

/// Whether a user reads a document, which has a captured file, over each interface. Asserts that all agree.
async fn reads(user: &User, document: &str) -> bool {
    let is_downloaded = user.get(&format!("/documents/{document}/artifact")).await.status == 200;
    let is_shown = user.get("/collections/handbook").await.status == 200;
    let query = "query ($id: ID!) { document(id: $id) { id } search(query: \"wombat\") { results { document { id } } }
        collection(id: \"handbook\") { id } collections { id } }";
    let seen = user.ask(query, json!({ "id": document })).await;
    let is_found = seen["search"]["results"].to_string().contains(document);
    let called = user.call("search", json!({ "query": "wombat" })).await;
    let is_found_by_tool = called.structured()["results"].to_string().contains(document);
    let fetched = user
        .post_mcp("tools/call", Some("fetch"), json!({ "name": "fetch", "arguments": { "id": document } }))
        .await;
    let is_fetched = !fetched.text().contains("there is no such document");
    let all = [
        is_downloaded,
        is_shown,
        seen["document"].is_object(),
        is_found,
        seen["collection"].is_object(),
        seen["collections"] != json!([]),
        is_found_by_tool,
        is_fetched,
    ];
    assert!(all.iter().all(|reads| *reads == all[0]), "the interfaces differ: {all:?}");
    all[0]
}

#[tokio::test]
async fn a_grant_that_ends_counts_from_the_next_request_on() {
    let team = Team::start().await;
    let Team { ana, ben, una, .. } = &team;
    team.with_handbook(json!([])).await;
    let file = upload_to(ana, THERE).await;
    assert_eq!(
        [reads(ana, &file).await, reads(ben, &file).await, reads(una, &file).await],
        [true, true, false]
    );

    // Ben's next token does not name the group.
    let left = member(&team.provider, &team.kitbag, "ben", &["support"]);
    assert!(!reads(&left, &file).await && reads(ben, &file).await);

    for (share, unshare) in
        [(json!({ "user": "una" }), "user=una"), (json!({ "everyone": true }), "everyone=true")]
    {
        let mut share = share;
        share["role"] = json!("reader");
        let members: Value = json!({ "members": [share] });
        for _ in 0..5 {
            ana.post("/collections/handbook/members", &members).await.assert_status(200);
            assert!(reads(una, &file).await, "{unshare}");
            ana.delete(&format!("/collections/handbook/members?{unshare}")).await.assert_status(204);
            assert!(!reads(una, &file).await, "{unshare}");
        }
    }
    ana.delete("/collections/handbook/members?group=sales").await.assert_status(204);
    assert!(!reads(ben, &file).await);
}
