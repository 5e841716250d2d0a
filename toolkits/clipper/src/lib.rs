//! A web clipper: stores web pages, and searches them.
//!
//! A toolkit can reach only hosts that it lists, and it cannot list the whole web. So the clipper sends no
//! requests: it passes the page's URL to the knowledge base, which fetches it like any file (from the public
//! internet only), stores it and extracts its text.

mod clip;
mod clipped;
mod site;

use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

/// The toolkit's definition.
pub fn toolkit() -> Toolkit {
    Toolkit::new("clipper", "Web clipper")
        .description("Keeps web pages in your knowledge base, sorted by site, and finds them again.")
        .icon("📎")
        .version(env!("CARGO_PKG_VERSION"))
        .visibility(Visibility::Shared)
        .scope(Scope::Search)
        .scope(Scope::Ingest)
        .tool(
            Tool::new("clip", clip::clip)
                .title("Clip a page")
                .description(
                    "Keeps the web page at a URL in the user's knowledge base: the page itself, and its \
                     readable text to search. Clipping a page again brings it up to date.",
                )
                .mutating()
                .destructive_hint(false)
                .idempotent_hint(true)
                .open_world_hint(true),
        )
        .tool(
            Tool::new("clipped", clipped::clipped)
                .title("Find clipped pages")
                .description("Searches the pages that the user has clipped; of all sites, or of one.")
                .read_only_hint(true),
        )
}

#[cfg(test)]
mod tests;
