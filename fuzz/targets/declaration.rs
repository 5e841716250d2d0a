//! A toolkit's declaration, as a component returns it.

use std::collections::HashSet;

use http::{HeaderName, Uri};
use kitbag_manifest::schema::Schema;
use kitbag_manifest::{Auth, Auths, KeyPlace, ToolkitDefinition, parse, validate};
use kitbag_net::egress::{Allowlist, ApiHost};
use serde_json::Value;
use url::Url;

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
    check_sign_ins(definition, &allowlist);
}

/// Checks that the host can carry out each sign-in, and that tokens are requested at listed hosts.
fn check_sign_ins(definition: &ToolkitDefinition, allowlist: &Allowlist) {
    let is_listed = |url: &str| {
        let uri: Uri = url.parse().expect("an accepted URL of a sign-in is one");
        assert!(allowlist.allows(&uri), "{uri} is not listed in {:?}", definition.egress);
    };
    let mut hosts = HashSet::new();
    let Auths(auths) = &definition.auth;
    assert!(auths.len() <= Auths::MAX, "there are {} sign-ins", auths.len());
    for auth in auths {
        ApiHost::parse(auth.api_host()).expect("an accepted host is one to the sign-in");
        assert!(hosts.insert(auth.api_host()), "{:?} has two sign-ins", auth.api_host());
        match auth {
            Auth::ClientCredentials(grant) => {
                is_listed(&grant.token_url);
                assert!(auth.secrets().iter().all(|(_, name)| definition.reads(name)));
            }
            Auth::AuthorizationCode(grant) => {
                is_listed(&grant.token_url);
                grant.revocation_url.iter().for_each(|url| is_listed(url));
                let page = Url::parse(&grant.authorization_url).expect("an accepted page is a URL");
                assert!(["https", "http"].contains(&page.scheme()), "a browser would not open {page}");
            }
            Auth::ApiKey(key) if key.place == KeyPlace::Header => {
                HeaderName::try_from(key.name()).expect("an accepted name is one of a header");
            }
            Auth::ApiKey(_) | Auth::Basic(_) => {}
        }
        for (_, name) in auth.secrets() {
            assert!(definition.credentials().contains(&name), "{name} cannot be set");
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
