//! Authorization: REST and MCP grant and deny the same operations on toolkits; GraphQL grants a user's own
//! documents.

use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Answer, Kitbag, User, Wat, wat::Visibility};

/// Expected result of each request: `yes` (allowed), `no` (403), `hidden` (as if the toolkit or the document did
/// not exist), `401`.
///
/// The server has no upload; `reviews.rs` tests uploads.
///
/// `ana` owns the toolkit, and the document of the GraphQL operations; `ana` and `ben` are operators; `una` is an
/// ordinary user; `-` sends no token.
/// `ownership.rs` tests the rights of operators.
const TABLE: &str = "
                         private                      | shared
                         ana     ben     una     -    | ana     ben     una     -
rest list                yes     yes     hidden  401  | yes     yes     yes     401
rest show                yes     yes     hidden  401  | yes     yes     yes     401
rest secrets             yes     hidden  hidden  401  | yes     yes     yes     401
rest set-secret          yes     hidden  hidden  401  | yes     yes     yes     401
rest unset-secret        yes     hidden  hidden  401  | yes     yes     yes     401
rest clear-cache         yes     yes     yes     401  | yes     yes     yes     401
rest consent             yes     hidden  hidden  401  | yes     yes     yes     401
rest agree               yes     hidden  hidden  401  | yes     yes     yes     401
rest settings            yes     hidden  hidden  401  | yes     yes     yes     401
rest change-settings     yes     hidden  hidden  401  | yes     yes     yes     401
rest call                yes     hidden  hidden  401  | yes     yes     yes     401
rest logs                yes     yes     hidden  401  | yes     yes     yes     401
rest usage               yes     yes     hidden  401  | yes     yes     yes     401
rest roll-back           yes     no      no      401  | yes     yes     no      401
rest version             yes     yes     no      401  | yes     yes     no      401
rest failures            yes     yes     no      401  | yes     yes     no      401
rest overview            yes     yes     no      401  | yes     yes     no      401
rest audit               yes     yes     no      401  | yes     yes     no      401
rest verify-audit        yes     yes     no      401  | yes     yes     no      401
rest read-calls          yes     yes     no      401  | yes     yes     no      401
rest uploads             yes     yes     no      401  | yes     yes     no      401
rest review              hidden  hidden  no      401  | hidden  hidden  no      401
rest deploy-upload       hidden  hidden  no      401  | hidden  hidden  no      401
rest discard-upload      hidden  hidden  no      401  | hidden  hidden  no      401
rest users               yes     yes     no      401  | yes     yes     no      401
rest user                yes     yes     no      401  | yes     yes     no      401
rest access              yes     yes     no      401  | yes     yes     no      401
rest groups              yes     yes     no      401  | yes     yes     no      401
rest scim-tokens         yes     yes     no      401  | yes     yes     no      401
rest new-scim-token      no-scim no-scim no      401  | no-scim no-scim no      401
rest end-scim-token      hidden  hidden  no      401  | hidden  hidden  no      401
rest scim-users          hidden  hidden  hidden  hidden | hidden hidden hidden  hidden
rest end-user            hidden  hidden  no      401  | hidden  hidden  no      401
rest revoke-key          hidden  hidden  no      401  | hidden  hidden  no      401
rest export-user         yes     yes     no      401  | yes     yes     no      401
rest export              yes     yes     yes     401  | yes     yes     yes     401
rest rotate              yes     yes     no      401  | yes     yes     no      401
graphql search           yes     hidden  hidden  401  | yes     hidden  hidden  401
graphql document         yes     hidden  hidden  401  | yes     hidden  hidden  401
graphql documents        yes     hidden  hidden  401  | yes     hidden  hidden  401
graphql ingest           yes     yes     yes     401  | yes     yes     yes     401
graphql delete           yes     hidden  hidden  401  | yes     hidden  hidden  401
mcp list                 yes     hidden  hidden  401  | yes     yes     yes     401
mcp call                 yes     hidden  hidden  401  | yes     yes     yes     401
";

/// Request body to deploy an upload: no live version, empty digest of the manifest.
const NOTHING_REVIEWED: &str = r#"{"live":null,"manifestDigest":""}"#;

