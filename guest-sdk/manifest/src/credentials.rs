//! Error texts about a toolkit's credentials.

/// Returns the error text for credentials that the user has not set, with the commands that set them.
pub fn not_set<S: AsRef<str>>(toolkit: &str, names: &[S]) -> String {
    let (what, them) = match names {
        [_] => ("credential", "is not set. Set it"),
        _ => ("credentials", "are not set. Set them"),
    };
    format!("The {what} {} {them} with: {}", listed(names), set_commands(toolkit, names))
}

/// Returns the log text for a handler that reads a credential that the toolkit does not declare.
///
/// A name that only `auth` uses counts as undeclared: only the server reads it.
pub fn undeclared(name: &str) -> String {
    format!("the credential {name} is not declared: add {name:?} to the toolkit's secrets")
}

/// Returns the error text for a credential that is temporarily unavailable. Retryable.
pub fn unavailable(name: &str, reason: &str) -> String {
    format!("The credential {name} cannot be read now: {reason}")
}

/// Returns the instruction for a user to connect an account.
#[cfg(feature = "rules")]
pub(crate) fn connect(toolkit: &str) -> String {
    format!("Connect it with: kitbag toolkit sign-in {toolkit}")
}

/// Returns the commands that set credentials.
pub(crate) fn set_commands<S: AsRef<str>>(toolkit: &str, names: &[S]) -> String {
    let command = |name: &S| format!("kitbag secret set {toolkit} {} --from-stdin", name.as_ref());
    names.iter().map(command).collect::<Vec<_>>().join(" and ")
}

/// Formats names as a list in a sentence.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" and ")
}
