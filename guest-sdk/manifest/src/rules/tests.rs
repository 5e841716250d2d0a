use serde_json::json;

use crate::{
    AuthKind, ConfigField, ConfigKind, OAuth2ClientCredentials, Problems, ToolDefinition, ToolkitDefinition,
    validate,
};

fn good() -> ToolkitDefinition {
    ToolkitDefinition {
        id: "books".into(),
        name: "Books".into(),
        description: "Finds books.".into(),
        icon: "📚".into(),
        version: "1.0.0".into(),
        tools: vec![ToolDefinition {
            name: "find".into(),
            description: "Finds a book.".into(),
            input_schema: json!({ "type": "object" }),
            ..ToolDefinition::default()
        }],
        ..ToolkitDefinition::default()
    }
}

/// Returns the paths of all problems of a changed declaration, in order.
fn paths(change: impl FnOnce(&mut ToolkitDefinition)) -> Vec<String> {
    let mut definition = good();
    change(&mut definition);
    match validate(definition) {
        Ok(_) => Vec::new(),
        Err(Problems(problems)) => problems.into_iter().map(|problem| problem.path).collect(),
    }
}

#[test]
fn a_good_declaration_passes_with_its_defaults_made_explicit() {
    let valid = validate(good()).expect("it keeps every rule");

    assert_eq!(valid.tools[0].annotations.read_only_hint, Some(true));
    assert_eq!(valid.tools[0].annotations.open_world_hint, Some(false));
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = paths(|it| {
        it.id = "Books!".into();
        it.name = " ".into();
        it.description = "two\nlines".into();
        it.icon = "📚📚".into();
        it.version = "1".into();
        it.tools.push(it.tools[0].clone());
        it.tools[0].input_schema = json!({ "type": "array" });
        it.secrets = vec!["lower".into(), "A__B".into()];
        it.egress = vec!["https://x.example".into()];
        it.scopes = vec!["svc:everything".into()];
    });

    assert_eq!(
        found,
        [
            "id",
            "name",
            "description",
            "icon",
            "version",
            "tools[0].input",
            "tools[1].name",
            "secrets[0]",
            "secrets[1]",
            "egress[0]",
            "scopes[0]"
        ]
    );
}

#[test]
fn a_toolkit_needs_a_tool() {
    assert_eq!(paths(|it| it.tools.clear()), ["tools"]);
}

#[test]
fn egress_takes_bare_hosts_only() {
    for entry in
        ["api.example.com", "api.example.com:8443", "127.0.0.1:9000", "[::1]:80", "xn--bcher-kva.example"]
    {
        assert!(paths(|it| it.egress = vec![entry.into()]).is_empty(), "{entry} is fine");
    }
    for entry in [
        "",
        "*.example.com",
        "https://a.example",
        "a.example/x",
        "u:p@a.example",
        "A.example",
        "a.example.",
        "bücher.example",
        "127.1",
        "0x7f.0.0.1",
        "a.example:0",
        "a.example:99999",
        "a.example:",
        "a b",
        "::1",
        "a.example:+1",
    ] {
        assert_eq!(paths(|it| it.egress = vec![entry.into()]), ["egress[0]"], "{entry} is refused");
    }
}

#[test]
fn icons_are_an_emoji_or_an_https_url() {
    for icon in ["✂️", "👩‍🚀", "https://x.example/icon.png"] {
        assert!(paths(|it| it.icon = icon.into()).is_empty(), "{icon} is fine");
    }
    for icon in ["", "x", "http://x.example/i.png", "✂️✂️", "data:image/png;base64,"] {
        assert_eq!(paths(|it| it.icon = icon.into()), ["icon"], "{icon} is refused");
    }
}

#[test]
fn settings_are_typed() {
    let select = ConfigField { kind: ConfigKind::Select, label: "Order".into(), ..ConfigField::default() };
    let found = paths(|it| {
        it.config = [
            ("a-b".to_owned(), ConfigField { label: "x".into(), ..ConfigField::default() }),
            ("none".to_owned(), select.clone()),
            (
                "wrong".to_owned(),
                ConfigField { options: vec!["a".into()], default: Some(json!("b")), ..select.clone() },
            ),
            (
                "number".to_owned(),
                ConfigField { kind: ConfigKind::Number, default: Some(json!("5")), ..ConfigField::default() },
            ),
        ]
        .into();
    });

    assert_eq!(
        found,
        [
            "config.a-b",
            "config.none.options",
            "config.number.label",
            "config.number.default",
            "config.wrong.default"
        ]
    );
}

#[test]
fn outbound_sign_in_names_only_what_is_listed() {
    let auth = OAuth2ClientCredentials {
        kind: AuthKind::default(),
        token_url: "https://auth.example/token".into(),
        client_id_secret: "ID".into(),
        client_secret_secret: "SECRET".into(),
        scope: None,
        api_host: "api.example".into(),
    };

    assert_eq!(
        paths(|it| it.auth = Some(auth.clone())),
        ["auth.tokenUrl", "auth.clientIdSecret", "auth.clientSecretSecret", "auth.apiHost"]
    );
    assert!(
        paths(|it| {
            it.auth = Some(auth.clone());
            it.secrets = vec!["ID".into(), "SECRET".into()];
            it.egress = vec!["auth.example".into(), "api.example".into()];
        })
        .is_empty()
    );
    assert_eq!(
        paths(|it| {
            it.auth = Some(OAuth2ClientCredentials { token_url: "http://auth.example/token".into(), ..auth });
            it.secrets = vec!["ID".into(), "SECRET".into()];
            it.egress = vec!["auth.example".into(), "api.example".into()];
        }),
        ["auth.tokenUrl"]
    );
}

#[test]
fn patterns_are_bounded_for_all_tools_together() {
    let tool = |pattern: String, index: usize, keyword: &str| ToolDefinition {
        name: format!("find{index}"),
        input_schema: match keyword {
            "pattern" => json!({ "type": "object", "properties": { "a": { "pattern": pattern } } }),
            keyword => json!({ "type": "object", keyword: { pattern: {} } }),
        },
        ..good().tools[0].clone()
    };
    let tools = |count: usize, length: usize, keyword: &str| {
        let tools = (0..count).map(|index| tool(format!("^[a-z]{{{length}}}$"), index, keyword)).collect();
        paths(|it| it.tools = tools)
    };

    assert_eq!(tools(16, 8000, "pattern"), [""; 0]);
    assert_eq!(tools(17, 8000, "pattern"), ["tools"]);
    assert_eq!(tools(4, 200, "patternProperties"), [""; 0]);
    assert_eq!(tools(24, 200, "patternProperties"), ["tools"]);
}
