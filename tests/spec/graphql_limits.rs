//! Limits of GraphQL requests.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Kitbag, User};

async fn post(user: &User, body: impl Into<bytes::Bytes>) -> crate::harness::Answer {
    user.send(Method::POST, "/graphql", "application/json", body).await
}

/// Selection of the same field under `count` aliases.
fn aliases(count: usize, field: &str) -> String {
    (0..count).fold(String::new(), |mut fields, number| {
        write!(fields, "a{number}: {field} ").expect("a string takes everything");
        fields
    })
}

#[tokio::test]
async fn a_request_that_asks_for_too_much_is_refused_with_a_code() {
    let kitbag = Kitbag::start().await;
    let ana = &kitbag.as_user("ana");
    let search = "search(query: \"a\") { mode }";
    let page =
        "documents(first: 100) { nodes { id title url author source feed { key name } text createdAt } }";
    let deep = format!("{}kind{}", "fields { type { ".repeat(10), "} } ".repeat(10));

    let operations: Vec<_> = (0..11).map(|number| format!("query q{number} {{ me {{ userId }} }}")).collect();
    let operations = operations.join(" ");

    for (query, words) in [
        (format!("{{ {} }}", aliases(100, search)), "The request costs"),
        (format!("mutation {{ {} }}", aliases(100, "deleteDocument(id: \"x\")")), "The request costs"),
        (format!("{{ {} }}", aliases(3, page)), "The request costs"),
        (format!("{{ {} }}", aliases(1001, "__typename")), "at most 1000 fields"),
        (format!("{{ __type(name: \"Query\") {{ {deep} }} }}"), "levels deep"),
        (format!("{{ a(b: {}{}) }}", "[".repeat(30_000), "]".repeat(30_000)), "nested too deep"),
        (format!("{{ me {} {{ userId }} }}", "@include(if: true) ".repeat(5)), "at most 4 directives"),
        (operations, "at most 10 operations"),
    ] {
        ana.ask_for_error(&query, json!({})).await.assert("LIMIT", words);
    }
    ana.ask(&format!("{{ {} }}", aliases(5, search)), json!({})).await;
}

#[tokio::test]
async fn the_texts_of_an_answer_are_bounded() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let text = vec!["word"; 40_000].join(" ");
    let ids = ana.ingest(json!([{ "title": "Long", "text": text }])).await;
    let asking = |fields: &str| format!("{{ document(id: \"{}\") {{ {fields} }} }}", ids[0]);

    let one = ana.ask(&asking("text"), json!({})).await;

    assert_eq!(one["document"]["text"], text);
    let many = ana.ask_for_error(&asking(&aliases(100, "text")), json!({})).await;
    many.assert("LIMIT", "texts of one request");
    let more = ana.ask_for_error(&asking(&aliases(150, "text")), json!({})).await;
    more.assert("LIMIT", "The request costs");
}

#[tokio::test]
async fn fragments_that_multiply_are_refused_before_anybody_expands_them() {
    let kitbag = Kitbag::start().await;
    let ana = &kitbag.as_user("ana");
    let mut query = "{ ...f0 }".to_owned();
    for level in 0..12 {
        let next = level + 1;
        let spread = format!("...f{next} ").repeat(100);
        write!(query, " fragment f{level} on Query {{ {spread} }}").expect("a string takes everything");
    }
    query.push_str(" fragment f12 on Query { me { userId } }");
    let begun = Instant::now();

    ana.ask_for_error(&query, json!({})).await.assert("LIMIT", "at most 1000 fields");

    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let circle = "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }";
    ana.ask_for_error(circle, json!({})).await.assert("BAD_QUERY", "inside itself");
}

