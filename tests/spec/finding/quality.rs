//! How good finding is: 100 questions in people's words, made before the ranking was, to 279 tools of 44 toolkits.

use std::path::Path;

use kitbag::settings::Settings;
use serde_json::{Value, json};

use super::SEARCH_MODE;
use crate::harness::{Kitbag, Wat, eventually};

/// Share of the questions of which a right tool is among the first five.
const BY_MEANING: f64 = 0.9;
/// The same without a model.
const BY_WORDS: f64 = 0.6;

/// The default model, as `just install-model` and `just bench-search` fetch it.
fn model() -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("search/models/all-MiniLM-L6-v2");
    folder.exists().then(|| folder.to_str().expect("UTF-8").to_owned())
}

/// The declarations of all toolkits.
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
                "id": toolkit["id"], "name": toolkit["name"], "description": "As a public API.", "icon": "🧪",
                "version": "1.0.0", "visibility": "shared", "tools": tools(toolkit),
            })
        })
        .collect()
}

/// A server with all toolkits.
async fn server(change: impl FnOnce(&mut Settings)) -> Kitbag {
    let kitbag = Kitbag::start_with(change).await;
    for manifest in manifests() {
        let component = Wat { manifest: &manifest.to_string(), ..Wat::default() }.component();
        kitbag.as_operator().deploy(component).await.assert_status(201);
    }
    kitbag
}

/// The share of the questions that are answered within five tools, and the other questions.
async fn recall(kitbag: &Kitbag, user: &str) -> (f64, Vec<String>) {
    let questions: Vec<(String, Vec<String>)> =
        serde_json::from_str(include_str!("questions.json")).expect("questions with tools");
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
async fn most_questions_find_their_tool_by_words_alone() {
    let kitbag = server(|settings| settings.model = "none".parse().expect("a model")).await;

    let (share, missed) = recall(&kitbag, "ana").await;

    println!("recall@5 by words alone: {share:.2}\n{}", missed.join("\n"));
    assert!(share >= BY_WORDS, "{share}: {missed:#?}");
}

#[tokio::test]
async fn nine_of_ten_questions_find_their_tool_with_the_model() {
    let Some(model) = model() else {
        println!("there is no model: `just install-model` fetches it");
        return;
    };
    let kitbag = server(|settings| settings.model = model.parse().expect("a model")).await;
    let (by_words, _) = recall(&kitbag, "nobody-waits").await;

    // Vectors are made in the background. Each round is that of another user, whose rate is limited.
    let (mut best, mut last, mut round) = (by_words, by_words, 0);
    eventually("nine of ten tools are found", async || {
        round += 1;
        let (share, missed) = recall(&kitbag, &format!("user-{round}")).await;
        if (share - last).abs() > f64::EPSILON {
            println!("recall@5 with the model, round {round}: {share:.2}\n{}", missed.join("\n"));
        }
        (best, last) = (best.max(share), share);
        share >= BY_MEANING
    })
    .await;
}