/// Sender of a request, with or without a token.
enum Requester<'a> {
    User(Box<User>),
    Anonymous(&'a Kitbag),
}

impl Requester<'_> {
    async fn send(&self, method: Method, path: &str, body: impl Into<bytes::Bytes>) -> Answer {
        match self {
            Self::User(user) => user.send(method, path, "application/json", body).await,
            Self::Anonymous(kitbag) => {
                let mut headers = HeaderMap::new();
                headers.insert(http::header::CONTENT_TYPE, "application/json".parse().expect("a type"));
                kitbag.anonymous().send(method, path, headers, body).await
            }
        }
    }

    async fn rest(&self, operation: &str) -> &'static str {
        let (get, no_body) = (Method::GET, String::new());
        let (method, path, body) = match operation {
            "list" => (get, "/toolkits", no_body),
            "show" => (get, "/toolkits/wat", no_body),
            "secrets" => (get, "/toolkits/wat/secrets", no_body),
            "set-secret" => (Method::PUT, "/toolkits/wat/secrets/KEY", "a-secret-value".to_owned()),
            "unset-secret" => (Method::DELETE, "/toolkits/wat/secrets/KEY", no_body),
            // Succeeds even if the user cannot see the toolkit: then it clears nothing.
            "clear-cache" => (Method::DELETE, "/toolkits/wat/cache", no_body),
            "consent" => (get, "/toolkits/wat/consent", no_body),
            "agree" => {
                // No consent has this digest: 409 shows that the request was authorized.
                let answer = self.send(Method::POST, "/toolkits/wat/consent", r#"{"digest":"none"}"#).await;
                return match answer.status {
                    StatusCode::CONFLICT => "yes",
                    StatusCode::UNAUTHORIZED => "401",
                    StatusCode::NOT_FOUND => "hidden",
                    other => panic!("{other} for {operation}"),
                };
            }
            "settings" => (get, "/toolkits/wat/config", no_body),
            "change-settings" => (Method::PATCH, "/toolkits/wat/config", "{}".to_owned()),
            "call" => (Method::POST, "/toolkits/wat/tools/run", "{}".to_owned()),
            "logs" => (get, "/toolkits/wat/logs", no_body),
            "usage" => (get, "/toolkits/wat/usage", no_body),
            "roll-back" => (Method::POST, "/toolkits/wat/rollback", no_body),
            "version" => (get, "/toolkits/wat/versions/1.0.0", no_body),
            "failures" => (get, "/failures", no_body),
            "overview" => (get, "/overview", no_body),
            "audit" => (get, "/audit", no_body),
            "verify-audit" => (get, "/audit/verification", no_body),
            "read-calls" => (get, "/audit/calls", no_body),
            "uploads" => (get, "/uploads", no_body),
            "review" => (get, "/uploads/none", no_body),
            "deploy-upload" => (Method::POST, "/uploads/none/deploy", NOTHING_REVIEWED.to_owned()),
            "discard-upload" => (Method::DELETE, "/uploads/none", no_body),
            "users" => (get, "/users", no_body),
            "user" => (get, "/users/ana", no_body),
            "access" => (get, "/access?host=api.example.com", no_body),
            "scim-tokens" => (get, "/scim-tokens", no_body),
            // The server is not set up for it: `scim.rs` tests one that is.
            "new-scim-token" => (Method::POST, "/scim-tokens", r#"{"name":"entra"}"#.to_owned()),
            "end-scim-token" => (Method::DELETE, "/scim-tokens/none", no_body),
            "scim-users" => (get, "/scim/v2/Users", no_body),
            "groups" => (get, "/groups", no_body),
            "end-user" => (Method::POST, "/users/nobody/end", no_body),
            // There is no such key.
            "revoke-key" => (Method::DELETE, "/users/ana/keys/none", no_body),
            // For operators, but only once her access is ended: 409.
            "export-user" => (get, "/users/ana/export", no_body),
            "export" => (get, "/export", no_body),
            "rotate" => (Method::POST, "/vault/rotate", no_body),
            other => panic!("no operation {other}"),
        };
        let answer = self.send(method, path, body).await;
        match answer.status {
            StatusCode::OK if operation == "list" && answer.json() == json!([]) => "hidden",
            StatusCode::OK | StatusCode::NO_CONTENT => "yes",
            StatusCode::CONFLICT if operation == "export-user" => "yes",
            StatusCode::CONFLICT if operation == "new-scim-token" => "no-scim",
            StatusCode::UNAUTHORIZED => "401",
            StatusCode::FORBIDDEN => "no",
            StatusCode::NOT_FOUND => "hidden",
            other => panic!("{other} for {operation}"),
        }
    }

    async fn graphql(&self, operation: &str, document: &str) -> &'static str {
        let query = match operation {
            "search" => "{ search(query: \"wombat\") { results { document { id } } } }",
            "document" => "query ($id: ID!) { document(id: $id) { id } }",
            "documents" => "{ documents { nodes { id } } }",
            "ingest" => "mutation { ingest(documents: [{ title: \"Mine\", text: \"Mine.\" }]) { ingested } }",
            "delete" => "mutation ($id: ID!) { deleteDocument(id: $id) }",
            other => panic!("no operation {other}"),
        };
        let question = json!({ "query": query, "variables": { "id": document } }).to_string();
        let answer = self.send(Method::POST, "/graphql", question).await;
        if answer.status == StatusCode::UNAUTHORIZED {
            return "401";
        }
        let answer = answer.assert_status(200).json();
        match &answer["errors"][0]["extensions"]["code"] {
            Value::Null => {}
            code if code == "NOT_FOUND" => return "hidden",
            other => panic!("{other} for {operation}"),
        }
        let is_done = operation == "ingest" || answer["data"].to_string().contains(document);
        if is_done { "yes" } else { "hidden" }
    }

    async fn mcp(&self, operation: &str) -> &'static str {
        let user = match self {
            Self::User(user) => user,
            Self::Anonymous(_) => {
                self.send(Method::POST, "/mcp", "{}").await.assert_status(401);
                return "401";
            }
        };
        let is_there = match operation {
            "list" => user.tool_names().await.contains(&"wat__run".to_owned()),
            "call" => {
                let outcome = user.call("wat__run", json!({})).await;
                if outcome.raw().contains("unknown tool") {
                    outcome.assert_unknown_tool();
                    false
                } else {
                    outcome.text();
                    true
                }
            }
            other => panic!("no operation {other}"),
        };
        if is_there { "yes" } else { "hidden" }
    }
}

