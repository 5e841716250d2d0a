//! The tools `find` and `list`.

use std::fmt::Write as _;

use kitbag_toolkit::prelude::*;

use crate::note::{self, TITLE_PREFIX};

/// Maximum results of one search, before notes of other notebooks are filtered out.
const MAX_SEARCH_RESULTS: u32 = 50;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct FindArgs {
    /// What to look for, in the user's words.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Only notes of this notebook.
    notebook: Option<String>,
    /// Maximum number of notes.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListArgs {
    /// Only notes of this notebook.
    notebook: Option<String>,
}

/// Notes of the user.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Notes {
    notes: Vec<Found>,
}

/// One note.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    id: String,
    title: String,
    notebook: Option<String>,
    /// The passage that matched best.
    passage: String,
}

pub(crate) async fn find(args: FindArgs, ctx: Ctx) -> Result<Structured<Notes>> {
    let FindArgs { query, notebook, limit } = args;

    let mut notes = search(&ctx, &query, notebook.as_deref()).await?;
    notes.truncate(limit as usize);

    let mut text = String::new();
    for note in &notes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\n{}\n\n", heading(note), note.passage);
    }
    Ok(answer(&text, notes))
}

pub(crate) async fn list(args: ListArgs, ctx: Ctx) -> Result<Structured<Notes>> {
    let mut notes = search(&ctx, TITLE_PREFIX, args.notebook.as_deref()).await?;
    notes.sort_by_cached_key(|note| (note.notebook.clone(), note.title.to_lowercase()));

    let lines: Vec<_> = notes.iter().map(heading).collect();
    Ok(answer(&lines.join("\n"), notes))
}

async fn search(ctx: &Ctx, query: &str, notebook: Option<&str>) -> Result<Vec<Found>> {
    let svc = ctx.svc().context("the toolkit declares its scopes")?;
    let options =
        SearchOptions { limit: Some(MAX_SEARCH_RESULTS), source: Some("notes".into()), author: None };
    let found = svc.search(query, options).await?;
    let wanted = found
        .into_iter()
        .filter(|result| notebook.is_none_or(|notebook| note::is_in(&result.document, notebook)));
    Ok(wanted
        .map(|SearchResult { document, snippet, .. }| Found {
            title: note::title(&document).to_owned(),
            id: document.id,
            notebook: document.feed,
            passage: snippet,
        })
        .collect())
}

fn heading(note: &Found) -> String {
    note.notebook.as_ref().map_or_else(|| note.title.clone(), |name| format!("{} ({name})", note.title))
}

fn answer(text: &str, notes: Vec<Found>) -> Structured<Notes> {
    let text =
        if notes.is_empty() { "There are no such notes.".to_owned() } else { text.trim_end().to_owned() };
    Structured::new(text, Notes { notes })
}

fn ten() -> u32 {
    10
}
