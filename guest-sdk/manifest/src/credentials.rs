//! Error texts about the credentials that a toolkit declares.

/// The user has not set these credentials. The text has the commands that set them.
pub fn not_set<S: AsRef<str>>(toolkit: &str, names: &[S]) -> String {
    let (what, them) = match names {
        [_] => ("credential", "is not set. Set it"),
        _ => ("credentials", "are not set. Set them"),
    };
    format!("The {what} {} {them} with: {}", listed(names), set_commands(toolkit, names))
}

/// A handler asked for a credential that the toolkit does not declare. For the log.
///
/// A name that only `auth` uses is undeclared, too: the server uses it, and the toolkit cannot read it.
pub fn undeclared(name: &str) -> String {
    format!("the credential {name} is not declared: add {name:?} to the toolkit's secrets")
}

/// A credential cannot be read now. Retryable.
pub fn unavailable(name: &str, reason: &str) -> String {
    format!("The credential {name} cannot be read now: {reason}")
}

/// Returns the sentence that says how a user connects an account.
#[cfg(feature = "rules")]
pub(crate) fn connect(toolkit: &str) -> String {
    format!("Connect it with: kitbag toolkit sign-in {toolkit}")
}

/// Returns the commands that set credentials.
pub(crate) fn set_commands<S: AsRef<str>>(toolkit: &str, names: &[S]) -> String {
    let command = |name: &S| format!("kitbag secret set {toolkit} {} --from-stdin", name.as_ref());
    names.iter().map(command).collect::<Vec<_>>().join(" and ")
}

/// Returns names as a list in a sentence.
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" and ")
}