#[tokio::test]
async fn what_does_not_parse_or_fit_the_schema_is_a_bad_query() {
    let kitbag = Kitbag::start().await;
    let ana = &kitbag.as_user("ana");

    for query in [
        "",
        "{",
        "{ me { userId }",
        "{ nobody }",
        "{ me }",
        "{ search { mode } }",
        "query ($q: Int) { search(query: $q) { mode } }",
        "subscription { me { userId } }",
        "{ me { userId } } query b { me { userId } }",
    ] {
        ana.ask_for_error(query, json!({})).await.assert("BAD_QUERY", "");
    }
    let unfit =
        "mutation ($documents: [IngestDocumentInput!]!) { ingest(documents: $documents) { ingested } }";
    ana.ask_for_error(unfit, json!({ "documents": [{ "titel": "A" }] })).await.assert("BAD_QUERY", "");
    ana.ask_for_error(unfit, json!({})).await.assert("BAD_QUERY", "");
}

#[tokio::test]
async fn what_is_no_request_gets_a_problem_that_quotes_nothing() {
    let kitbag = Kitbag::start().await;
    let ana = &kitbag.as_user("ana");
    let query = json!({ "query": format!("{{ me {{ userId }} }} #{}", "x".repeat(64 << 10)) });

    for (body, status, words) in [
        (String::new(), 400, "must be a JSON object"),
        ("hunter2".to_owned(), 400, "must be a JSON object"),
        ("{\"query\": 7}".to_owned(), 400, "must be a JSON object"),
        ("{\"variables\": {\"value\": \"hunter2\"}}".to_owned(), 400, "must be a JSON object"),
        (
            "{\"query\": \"{ me { userId } }\", \"variables\": [\"hunter2\"]}".to_owned(),
            400,
            "must be a JSON object",
        ),
        ("[{\"query\": \"{ me { userId } }\"}]".to_owned(), 400, "Batches are not answered"),
        (" []".to_owned(), 400, "Batches are not answered"),
        ("[".repeat(40_000), 400, ""),
        (
            format!("{{\"query\":\"{{ me {{ userId }} }}\",\"variables\":{}", "{\"a\":".repeat(40_000)),
            400,
            "",
        ),
        (query.to_string(), 413, "longer than 65536 bytes"),
    ] {
        let answer = post(ana, body).await.assert_problem(status, words);
        assert!(!String::from_utf8_lossy(&answer.body).contains("hunter2"));
    }
    let large = vec![b' '; (34 << 20) + 1];
    post(ana, large).await.assert_problem(413, "longer than 35651584 bytes");
    for many in ["0", "[]", "{}", "\"\"", "[[0]]"] {
        let unused = format!(
            "{{\"query\":\"{{me{{userId}}}}\",\"variables\":{{\"x\":[{}0]}}}}",
            format!("{many},").repeat(50_000)
        );
        post(ana, unused).await.assert_problem(413, "more than 50000 JSON values");
    }
    post(ana, "{\"query\":\"{ me { userId } }\",\"extensions\":{}}").await.assert_status(200);
}

#[tokio::test]
async fn tools_read_the_schema_as_they_usually_do() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");

    let schema = ana.ask(include_str!("graphql_limits/introspection.graphql"), json!({})).await;

    let types = schema["__schema"]["types"].as_array().expect("a list");
    assert!(types.iter().any(|it| it["name"] == "SearchResults"), "{schema}");
}

#[tokio::test]
async fn bodies_that_do_not_come_deny_nobody_theirs() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let question = json!({ "query": "{ me { userId } }" }).to_string();
    let mut held = Vec::new();
    for user in ["ana", "ben", "cas", "dan", "eve"] {
        for _ in 0..8 {
            let mut stream = begin(&kitbag, &kitbag.as_user(user), question.len()).await;
            stream.write_all(&question.as_bytes()[..9]).await.expect("the server reads");
            held.push(stream);
        }
    }

    for user in [&ana, &kitbag.as_user("fay")] {
        post(user, question.clone()).await.assert_status(200);
    }

    for stream in &mut held {
        stream.write_all(&question.as_bytes()[9..]).await.expect("the server reads");
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.expect("the server answers");
        assert_eq!(&status, b"HTTP/1.1 200");
    }
}

/// Sends the head of a request that announces a body of `length` bytes, without the body.
async fn begin(kitbag: &Kitbag, user: &User, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(kitbag.address()).await.expect("the server listens");
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n",
        kitbag.base_url().authority(),
        user.token()
    );
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    stream
}
