//! Prints the difference between two versions.

use std::collections::BTreeMap;

use kitbag_toolkits::Difference;
use kitbag_toolkits::difference::{Change, ItemChange, LineKind, TextChange};

use crate::cli::terminal::{counted, say, text};

/// Prints the changes of a version. `secret_users`: number of users who have set each secret.
pub(super) fn print(difference: &Difference, secret_users: &BTreeMap<String, u64>) {
    if difference.is_empty() {
        say!("  Nothing differs but the number and the code.");
    }
    for grant in &difference.grants {
        let users = grant.capability.strip_prefix("secret ").and_then(|name| secret_users.get(name));
        let users = users.copied().filter(|users| *users > 0 && grant.change != Change::Removed);
        let note = match users {
            Some(users) => text!(" (users who have set it: {})", users),
            None => text!(""),
        };
        say!("  {} may {}{}", sign(grant.change), worded(&grant.capability), note);
    }
    for import in &difference.imports {
        let note = if import.always_refused { text!(": imported, always refused") } else { text!("") };
        say!("  {} imports {}{}", sign(import.change), import.interface, note);
    }
    for text in &difference.toolkit {
        print_text(text);
    }
    print_items("setting", &difference.settings);
    print_items("tool", &difference.tools);
    print_items("prompt", &difference.prompts);
    print_items("resource", &difference.resources);
    let left_out = difference.left_out();
    if left_out > 0 {
        let lines = counted(left_out, "line");
        say!("  {} cut or missing: there is too much to show; --json prints the manifest", lines);
    }
}

/// Describes a capability, as the continuation of "may".
pub(super) fn worded(capability: &str) -> String {
    match capability.split_once(' ') {
        Some(("egress", host)) => format!("reach {host}"),
        Some(("secret", name)) => format!("read the secret {name}"),
        Some(("scope", "svc:search")) => "search the documents of its user".to_owned(),
        Some(("scope", "svc:collections")) => "search the collections that its user can read".to_owned(),
        Some(("scope", "svc:ask")) => "ask its user questions".to_owned(),
        Some(("scope", "svc:ingest")) => "add documents for its user".to_owned(),
        Some(("scope", "svc:cache")) => "keep values for its user between calls".to_owned(),
        Some(("sign-in", place)) => format!("sign in {place}"),
        _ => capability.to_owned(),
    }
}

fn print_items(kind: &'static str, items: &[ItemChange]) {
    for item in items.iter().filter(|item| item.change != Change::Kept) {
        say!("  {} {} {}", sign(item.change), kind, item.name);
        for text in &item.texts {
            print_text(text);
        }
    }
}

fn print_text(change: &TextChange) {
    say!("    {}:", change.name);
    for line in &change.lines {
        let sign = match line.kind {
            LineKind::Added => "+",
            LineKind::Removed => "-",
            LineKind::Kept => " ",
            LineKind::Gap => "...",
        };
        say!("      {} {}", sign, line.text);
    }
}

fn sign(change: Change) -> &'static str {
    match change {
        Change::Added => "+",
        Change::Removed => "-",
        Change::Changed => "~",
        Change::Kept => "=",
    }
}
