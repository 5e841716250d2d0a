//! The tool `clip`: stores a page.

use kitbag_toolkit::prelude::*;

use crate::site;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ClipArgs {
    /// URL of the page, with https:// or http://.
    #[schemars(length(min = 8, max = 2048))]
    url: String,
    /// Title of the page, if it is known.
    #[schemars(length(min = 1, max = 500))]
    title: Option<String>,
    /// Author of the page, if known.
    #[schemars(length(min = 1, max = 200))]
    author: Option<String>,
}

/// The page that was stored.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Clipped {
    url: String,
    /// Site of the page; pages of one site are stored together.
    site: String,
}

pub(crate) async fn clip(args: ClipArgs, ctx: Ctx) -> Result<Structured<Clipped>> {
    let url = args.url.trim().to_owned();
    let site = site::of_page(&url)?;
    let page = IngestDocument {
        title: args.title.unwrap_or_else(|| url.clone()),
        url: Some(url.clone()),
        author: args.author,
        file_url: Some(url.clone()),
        feed: Some(IngestFeed { key: site.clone(), name: site.clone(), label: Some("site".into()) }),
        ..IngestDocument::default()
    };

    ctx.svc().context("the toolkit declares its scopes")?.ingest(vec![page]).await?;

    let text = format!("Clipped {url}. The page is being fetched, and can be searched shortly.");
    Ok(Structured::new(text, Clipped { url, site }))
}
