//! Toolkits and tools that a user hides from models: MCP clients do not list them, and cannot call them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Toolkits and tools that one user hides.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hidden(BTreeMap<String, Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Tools(BTreeSet<String>),
}

/// Cache of hidden toolkits and tools by user, filled since the registry was read. A change of them replaces
/// the registry, and with it this cache.
#[derive(Default)]
pub(super) struct HiddenOfUsers(Mutex<CachedHidden>);

#[derive(Default)]
struct CachedHidden {
    of_users: HashMap<String, Arc<Hidden>>,
    entries: usize,
}

/// Maximum number of cached entries: users, and their hidden toolkits and tools. At the limit, the cache is
/// cleared.
const MAX_ENTRIES: usize = 50_000;

impl Hidden {
    /// Builds the set from pairs of a toolkit and a tool; without a tool, the whole toolkit is hidden.
    pub(super) fn of(pairs: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        let mut hidden = BTreeMap::new();
        for (toolkit, tool) in pairs {
            let part = hidden.entry(toolkit).or_insert_with(|| Part::Tools(BTreeSet::new()));
            match (part, tool) {
                (part, None) => *part = Part::Whole,
                (Part::Tools(tools), Some(tool)) => drop(tools.insert(tool)),
                (Part::Whole, Some(_)) => {}
            }
        }
        Self(hidden)
    }

    /// Whether a tool is hidden, by itself or with its toolkit.
    pub fn has(&self, toolkit: &str, tool: &str) -> bool {
        match self.0.get(toolkit) {
            Some(Part::Whole) => true,
            Some(Part::Tools(tools)) => tools.contains(tool),
            None => false,
        }
    }

    /// Whether a toolkit is hidden as a whole.
    pub fn has_all_of(&self, toolkit: &str) -> bool {
        matches!(self.0.get(toolkit), Some(Part::Whole))
    }

    /// Whether a toolkit or any of its tools is hidden.
    pub fn has_any_of(&self, toolkit: &str) -> bool {
        self.0.contains_key(toolkit)
    }

    /// Number of hidden toolkits and tools.
    fn len(&self) -> usize {
        let of_part = |part: &Part| match part {
            Part::Whole => 1,
            Part::Tools(tools) => tools.len(),
        };
        self.0.values().map(of_part).sum()
    }

    /// Iterates over toolkits by id, each with its hidden tools; without tools if the whole toolkit is
    /// hidden.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.0.iter().map(|(toolkit, part)| match part {
            Part::Whole => (toolkit.as_str(), Vec::new()),
            Part::Tools(tools) => (toolkit.as_str(), tools.iter().map(String::as_str).collect()),
        })
    }
}

impl HiddenOfUsers {
    pub(super) fn get(&self, user: &str) -> Option<Arc<Hidden>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).of_users.get(user).cloned()
    }

    pub(super) fn keep(&self, user: &str, hidden: &Arc<Hidden>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = 1 + hidden.len();
        if kept.entries + entries > MAX_ENTRIES {
            *kept = CachedHidden::default();
        }
        if kept.of_users.insert(user.to_owned(), hidden.clone()).is_none() {
            kept.entries += entries;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_users_is_bounded_by_what_they_hide() {
        let kept = HiddenOfUsers::default();
        let many = (0..MAX_ENTRIES / 5).map(|n| ("notes".to_owned(), Some(format!("tool_{n}"))));
        let hidden = Arc::new(Hidden::of(many));
        for user in ["ann", "ben", "cat", "ann", "dan"] {
            kept.keep(user, &hidden);
        }
        assert!(["ann", "ben", "cat", "dan"].iter().all(|user| kept.get(user).is_some()));

        kept.keep("eve", &hidden);
        assert!(kept.get("eve").is_some() && kept.get("ann").is_none());
    }

    #[test]
    fn a_toolkit_is_hidden_as_a_whole_or_in_parts() {
        let pair = |toolkit: &str, tool: Option<&str>| (toolkit.to_owned(), tool.map(str::to_owned));
        let hidden = Hidden::of([
            pair("notes", Some("add")),
            pair("text", Some("diff")),
            pair("text", None),
            pair("text", Some("count")),
        ]);

        assert!(hidden.has("notes", "add") && !hidden.has("notes", "list"));
        assert!(hidden.has_any_of("notes") && !hidden.has_all_of("notes"));
        assert!(hidden.has("text", "anything") && hidden.has_all_of("text"));
        assert!(!hidden.has("weather", "add") && !hidden.has_any_of("weather"));
        assert_eq!(hidden.iter().collect::<Vec<_>>(), [("notes", vec!["add"]), ("text", vec![])]);
    }
}
