//! The list of features that Kitbag deliberately lacks.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use super::suite::{Check, Scenario};
use crate::harness::root;

/// Entries for one protocol revision.
pub(super) struct NotApplicable(Vec<Entry>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    entry: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    scenarios: Vec<String>,
    revisions: Vec<String>,
    reason: String,
    /// Ids of the checks that do not apply. Empty: the scenarios as a whole.
    #[serde(default)]
    checks: Vec<String>,
}

impl NotApplicable {
    pub(super) fn read(revision: &str) -> Self {
        let path = root().join("tests/conformance/not-applicable.toml");
        let text = fs::read_to_string(path).expect("the list is there");
        let mut file: File = toml::from_str(&text).expect("the list is as it should be");
        assert!(file.entry.iter().all(|entry| entry.reason.len() > 20), "every entry has a reason");
        file.entry.retain(|entry| entry.revisions.iter().any(|listed| listed == revision));
        Self(file.entry)
    }

    /// Returns whether a scenario is listed as a whole.
    pub(super) fn is_wholly_listed(&self, scenario: &str) -> bool {
        self.of(scenario).any(|entry| entry.checks.is_empty())
    }

    /// Returns messages about failures that are not listed, and about listed items that did not fail.
    pub(super) fn contradictions(&self, outcome: &BTreeMap<String, Scenario>) -> Vec<String> {
        let failed = outcome.iter().flat_map(|(name, scenario)| {
            let unlisted = scenario.failures().filter(|check| !self.lists(name, check));
            unlisted.map(move |check| {
                format!("{name}: {} failed: {}", check.id, check.error_message.as_deref().unwrap_or_default())
            })
        });
        let passed = self.0.iter().flat_map(|entry| entry.scenarios.iter().map(move |name| (name, entry)));
        let passed = passed.flat_map(|(name, entry)| {
            let failures: Vec<_> =
                outcome.get(name).into_iter().flat_map(Scenario::failures).map(|it| it.id.as_str()).collect();
            let missing = match entry.checks.as_slice() {
                [] if failures.is_empty() => vec![name.clone()],
                [] => Vec::new(),
                checks => checks
                    .iter()
                    .filter(|check| !failures.contains(&check.as_str()))
                    .map(|check| format!("{name}: {check}"))
                    .collect(),
            };
            missing.into_iter().map(|what| format!("{what} is listed as not applicable, and did not fail"))
        });
        failed.chain(passed).collect()
    }

    fn lists(&self, scenario: &str, check: &Check) -> bool {
        self.of(scenario).any(|entry| entry.checks.is_empty() || entry.checks.contains(&check.id))
    }

    fn of<'a>(&'a self, scenario: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.0.iter().filter(move |entry| entry.scenarios.iter().any(|listed| listed == scenario))
    }
}
