//! `kitbag search`

mod highlight;

use std::fmt::Write as _;
use std::ops::Range;

use clap::Args;
use kitbag_knowledge::{Coverage, DEFAULT_RESULTS, MAX_RESULTS, MINE, NO_GOOD_MATCH};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::client::{Client, Connection};
use super::error::CliError;
use super::output::report;
use super::terminal::{Screen, Text, note, say, text};
use highlight::mark;

const QUERY: &str =
    "query ($q: String!, $limit: Int, $after: String, $source: String, $author: String, $in: [String!]) {
  search(
    query: $q, operators: true, limit: $limit, after: $after, source: $source, author: $author, collections: $in
  ) {
    mode
    coverage { embedded documents }
    goodMatch
    results {
      document { id title url author collection source feed { name label } }
      snippet matches { start end } score
    }
    pageInfo { endCursor hasNextPage }
  }
}";

/// Collections that are searched at once.
const MAX_COLLECTIONS: usize = 64;

/// Search your documents, and those of your collections.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag search \"who decided on the new pricing?\"
  kitbag search pricing --source notes --limit 3
  kitbag search pricing --in handbook --in mine
  kitbag search '\"new pricing\" title:minutes -draft'
  kitbag search pricing --author \"Ana Silva\" --json | jq -r '.results[].document.id'

Ask in your own words: with a model the server finds what means the same, without one what has the \
words. `\"a phrase\"`, `title:word`, `source:name` and `in:collection` narrow the results, and a `-` before one or before a word leaves out \
what has it; single quotes around the query keep the shell from reading it, and `--` comes before one that begins with `-`. \
`kitbag documents show ID` prints a document.")]
pub(super) struct Search {
    /// What to look for.
    #[arg(required = true)]
    words: Vec<String>,
    /// Results at most.
    #[arg(long, default_value_t = DEFAULT_RESULTS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RESULTS)))]
    limit: u32,
    /// Only in this collection, by its id; `mine` are your own documents. May be repeated.
    #[arg(long = "in", value_name = "COLLECTION|mine")]
    within: Vec<String>,
    /// Only documents of this source: the id of a toolkit, or `user` for what you ingested yourself.
    #[arg(long)]
    source: Option<String>,
    /// Only documents with this byline.
    #[arg(long)]
    author: Option<String>,
    /// Go on after a page: the `endCursor` of its JSON.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Deserialize)]
struct SearchResponse {
    search: Found,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    mode: String,
    coverage: Option<Covered>,
    good_match: bool,
    results: Vec<Hit>,
    page_info: PageInfo,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
struct Covered {
    embedded: usize,
    documents: usize,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    end_cursor: Option<String>,
    has_next_page: bool,
}

#[derive(Deserialize, Serialize)]
struct Hit {
    document: Document,
    snippet: String,
    matches: Vec<Match>,
    score: f64,
}

/// Range of a query word in a snippet, in characters.
#[derive(Clone, Copy, Deserialize, Serialize)]
struct Match {
    start: usize,
    end: usize,
}

#[derive(Deserialize, Serialize)]
struct Document {
    id: String,
    title: String,
    url: Option<String>,
    author: Option<String>,
    /// `None` for the user's own documents.
    collection: Option<String>,
    source: String,
    feed: Option<Feed>,
}

#[derive(Deserialize, Serialize)]
struct Feed {
    name: String,
    label: Option<String>,
}

impl Search {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let words = self.words.join(" ");
        let variables = json!({
            "q": words,
            "limit": self.limit,
            "after": self.after,
            "source": self.source,
            "author": self.author,
            "in": Some(&self.within).filter(|names| !names.is_empty()),
        });
        let client = self.connection.open().await?;
        check_collections(&client, &self.within).await?;
        let SearchResponse { search: found } = client.ask(QUERY, variables).await?;
        if found.mode == "FULL_TEXT" {
            note!("words only: the server has no model for meaning (`kitbag model fetch` gets one)");
        }
        let coverage = found.coverage.map(|it| Coverage { embedded: it.embedded, documents: it.documents });
        if let Some(coverage) = coverage.and_then(Coverage::note) {
            note!("{}", Text::prose(&coverage));
        }
        if !found.good_match && !found.results.is_empty() {
            note!("{}", Text::prose(NO_GOOD_MATCH));
        }
        report(&found, || print(&found))
    }
}

/// Fails if a collection is none that the user may read: a search would find nothing there.
async fn check_collections(client: &Client, names: &[String]) -> Result<(), CliError> {
    // More of them are refused by the search.
    let names: Vec<_> = names.iter().filter(|name| *name != MINE).take(MAX_COLLECTIONS).collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut declared = String::new();
    let mut fields = String::new();
    let mut variables = Map::new();
    for (index, name) in names.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(declared, "$c{index}: String! ");
        let _ = write!(fields, "c{index}: collection(id: $c{index}) {{ id }} ");
        variables.insert(format!("c{index}"), Value::from(name.as_str()));
    }
    let query = format!("query ({declared}) {{ {fields} }}");
    let answer: Value = client.ask(&query, Value::Object(variables)).await?;
    match names.iter().enumerate().find(|(index, _)| answer[format!("c{index}")].is_null()) {
        None => Ok(()),
        Some((_, unknown)) => Err(CliError::new(format!("there is no collection {unknown}"))
            .hint("`kitbag collection list` lists those that you may read")),
    }
}

