//! Tools that use the knowledge base.

use kitbag_toolkit::prelude::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SearchArgs {
    query: String,
    limit: Option<u32>,
}

pub(crate) async fn search(args: SearchArgs, ctx: Ctx) -> Result<String> {
    let options = SearchOptions { limit: args.limit, ..SearchOptions::default() };
    Ok(svc(&ctx)?.search(&args.query, options).await?.len().to_string())
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Id {
    id: String,
}

pub(crate) async fn document(args: Id, ctx: Ctx) -> Result<String> {
    Ok(svc(&ctx)?.get_document(&args.id).await?.text)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Documents {
    documents: Vec<NewDocument>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NewDocument {
    title: String,
    text: Option<String>,
    url: Option<String>,
    author: Option<String>,
    file_url: Option<String>,
    audio_url: Option<String>,
    mime_type: Option<String>,
    #[serde(default)]
    capture_only: bool,
    feed: Option<Feed>,
}

#[derive(Deserialize, JsonSchema)]
struct Feed {
    key: String,
    name: String,
    label: Option<String>,
}

pub(crate) async fn ingest(args: Documents, ctx: Ctx) -> Result<String> {
    let documents = args.documents.into_iter().map(Into::into).collect();
    Ok(svc(&ctx)?.ingest(documents).await?.to_string())
}

impl From<NewDocument> for IngestDocument {
    fn from(it: NewDocument) -> Self {
        Self {
            title: it.title,
            text: it.text,
            url: it.url,
            author: it.author,
            file_url: it.file_url,
            audio_url: it.audio_url,
            mime_type: it.mime_type,
            capture_only: it.capture_only,
            feed: it.feed.map(|Feed { key, name, label }| IngestFeed { key, name, label }),
            ..Self::default()
        }
    }
}

fn svc(ctx: &Ctx) -> Result<Svc> {
    ctx.svc().context("the scopes are declared")
}
