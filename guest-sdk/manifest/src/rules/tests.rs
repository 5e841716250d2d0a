use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    Auths, ConfigField, ConfigKind, OWN_PARAMETERS, Problems, ToolDefinition, ToolkitDefinition, validate,
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
    for icon in
        ["", "x", "http://x.example/i.png", "https://u:p@x.example/i.png", "✂️✂️", "data:image/png;base64,"]
    {
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

/// Returns the paths of all problems of a declaration with this `auth`, which lists the hosts `a.example` and
/// `b.example` and the secret `KEY`.
fn sign_in_problems(auth: Value) -> Vec<String> {
    paths(|it| {
        it.auth = serde_json::from_value(auth).expect("it fits the schema");
        it.secrets = vec!["KEY".into()];
        it.egress = vec!["a.example".into(), "b.example".into()];
    })
}

fn with(mut value: Value, change: &Value) -> Value {
    for (name, changed) in change.as_object().expect("an object") {
        value[name] = changed.clone();
    }
    value
}

#[test]
fn a_grant_to_the_toolkit_names_only_what_is_listed() {
    let auth = json!({
        "type": "oauth2_client_credentials", "tokenUrl": "https://a.example/token",
        "clientIdSecret": "KEY", "clientSecretSecret": "KEY", "apiHost": "b.example",
    });

    assert_eq!(sign_in_problems(auth.clone()), [""; 0]);
    for (change, expected) in [
        (json!({ "tokenUrl": "https://c.example/token" }), "auth.tokenUrl"),
        (json!({ "tokenUrl": "http://a.example/token" }), "auth.tokenUrl"),
        (json!({ "tokenUrl": "https://u:p@a.example/token" }), "auth.tokenUrl"),
        (json!({ "tokenUrl": "https://a.example/token#x" }), "auth.tokenUrl"),
        (json!({ "clientIdSecret": "OTHER" }), "auth.clientIdSecret"),
        (json!({ "clientSecretSecret": "OTHER" }), "auth.clientSecretSecret"),
        (json!({ "apiHost": "c.example" }), "auth.apiHost"),
        (json!({ "apiHost": "https://b.example" }), "auth.apiHost"),
    ] {
        assert_eq!(sign_in_problems(with(auth.clone(), &change)), [expected], "{change}");
    }
}

#[test]
fn an_account_is_connected_and_used_over_protected_urls_and_its_parameters_are_the_servers() {
    let auth = json!({
        "type": "oauth2_authorization_code", "authorizationUrl": "https://elsewhere.example/authorize?tenant=1",
        "tokenUrl": "https://a.example/token", "clientIdSecret": "ID", "apiHost": "b.example",
        "authorizationParams": { "prompt": "consent" }, "revocationUrl": "https://a.example/revoke",
    });

    assert_eq!(sign_in_problems(auth.clone()), [""; 0]);
    let many: BTreeMap<_, _> = (0..9).map(|index| (format!("p{index}"), "v")).collect();
    for (change, expected) in [
        (json!({ "authorizationUrl": "http://elsewhere.example/" }), "auth.authorizationUrl"),
        (json!({ "authorizationUrl": "https://elsewhere.example/#x" }), "auth.authorizationUrl"),
        (json!({ "authorizationUrl": "https://elsewhere.example/?state=x" }), "auth.authorizationUrl"),
        (json!({ "authorizationUrl": "https://u:p@elsewhere.example/" }), "auth.authorizationUrl"),
        (json!({ "authorizationUrl": "https://elsewhere.example/?State=x" }), "auth.authorizationUrl"),
        (json!({ "authorizationUrl": "https://elsewhere.example/?state%5B%5D=x" }), "auth.authorizationUrl"),
        (json!({ "authorizationUrl": "javascript:alert(1)" }), "auth.authorizationUrl"),
        (json!({ "tokenUrl": "https://u:p@a.example/token" }), "auth.tokenUrl"),
        (json!({ "tokenUrl": "https://u@a.example/token" }), "auth.tokenUrl"),
        (json!({ "tokenUrl": "https://a.example/token#x" }), "auth.tokenUrl"),
        (json!({ "revocationUrl": "https://:p@a.example/revoke" }), "auth.revocationUrl"),
        (json!({ "tokenUrl": "https://c.example/token" }), "auth.tokenUrl"),
        (json!({ "revocationUrl": "https://c.example/revoke" }), "auth.revocationUrl"),
        (json!({ "clientIdSecret": "id" }), "auth.clientIdSecret"),
        (json!({ "clientSecretSecret": "" }), "auth.clientSecretSecret"),
        (json!({ "authorizationParams": { "redirect_uri": "x" } }), "auth.authorizationParams.redirect_uri"),
        (json!({ "authorizationParams": many }), "auth.authorizationParams"),
        (json!({ "authorizationParams": { "a": "x".repeat(501) } }), "auth.authorizationParams.a"),
        (json!({ "apiHost": "c.example" }), "auth.apiHost"),
    ] {
        assert_eq!(sign_in_problems(with(auth.clone(), &change)), [expected], "{change}");
    }
    for own in OWN_PARAMETERS {
        for name in [
            own.to_owned(),
            own.to_uppercase(),
            format!("{own}[]"),
            format!("{own}[0]"),
            format!(" {own}"),
            format!("{own}\t"),
            format!("{own}\0"),
            format!("{own}\u{200b}"),
        ] {
            let params = json!({ "authorizationParams": { &name: "x" } });
            assert_eq!(sign_in_problems(with(auth.clone(), &params)).len(), 1, "{name:?}");
        }
    }
    let others = json!({ "authorizationParams": { "openid.realm": "x", "access_type": "x", "p-1": "x" } });
    assert_eq!(sign_in_problems(with(auth, &others)), [""; 0]);
}

#[test]
fn a_key_stands_in_a_header_that_may_be_set_or_in_a_named_parameter() {
    let auth = json!({ "type": "api_key", "secret": "ANY", "apiHost": "a.example" });
    for good in [
        json!({}),
        json!({ "name": "X-Api-Key", "prefix": "Token " }),
        json!({ "in": "query", "name": "key" }),
    ] {
        assert_eq!(sign_in_problems(with(auth.clone(), &good)), [""; 0], "{good}");
    }
    for (change, expected) in [
        (json!({ "secret": "any" }), "auth.secret"),
        (json!({ "name": "a b" }), "auth.name"),
        (json!({ "name": "" }), "auth.name"),
        (json!({ "name": "Host" }), "auth.name"),
        (json!({ "name": "kitbag-redirect" }), "auth.name"),
        (json!({ "in": "query" }), "auth.name"),
        (json!({ "in": "query", "name": "key", "prefix": "x" }), "auth.prefix"),
        (json!({ "prefix": "a\r\nb" }), "auth.prefix"),
    ] {
        assert_eq!(sign_in_problems(with(auth.clone(), &change)), [expected], "{change}");
    }
}

#[test]
fn each_sign_in_has_a_host_of_its_own_and_all_accounts_are_one() {
    let basic =
        |host| json!({ "type": "basic", "usernameSecret": "U", "passwordSecret": "P", "apiHost": host });
    let account = |host, scope| {
        json!({
            "type": "oauth2_authorization_code", "authorizationUrl": "https://a.example/authorize",
            "tokenUrl": "https://a.example/token", "clientIdSecret": "ID", "apiHost": host, "scope": scope,
        })
    };

    assert_eq!(sign_in_problems(json!([basic("a.example"), basic("b.example")])), [""; 0]);
    assert_eq!(sign_in_problems(json!([basic("a.example"), basic("a.example")])), ["auth[1].apiHost"]);
    assert_eq!(sign_in_problems(json!([account("a.example", "s"), account("b.example", "s")])), [""; 0]);
    assert_eq!(sign_in_problems(json!([account("a.example", "s"), account("b.example", "t")])), ["auth[1]"]);
}

#[test]
fn what_only_the_server_uses_is_a_credential_that_the_toolkit_does_not_read() {
    let definition = ToolkitDefinition {
        secrets: vec!["KEY".into()],
        auth: serde_json::from_value(json!([
            { "type": "basic", "usernameSecret": "U", "passwordSecret": "KEY", "apiHost": "a.example" },
            { "type": "api_key", "secret": "U", "apiHost": "b.example" },
        ]))
        .expect("it fits the schema"),
        ..ToolkitDefinition::default()
    };

    assert_eq!(definition.credentials(), ["KEY", "U"]);
    assert!(definition.reads("KEY") && !definition.reads("U"));
}

#[test]
fn one_sign_in_stays_an_object_as_json() {
    let one = json!({ "type": "api_key", "secret": "KEY", "apiHost": "a.example" });
    for auth in [one.clone(), json!([one, one])] {
        let read: Auths = serde_json::from_value(auth.clone()).expect("it fits");
        assert_eq!(serde_json::to_value(read).expect("it serialises"), auth);
    }
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
