//! The toolkit that docs/authoring.md shows under "In Rust". Checks that it compiles, does what the text says
//! and is identical to the code there.

// authoring.md
use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

/// What the toolkit is called, what it may reach, and which tools it has.
pub fn toolkit() -> Toolkit {
    Toolkit::new("shelf", "Shelf")
        .description("Keeps books of the library.")
        .icon("📚")
        .version("1.0.0")
        .egress("auth.library.example")
        .egress("api.library.example")
        .secret("CLIENT_ID")
        .secret("CLIENT_SECRET")
        .auth(ClientCredentials {
            token_url: "https://auth.library.example/token",
            client_id_secret: "CLIENT_ID",
            client_secret_secret: "CLIENT_SECRET",
            scope: Some("books:read"),
            api_host: "api.library.example",
        })
        .scope(Scope::Ingest)
        .tool(
            Tool::new("keep", keep)
                .description("Puts a book into the user's knowledge base.")
                .mutating()
                .idempotent_hint(true),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Which {
    /// The library's own number.
    id: u32,
}

#[derive(Deserialize)]
struct Book {
    title: String,
    text: String,
    author: Option<String>,
}

async fn keep(Which { id }: Which, ctx: Ctx) -> Result<String> {
    // The host signs in; the handler sees no token.
    let request = Request::get("https://api.library.example/books").segment(id);
    let Book { title, text, author } = ctx
        .fetch_json_with(request, |head, _body| {
            (head.status == 404).then(|| ToolError::new(format!("There is no book {id}.")))
        })
        .await?;

    let svc = ctx.svc().context("the scope is declared")?;
    let feed =
        author.clone().map(|name| IngestFeed { key: name.clone(), name, label: Some("author".into()) });
    let book = IngestDocument { title: title.clone(), text: Some(text), author, feed, ..Default::default() };
    svc.ingest(vec![book]).await?;
    Ok(format!("Kept {title}."))
}
// authoring.md

fn keep_call(id: u32) -> Call {
    Call::new("keep").args(json!({ "id": id })).secret("CLIENT_ID", "shelf").secret("CLIENT_SECRET", "s-1")
}

fn library(request: &Request) -> Answer {
    match request.path() {
        "/token" => json!({ "access_token": "t-1", "token_type": "Bearer" }).into(),
        "/books/7" if request.headers()["authorization"] == "Bearer t-1" => {
            json!({ "title": "Moby Dick", "text": "Call me Ishmael.", "author": "Melville" }).into()
        }
        _ => Response::new(404, "").into(),
    }
}

#[test]
fn a_book_is_kept_and_a_missing_one_is_said_in_the_apis_words() {
    let kept = dispatch(&toolkit(), keep_call(7).fetch(library));
    let missing = dispatch(&toolkit(), keep_call(8).fetch(library));

    assert_eq!(kept.text(), "Kept Moby Dick.");
    assert_eq!(missing.failure().error, "There is no book 8.");
}

#[test]
fn the_documentation_has_this_toolkit() {
    let documentation = include_str!("../../../docs/authoring.md");
    let code = include_str!("authoring.rs").split("// authoring.md\n").nth(1).expect("the code is marked");

    assert!(documentation.contains(code), "docs/authoring.md shows another toolkit than this file");
}
