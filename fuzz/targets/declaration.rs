//! A toolkit's declaration, as a component returns it.

use std::collections::HashSet;

use http::Uri;
use kitbag::egress::{Allowlist, ApiHost};
use kitbag_manifest::schema::Schema;
use kitbag_manifest::{Auth, ToolkitDefinition, parse, validate};
use serde_json::Value;

/// Input: a manifest, as `describe` returns it.
///
/// Checks that the host can use an accepted declaration: its hosts, its schemas, its sign-in. Serialized, it
/// is accepted again and equal. A refusal has a path and a reason.
pub fn declaration(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse(text).and_then(validate) {
        Ok(valid) => {
            check_valid(&valid);
            let written = serde_json::to_value(&*valid).expect("a declaration is JSON");
            let read = parse(&written.to_string()).expect("a written declaration can be read");
            let again = validate(read).expect("what was accepted once is accepted again");
            // Fractions may differ in their last bit after serialization.
            assert!(has_fraction(&written) || again == valid, "{written} is read as {again:?}");
        }
        Err(problems) => {
            assert!(!problems.0.is_empty(), "it was refused without a reason");
            assert!(problems.0.iter().all(|problem| !problem.path.is_empty() && !problem.message.is_empty()));
        }
    }
}

fn check_valid(definition: &ToolkitDefinition) {
    // The id is part of file names and URLs.
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    assert!(!definition.id.is_empty() && definition.id.chars().all(is_plain), "{:?}", definition.id);
    let mut names = HashSet::new();
    assert!(!definition.tools.is_empty(), "there is no tool");
    for tool in &definition.tools {
        assert!(names.insert(&tool.name), "{:?} is there twice", tool.name);
        for schema in std::iter::once(&tool.input_schema).chain(&tool.output_schema) {
            Schema::compile(schema).expect("an accepted schema compiles");
        }
    }
    let allowlist = Allowlist::parse(&definition.egress).expect("accepted hosts are hosts to the allowlist");
    for auth in definition.auth.iter() {
        ApiHost::parse(auth.api_host()).expect("an accepted host is one to the sign-in");
        let urls = match auth {
            Auth::ClientCredentials(grant) => vec![&grant.token_url],
            Auth::AuthorizationCode(grant) => [&grant.token_url].into_iter().chain(&grant.revocation_url).collect(),
            Auth::ApiKey(_) | Auth::Basic(_) => Vec::new(),
        };
        for url in urls {
            let uri: Uri = url.parse().expect("an accepted URL is one");
            assert!(allowlist.allows(&uri), "{uri} is not listed in {:?}", definition.egress);
        }
    }
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(members) => members.values().any(has_fraction),
        _ => false,
    }
}
