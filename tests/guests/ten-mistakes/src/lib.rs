//! Breaks at least one rule in every part of a declaration, so that a test can check that all problems are
//! reported at once.

use guest_support::serde_json::{Value, json};
use guest_support::{
    Auth, ConfigField, ConfigKind, Invocation, OAuth2ClientCredentials, Outcome, ToolDefinition,
    ToolkitDefinition, Visibility, tool, unknown,
};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    ToolkitDefinition {
        kitbag: None,
        id: "Ten Mistakes!".to_owned(),
        name: "  ".to_owned(),
        description: "Two\nlines.".to_owned(),
        icon: "http://icons.test/mistake.png".to_owned(),
        version: "one".to_owned(),
        author: Some(String::new()),
        tools: vec![
            ToolDefinition { input_schema: json!({"type":"array"}), ..tool("do it", "Has a space.") },
            ToolDefinition { output_schema: Some(json!("no schema")), ..tool("twice", "Has a twin.") },
            ToolDefinition { title: Some(String::new()), ..tool("twice", "") },
        ],
        prompts: Vec::new(),
        resources: Vec::new(),
        secrets: strings(&["lower_case", "API_KEY", "API_KEY"]),
        egress: strings(&["*.example.com", "https://api.example.com", "user@api.example.com"]),
        scopes: strings(&["svc:everything"]),
        config: [
            config_field("no-identifier", ConfigKind::String, None),
            config_field("nothing_to_choose", ConfigKind::Select, None),
            config_field("wrong_default", ConfigKind::Number, Some(json!("five"))),
        ]
        .into(),
        visibility: Visibility::Shared,
        auth: Auth::ClientCredentials(OAuth2ClientCredentials {
            token_url: "http://token.example.com/".to_owned(),
            client_id_secret: "CLIENT_ID".to_owned(),
            client_secret_secret: "CLIENT_SECRET".to_owned(),
            api_host: "unlisted.example.com".to_owned(),
            ..OAuth2ClientCredentials::default()
        })
        .into(),
    }
}

fn call(invocation: &Invocation) -> Outcome {
    unknown(&invocation.tool)
}

fn config_field(key: &str, kind: ConfigKind, default: Option<Value>) -> (String, ConfigField) {
    (key.to_owned(), ConfigField { kind, default, ..ConfigField::default() })
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}
