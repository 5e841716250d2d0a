//! The tools that a client chooses by its URL: `/mcp?toolkits=weather,notes&tools=text__count`.

use std::collections::BTreeSet;
use std::sync::Arc;

use url::form_urlencoded;

use crate::toolkits::toolkit_of;

/// What a client sees of what its user sees; by default all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection(Option<Arc<Chosen>>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Chosen {
    /// Ids of toolkits, with all their tools.
    toolkits: BTreeSet<String>,
    /// Listed names of single tools.
    tools: BTreeSet<String>,
}

impl Selection {
    /// Reads the query of a URL. Names are separated by commas; what is not there is chosen in vain. Other parameters are
    /// not ours.
    pub(super) fn of(query: Option<&str>) -> Self {
        let (mut chosen, mut chooses) = (Chosen::default(), false);
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let into = match &*name {
                "toolkits" => &mut chosen.toolkits,
                "tools" => &mut chosen.tools,
                _ => continue,
            };
            chooses = true;
            into.extend(value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
        }
        Self(chooses.then(|| Arc::new(chosen)))
    }

    /// Whether the client sees the tool of this listed name.
    pub(super) fn has(&self, listed_name: &str) -> bool {
        self.has_all_of(toolkit_of(listed_name).unwrap_or_default())
            || self.0.as_ref().is_some_and(|chosen| chosen.tools.contains(listed_name))
    }

    /// Whether the client sees every tool of a toolkit.
    pub(super) fn has_all_of(&self, toolkit: &str) -> bool {
        self.0.as_ref().is_none_or(|chosen| chosen.toolkits.contains(toolkit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_chooses_toolkits_and_tools_or_everything() {
        let sees = |query: Option<&str>| {
            let selection = Selection::of(query);
            ["text__count", "text__diff", "notes__add"].map(|name| selection.has(name))
        };

        for all in [None, Some(""), Some("key=1")] {
            assert_eq!(sees(all), [true, true, true], "{all:?}");
        }
        assert_eq!(sees(Some("toolkits=text")), [true, true, false]);
        assert_eq!(sees(Some("toolkits=text,%20notes")), [true, true, true]);
        assert_eq!(sees(Some("tools=text__diff&toolkits=notes")), [false, true, true]);
        assert_eq!(sees(Some("tools=text__diff&tools=notes__add")), [false, true, true]);
        assert_eq!(sees(Some("toolkits=")), [false, false, false]);
        assert_eq!(sees(Some("toolkits=tex,text__")), [false, false, false]);
    }
}