fn print(found: &Found) {
    if found.results.is_empty() {
        say!("Nothing was found. `kitbag documents` lists what there is.");
    }
    let screen = Screen::of_stdout();
    for (index, hit) in found.results.iter().enumerate() {
        let result = shown(hit, screen);
        if index == 0 { say!("{}", result) } else { say!("\n{}", result) }
    }
    if found.page_info.has_next_page {
        let cursor = found.page_info.end_cursor.as_deref().unwrap_or_default();
        note!("\nThere is more: the same command with --after {}", cursor);
    }
}

/// Formats a result: title, source, snippet, and how to open the document.
fn shown(hit: &Hit, screen: Screen) -> Text {
    let document = &hit.document;
    let found: Vec<Range<usize>> = hit.matches.iter().map(|Match { start, end }| *start..*end).collect();
    let prose = Text::prose;
    let mut origin = prose(&document.source);
    if let Some(collection) = &document.collection {
        origin = text!("{} · {}", prose(collection), origin);
    }
    if let Some(Feed { name, label }) = &document.feed {
        let label = label.as_ref().map(|label| text!("{} ", prose(label))).unwrap_or_default();
        origin = text!("{} · {}{}", origin, label, prose(name));
    }
    if let Some(author) = &document.author {
        origin = text!("{} · {}", origin, prose(author));
    }
    let mut lines = vec![
        text!("{}  {}", screen.bold(&prose(&document.title)), screen.dim(&origin)),
        text!("  {}", mark(&hit.snippet, &found, screen)),
    ];
    lines.extend(document.url.as_ref().map(|url| text!("  {}", prose(url))));
    lines.push(text!("  {}", screen.dim(&prose(&document.id))));
    Text::lines(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_what_it_is_and_where_from_and_steers_no_terminal() {
        let hit = Hit {
            document: Document {
                id: "d-1".to_owned(),
                title: "Minutes\n\u{1b}[2J".to_owned(),
                url: Some("https://a.example/".to_owned()),
                author: Some("Ana".to_owned()),
                collection: Some("handbook".to_owned()),
                source: "notes".to_owned(),
                feed: Some(Feed { name: "Board".to_owned(), label: Some("series".to_owned()) }),
            },
            snippet: "All  were\nthere.".to_owned(),
            matches: vec![Match { start: 10, end: 15 }],
            score: 1.0,
        };
        let shown = |screen| shown(&hit, screen).as_str().to_owned();

        assert_eq!(
            shown(Screen::Plain),
            "Minutes \\u{1b}[2J  handbook · notes · series Board · Ana\n  All were there.\n  https://a.example/\n  d-1"
        );
        assert!(shown(Screen::Terminal).contains("All were \u{1b}[1mthere\u{1b}[0m."));
    }
}
