//! The tools that a client sees of those that its user may call: what its URL chooses, as
//! `/mcp?toolkits=weather,notes&tools=text__count` does, without what the user hides.

use std::collections::BTreeSet;
use std::sync::Arc;

use url::form_urlencoded;

use crate::access::{AccessError, User};
use crate::knowledge_tools;
use crate::toolkits::{Hidden, names_of};

/// What a client sees; by default all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// `None` where the URL chooses nothing.
    chosen: Option<Arc<Chosen>>,
    hidden: Arc<Hidden>,
}

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
        Self { chosen: chooses.then(|| Arc::new(chosen)), hidden: Arc::default() }
    }

    /// The same, without what the user hides now.
    pub(super) async fn shown_to(self, user: &User) -> Result<Self, AccessError> {
        Ok(Self { hidden: user.hidden().await?, ..self })
    }

    /// Whether the client sees the tool of this listed name.
    pub(super) fn has(&self, listed_name: &str) -> bool {
        self.chooses(listed_name) && !self.hides(listed_name)
    }

    /// Whether the client sees every tool of a toolkit.
    pub(super) fn has_all_of(&self, toolkit: &str) -> bool {
        self.chooses_all_of(toolkit) && !self.hidden.has_any_of(toolkit)
    }

    /// Whether the user hides the tool of this listed name, which the client has chosen.
    pub(super) fn hides_chosen(&self, listed_name: &str) -> bool {
        self.chooses(listed_name) && self.hides(listed_name)
    }

    fn hides(&self, listed_name: &str) -> bool {
        let (toolkit, tool) = parts(listed_name);
        self.hidden.has(toolkit, tool)
    }

    fn chooses(&self, listed_name: &str) -> bool {
        self.chooses_all_of(parts(listed_name).0)
            || self.chosen.as_ref().is_some_and(|chosen| chosen.tools.contains(listed_name))
    }

    fn chooses_all_of(&self, toolkit: &str) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| chosen.toolkits.contains(toolkit))
    }
}

/// The toolkit and the tool of a listed name.
fn parts(listed_name: &str) -> (&str, &str) {
    names_of(listed_name).unwrap_or((knowledge_tools::ID, listed_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_chooses_toolkits_and_tools_or_everything() {
        let sees = |query: Option<&str>| {
            let selection = Selection::of(query);
            ["text__count", "text__diff", "notes__add", "search"].map(|name| selection.has(name))
        };

        for all in [None, Some(""), Some("key=1")] {
            assert_eq!(sees(all), [true; 4], "{all:?}");
        }
        assert_eq!(sees(Some("toolkits=text")), [true, true, false, false]);
        assert_eq!(sees(Some("toolkits=text,%20notes")), [true, true, true, false]);
        assert_eq!(sees(Some("tools=text__diff&toolkits=notes")), [false, true, true, false]);
        assert_eq!(sees(Some("tools=text__diff&tools=notes__add,search")), [false, true, true, true]);
        assert_eq!(sees(Some("toolkits=knowledge")), [false, false, false, true]);
        assert_eq!(sees(Some("toolkits=")), [false; 4]);
        assert_eq!(sees(Some("toolkits=tex,text__")), [false; 4]);
    }
}
