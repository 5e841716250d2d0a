//! Quality of tool search: questions in people's words over 279 tools of 44 toolkits. `questions.json` was
//! written before the ranking, `later-questions.json` after the ranking and the declarations, about tools
//! that the first set omits.

use std::path::Path;
use std::time::Duration;

use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::SEARCH_MODE;
use crate::harness::{Kitbag, Wat, eventually};

/// Questions, each with its expected tools.
const QUESTIONS: &str = include_str!("questions.json");
const LATER_QUESTIONS: &str = include_str!("later-questions.json");

/// Minimum recall@5: share of questions with an expected tool among the first five results.
const RECALL: f64 = 0.9;
const LATER_RECALL: f64 = 0.85;
/// Minimum recall@5 without a model.
const RECALL_BY_WORDS: f64 = 0.8;

/// Path of the default model as fetched by `just test-finding` and `just bench-search`; `None` if it is
/// absent.
fn model() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("search/models/all-MiniLM-L6-v2");
    folder.exists().then(|| folder.to_str().expect("UTF-8").to_owned())
}

/// Manifests of all toolkits in `tools.json`.
fn manifests() -> Vec<Value> {
    let toolkits: Value = serde_json::from_str(include_str!("tools.json")).expect("it is JSON");
    let schema = |parameters: &Value| {
        let parameters = parameters.as_object().expect("parameters").iter();
        let properties: Value = parameters
            .map(|(name, description)| {
                (name.clone(), json!({ "type": "string", "description": description }))
            })
            .collect();
        json!({ "type": "object", "properties": properties })
    };
    let tool =
        |tool: &Value| json!({ "name": tool[0], "description": tool[1], "inputSchema": schema(&tool[2]) });
    let tools =
        |toolkit: &Value| toolkit["tools"].as_array().expect("tools").iter().map(tool).collect::<Vec<_>>();
    let toolkits = toolkits.as_array().expect("toolkits").iter();
    toolkits
        .map(|toolkit| {
            json!({
                "id": toolkit["id"], "name": toolkit["name"], "description": toolkit["description"], "icon": "🧪",
                "version": "1.0.0", "visibility": "shared", "tools": tools(toolkit),
            })
        })
        .collect()
}

/// Starts a server and deploys all toolkits.
async fn server(change: impl FnOnce(&mut Settings)) -> Kitbag {
    let kitbag = Kitbag::start_with(change).await;
    for manifest in manifests() {
        let component = Wat { manifest: &manifest.to_string(), ..Wat::default() }.component();
        kitbag.as_operator().deploy(component).await.assert_status(201);
    }
    kitbag
}

/// Returns recall@5, and a description of each question without an expected tool among the first five.
async fn recall(kitbag: &Kitbag, questions: &str, user: &str) -> (f64, Vec<String>) {
    let questions: Vec<(String, Vec<String>)> =
        serde_json::from_str(questions).expect("questions with tools");
    let user = kitbag.as_user(user).at(SEARCH_MODE);
    let mut missed = Vec::new();
    for (question, expected) in &questions {
        let found = user.find_tools(json!({ "query": question, "limit": 5 })).await;
        let is_right = |tool: &Value| expected.iter().any(|expected| tool["name"] == **expected);
        if !found.iter().any(is_right) {
            let found: Vec<_> = found.iter().map(|tool| tool["name"].to_string()).collect();
            missed.push(format!("{question}: {expected:?}, not {found:?}"));
        }
    }
    let (all, missed_count) = (questions.len(), missed.len());
    #[expect(clippy::cast_precision_loss, reason = "there are a hundred")]
    let share = (all - missed_count) as f64 / all as f64;
    (share, missed)
}

#[tokio::test]
async fn four_of_five_questions_find_their_tool_by_words_alone() {
    let kitbag = server(|settings| settings.model = "none".parse().expect("a model")).await;

    let (share, missed) = recall(&kitbag, QUESTIONS, "ana").await;

    println!("recall@5 by words alone: {share:.2}");
    assert!(share >= RECALL_BY_WORDS, "{share}: {missed:#?}");
}

#[tokio::test]
#[ignore = "needs the model: `just test-finding`"]
async fn nine_of_ten_questions_find_their_tool_with_the_model() {
    let model = model().expect("`just test-finding` fetches the model");
    let kitbag = server(|settings| settings.model = model.parse().expect("a model")).await;

    // Vectors are computed in the background. Once they exist, a query without any word of a tool has
    // results.
    for (index, manifest) in manifests().iter().enumerate() {
        let endpoint = format!("{SEARCH_MODE}&toolkits={}", manifest["id"].as_str().expect("an id"));
        let user = kitbag.as_user(&format!("user-{index}")).at(endpoint.leak());
        eventually("the vectors are there", async || {
            sleep(Duration::from_millis(100)).await;
            !user.find_tools(json!({ "query": "xyzzy" })).await.is_empty()
        })
        .await;
    }
    let (share, missed) = recall(&kitbag, QUESTIONS, "ana").await;
    let (later_share, later_missed) = recall(&kitbag, LATER_QUESTIONS, "ben").await;

    println!("recall@5 with the model: {share:.2}, and of later questions {later_share:.2}");
    assert!(share >= RECALL, "{share}: {missed:#?}");
    assert!(later_share >= LATER_RECALL, "{later_share}: {later_missed:#?}");
}