#[tokio::test]
async fn who_may_do_what_is_the_same_over_every_interface() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.operators = "ana,ben".parse().expect("a list");
        settings.record_callers = true;
    })
    .await;
    let ana = kitbag.as_user("ana");
    let mut lines = TABLE.trim_matches('\n').lines().skip(1);
    let header: Vec<_> =
        lines.next().expect("a line").split_whitespace().filter(|word| *word != "|").collect();
    let rows: Vec<Vec<_>> =
        lines.map(|line| line.split_whitespace().filter(|word| *word != "|").collect()).collect();

    let mut wrong = Vec::new();
    for (half, visibility) in [Visibility::Private, Visibility::Shared].into_iter().enumerate() {
        ana.delete("/toolkits/wat").await;
        for version in ["1.0.0", "2.0.0"] {
            let component = Wat { version, visibility, secrets: &["KEY"], ..Wat::default() }.component();
            ana.deploy(component).await.assert_status(201);
        }
        for row in &rows {
            for (column, name) in header.iter().enumerate().skip(4 * half).take(4) {
                let requester = match *name {
                    "-" => Requester::Anonymous(&kitbag),
                    name => Requester::User(Box::new(kitbag.as_user(name))),
                };
                let found = match row[0] {
                    "rest" => requester.rest(row[1]).await,
                    "graphql" => {
                        // Again each time: one of the operations deletes it.
                        let document = json!([{ "title": "Diary", "text": "The wombat sleeps." }]);
                        let id = ana.ingest(document).await.remove(0);
                        requester.graphql(row[1], &id).await
                    }
                    _ => requester.mcp(row[1]).await,
                };
                let expected = row[2 + column];
                if found != expected {
                    wrong.push(format!(
                        "{visibility:?}: {name} {} {}: {found}, not {expected}",
                        row[0], row[1]
                    ));
                }
            }
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}
