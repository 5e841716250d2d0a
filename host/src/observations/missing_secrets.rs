//! Declared secrets that a call went without.

use std::sync::{Arc, Mutex, PoisonError};

/// What a call asked for and its user has not set. A clone shares the list, which is as long as the
/// declaration's at most.
#[derive(Clone, Debug, Default)]
pub struct MissingSecrets(Arc<Mutex<Vec<Missing>>>);

#[derive(Debug)]
struct Missing {
    name: String,
    by: AskedBy,
}

/// Who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedBy {
    /// The guest, which may be able to do without.
    Guest,
    /// The host, which sent no request because of it.
    Host,
}

impl MissingSecrets {
    /// Notes that the guest was told that there is no value.
    pub(crate) fn guest_asked(&self, name: &str) {
        self.note(name, AskedBy::Guest);
    }

    /// Notes that the host could not sign in without the value.
    pub(crate) fn host_asked(&self, name: &str) {
        self.note(name, AskedBy::Host);
    }

    /// Those that a failure is about, in the order in which they were asked for: what the host needed,
    /// and of what the guest looked for the names that `said`, the error's own text, has in it. A guest
    /// that cannot do without names the credential; one that failed for another reason does not, and
    /// its caller is to read that reason.
    pub fn behind(&self, said: &str) -> Vec<String> {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_behind = |it: &&Missing| it.by == AskedBy::Host || names(said, &it.name);
        list.iter().filter(is_behind).map(|it| it.name.clone()).collect()
    }

    fn note(&self, name: &str, by: AskedBy) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match list.iter_mut().find(|it| it.name == name) {
            Some(known) if by == AskedBy::Host => known.by = by,
            Some(_) => {}
            None => list.push(Missing { name: name.to_owned(), by }),
        }
    }
}

/// Whether `name` stands in the text as a word of its own: `API_KEY` is not in `MY_API_KEY_2`.
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

        assert_eq!(missing.behind("The credential API_KEY is not set."), ["API_KEY", "CLIENT_ID"]);
        assert_eq!(missing.behind("There is no book 7."), ["CLIENT_ID"]);
        assert!(MissingSecrets::default().behind("API_KEY").is_empty());
    }

    #[test]
    fn what_the_guest_looked_for_may_be_what_the_host_needs() {
        let missing = MissingSecrets::default();
        missing.guest_asked("CLIENT_ID");
        missing.host_asked("CLIENT_ID");

        assert_eq!(missing.behind(""), ["CLIENT_ID"]);
    }
}
