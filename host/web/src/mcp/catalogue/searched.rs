//! Search index of one toolkit's tools: their words, and their vectors once computed. Built once for each
//! live version and shared by all users: each search selects the visible tools first.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use kitbag_access::values::knowledge::brief::BriefText;
use kitbag_access::values::toolkits::names_of;
use kitbag_base::shares::Share;
use kitbag_embedding::rows::{Probe, Rows};
use rmcp::model::Tool;
use serde_json::Value;

/// Maximum bytes of a description for the embedding model: more than its context window.
const MAX_DESCRIPTION_BYTES: usize = 2 << 10;
/// Maximum number of parameters in the index, and of bytes of each description.
const MAX_PARAMETERS: usize = 100;
const MAX_PARAMETER_BYTES: usize = 200;
/// Minimum time before vectors are requested again after a failure.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);

/// A toolkit's tools by index.
pub(super) struct SearchedTools {
    pub(super) toolkit: String,
    tools: Vec<Arc<Tool>>,
    words: OnceLock<Vec<BriefText>>,
    vectors: OnceLock<ToolVectors>,
    progress: Mutex<Progress>,
}

/// Vectors of tools, one row each.
pub(super) struct ToolVectors {
    pub(super) rows: Rows,
    /// Memory reserved for the vectors.
    pub(super) room: Share,
}

/// State of vectors that are not available yet.
enum Progress {
    NotWanted,
    Wanted,
    FailedAt(Instant),
}

impl SearchedTools {
    pub(super) fn new(toolkit: &str, tools: Vec<Arc<Tool>>) -> Self {
        let words = OnceLock::new();
        let vectors = OnceLock::new();
        let progress = Mutex::new(Progress::NotWanted);
        Self { toolkit: toolkit.to_owned(), tools, words, vectors, progress }
    }

    pub(super) fn tool(&self, index: usize) -> &Arc<Tool> {
        &self.tools[index]
    }

    /// Returns the words of each tool. The first call takes some milliseconds.
    pub(super) fn words(&self) -> &[BriefText] {
        self.words.get_or_init(|| self.tools.iter().map(|tool| words(tool)).collect())
    }

    /// Returns the cosine similarities of some tools to a query; `None` without vectors.
    pub(super) fn cosines(&self, probe: &Probe, indexes: &[usize]) -> Option<Vec<f32>> {
        let ToolVectors { rows, .. } = self.vectors.get()?;
        let row = |index: &usize| (u32::try_from(*index).unwrap_or(u32::MAX), 0.0);
        let mut products: Vec<_> = indexes.iter().map(row).collect();
        rows.multiply(probe, &mut products);
        Some(products.into_iter().map(|(_, product)| product).collect())
    }

    /// Whether the caller must compute the vectors; `true` for one caller at a time.
    pub(super) fn begin(&self) -> bool {
        if self.vectors.get().is_some() {
            return false;
        }
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = match *progress {
            Progress::NotWanted => true,
            Progress::Wanted => false,
            Progress::FailedAt(time) => time.elapsed() >= RETRY_INTERVAL,
        };
        if is_due {
            *progress = Progress::Wanted;
        }
        is_due
    }

    /// Ends a computation that [`begin`](Self::begin) started; without vectors, a later call may retry.
    pub(super) fn end(&self, vectors: Option<ToolVectors>) {
        if let Some(vectors) = vectors {
            return drop(self.vectors.set(vectors));
        }
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        *progress = Progress::FailedAt(Instant::now());
    }

    /// Returns the text of each tool for the embedding model.
    pub(super) fn texts(&self) -> impl ExactSizeIterator<Item = String> + '_ {
        self.tools.iter().map(|tool| text(tool))
    }
}

/// Indexes a tool's words; names weigh more than descriptions.
fn words(tool: &Tool) -> BriefText {
    let parameters = parameters(tool).map(|(name, description)| format!("{name}\n{description}"));
    let parameters = parameters.collect::<Vec<_>>().join("\n");
    BriefText::new(&names(tool), &format!("{}\n{parameters}", description(tool)))
}

/// Text for the embedding model: full sentences, as in its training. Parameters and the toolkit's id did not
/// improve results.
fn text(tool: &Tool) -> String {
    let description = description(tool);
    let description = &description[..description.floor_char_boundary(MAX_DESCRIPTION_BYTES)];
    let name = names_of(&tool.name).map_or(&*tool.name, |(_, name)| name);
    let title = tool.title.clone().unwrap_or_else(|| in_words(name));
    format!("{description} ({title})")
}

/// The toolkit's id, the tool's name and its title, split into words.
fn names(tool: &Tool) -> String {
    format!("{} {}", in_words(&tool.name), tool.title.as_deref().unwrap_or_default())
}

fn description(tool: &Tool) -> &str {
    tool.description.as_deref().unwrap_or_default()
}

/// Parameters of a tool: names, split into words, and descriptions.
fn parameters(tool: &Tool) -> impl Iterator<Item = (String, &str)> {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().take(MAX_PARAMETERS).map(|(name, schema)| {
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        (in_words(name), &description[..description.floor_char_boundary(MAX_PARAMETER_BYTES)])
    })
}

/// Splits an identifier into words: `find_freeTime` becomes `find free Time`.
fn in_words(identifier: &str) -> String {
    let mut words = String::with_capacity(identifier.len() + 8);
    let mut was_lowercase = false;
    for letter in identifier.chars().take(MAX_PARAMETER_BYTES) {
        if letter.is_uppercase() && was_lowercase {
            words.push(' ');
        }
        was_lowercase = letter.is_lowercase() || letter.is_numeric();
        words.push(if letter.is_alphanumeric() { letter } else { ' ' });
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn identifiers_are_split_into_words() {
        for (identifier, words) in [
            ("find_freeTime", "find free Time"),
            ("github__create-issue", "github  create issue"),
            ("GitHub", "Git Hub"),
            ("HTTPStatus2Code", "HTTPStatus2 Code"),
            ("", ""),
        ] {
            assert_eq!(in_words(identifier), words);
        }
    }

    #[test]
    fn the_model_reads_names_description_and_parameters_within_bounds() {
        let schema =
            json!({ "type": "object", "properties": { "placeId": { "description": "Of a city." } } });
        let schema = schema.as_object().expect("an object").clone();
        let tool = Tool::new("maps__time_zone", "Time zone of a place.", Arc::new(schema)).with_title("Zone");

        assert_eq!(text(&tool), "Time zone of a place. (Zone)");
        let schema =
            json!({ "type": "object", "properties": { "placeId": { "description": "Of a city." } } });
        let schema = schema.as_object().expect("an object").clone();
        let tool = Tool::new("maps__time_zone", "", Arc::new(schema));
        assert_eq!(parameters(&tool).collect::<Vec<_>>(), [("place Id".to_owned(), "Of a city.")]);

        let long = Tool::new("a__b", "ä".repeat(100_000), Arc::default());
        assert!(text(&long).len() < MAX_DESCRIPTION_BYTES + 20);
    }

    #[test]
    fn vectors_are_made_by_one_and_after_a_failure_not_at_once_again() {
        let tools = SearchedTools::new("a", vec![Arc::new(Tool::new("a__b", "", Arc::default()))]);

        assert!(tools.begin() && !tools.begin());
        tools.end(None);
        assert!(!tools.begin());
    }
}
