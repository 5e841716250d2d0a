//! The tool `clipped`: searches clipped pages.

use std::fmt::Write as _;

use kitbag_toolkit::prelude::*;

use crate::site;

/// Maximum results of one search, before results of other sites are filtered out.
const MAX_SEARCH_RESULTS: u32 = 50;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ClippedArgs {
    /// What to look for, in the user's words.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Only pages of this site, such as en.wikipedia.org.
    site: Option<String>,
    /// Maximum number of pages.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
}

/// Pages that were found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Pages {
    /// Best match first.
    pages: Vec<SearchResult>,
}

pub(crate) async fn clipped(args: ClippedArgs, ctx: Ctx) -> Result<Structured<Pages>> {
    let site = args.site.as_deref().map(site::named);
    let options = SearchOptions {
        limit: Some(if site.is_some() { MAX_SEARCH_RESULTS } else { args.limit }),
        source: Some("clipper".into()),
        author: None,
    };

    let found = ctx.svc().context("the toolkit declares its scopes")?.search(&args.query, options).await?;

    let is_wanted = |page: &SearchResult| site.is_none() || page.document.feed == site;
    let pages: Vec<_> = found.into_iter().filter(is_wanted).take(args.limit as usize).collect();
    Ok(Structured::new(describe(&pages), Pages { pages }))
}

fn describe(pages: &[SearchResult]) -> String {
    if pages.is_empty() {
        return "No clipped page was found.".to_owned();
    }
    let mut text = String::new();
    for SearchResult { document, snippet, .. } in pages {
        let url = document.url.as_deref().unwrap_or(&document.id);
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\n{url}\n{snippet}\n\n", document.title);
    }
    text.trim_end().to_owned()
}

fn ten() -> u32 {
    10
}
