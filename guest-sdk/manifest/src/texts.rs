//! Error texts of this crate by name, for the TypeScript SDK.

use crate::{asking, cache, credentials, egress, knowledge, mismatch};

/// Returns the error text with the given name, filled with `parts`; `None` for an unknown name or a wrong
/// number of parts.
pub fn by_name<S: AsRef<str>>(name: &str, parts: &[S]) -> Option<String> {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    Some(match (name, parts.as_slice()) {
        ("not-listed", [entry]) => egress::not_listed(entry),
        ("not-found", []) => knowledge::NOT_FOUND.to_owned(),
        ("refused", [reason]) => knowledge::refused(reason),
        ("unavailable", [reason]) => knowledge::unavailable(reason),
        ("cache-refused", [reason]) => cache::refused(reason),
        ("cache-unavailable", [reason]) => cache::unavailable(reason),
        ("not-kept", [reason]) => cache::not_kept(reason),
        ("undeclared-scope", [scope]) => knowledge::undeclared_scope(scope),
        ("credential-not-set", [toolkit, name]) => credentials::not_set(toolkit, &[name]),
        ("credential-unavailable", [name, reason]) => credentials::unavailable(name, reason),
        ("credential-undeclared", [name]) => credentials::undeclared(name),
        ("ask-unsupported", []) => asking::UNSUPPORTED.to_owned(),
        ("ask-refused", [reason]) => asking::refused(reason),
        ("answer-unfit", [key, reason]) => asking::unfit(key, reason),
        ("output-mismatch", violations) => mismatch::of_output(violations),
        ("choices", [branches, messages @ ..]) => mismatch::choices(messages, branches.parse().ok()?),
        ("closest", [line, of]) => mismatch::closest(line, of.parse().ok()?),
        ("not-one-of", constants) => mismatch::not_one_of(constants),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_by_its_name_and_its_parts() {
        let listed = by_name("choices", &["2", "a", "b"]);

        assert_eq!(listed.as_deref(), Some("a, or b"));
        assert_eq!(by_name("not-found", &[] as &[&str]).as_deref(), Some("There is no such document."));
        assert_eq!(by_name("not-found", &["surplus"]), None);
        assert_eq!(by_name("refused", &[] as &[&str]), None);
        assert_eq!(by_name("nothing", &["a"]), None);
    }
}
