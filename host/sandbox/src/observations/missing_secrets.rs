//! Declared secrets that a call needed and that are not set.

use std::sync::{Arc, Mutex, PoisonError};

/// Requested secrets that the user has not set. Clones share the list, which is at most as long as the list
/// of the declaration.
#[derive(Clone, Debug, Default)]
pub struct MissingSecrets(Arc<Mutex<Vec<Missing>>>);

#[derive(Debug)]
struct Missing {
    name: String,
    by: AskedBy,
}

/// The party that requested a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedBy {
    /// The guest, which may not need it.
    Guest,
    /// The host, which could not send a request without it.
    Host,
}

impl MissingSecrets {
    /// Records that the guest requested a secret without a value.
    pub(crate) fn guest_asked(&self, name: &str) {
        self.record(name, AskedBy::Guest);
    }

    /// Records that the host could not sign in without the value.
    pub(crate) fn host_asked(&self, name: &str) {
        self.record(name, AskedBy::Host);
    }

    /// Returns the secrets that caused a failure, in the order of the requests: those that the host needed,
    /// and those that the guest requested and `error_text` names. A guest that needs a credential names it in
    /// its error; an error without the name has another cause, which the caller should see.
    pub fn causing(&self, error_text: &str) -> Vec<String> {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_cause = |it: &&Missing| it.by == AskedBy::Host || names(error_text, &it.name);
        list.iter().filter(is_cause).map(|it| it.name.clone()).collect()
    }

    fn record(&self, name: &str, by: AskedBy) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match list.iter_mut().find(|it| it.name == name) {
            Some(known) if by == AskedBy::Host => known.by = by,
            Some(_) => {}
            None => list.push(Missing { name: name.to_owned(), by }),
        }
    }
}

/// Whether the text contains `name` as a whole word: `API_KEY` is not in `MY_API_KEY_2`.
fn names(text: &str, name: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_about_the_secrets_that_it_names_and_those_that_the_host_needed() {
        let missing = MissingSecrets::default();
        missing.guest_asked("API_KEY");
        missing.guest_asked("KEY");
        missing.guest_asked("API_KEY");
        missing.host_asked("CLIENT_ID");

        assert_eq!(missing.causing("The credential API_KEY is not set."), ["API_KEY", "CLIENT_ID"]);
        assert_eq!(missing.causing("There is no book 7."), ["CLIENT_ID"]);
        assert!(MissingSecrets::default().causing("API_KEY").is_empty());
    }

    #[test]
    fn what_the_guest_looked_for_may_be_what_the_host_needs() {
        let missing = MissingSecrets::default();
        missing.guest_asked("CLIENT_ID");
        missing.host_asked("CLIENT_ID");

        assert_eq!(missing.causing(""), ["CLIENT_ID"]);
    }
}
