//! The tools that a client sees, of those that its user may call: selected by its URL, as in
//! `/mcp?toolkits=weather,notes&tools=text__count`, without those that the user hides; and the collections that it may
//! read: `collections=handbook,mine`. With `mode=search` or
//! `mode=code` the client finds most of them by search instead of in a list.

use std::collections::BTreeSet;
use std::sync::Arc;

use kitbag_access::values::knowledge_tools;
use kitbag_access::values::toolkits::{Hidden, names_of};
use kitbag_access::{AccessError, User};
use thiserror::Error;
use url::form_urlencoded;

use super::modes::Mode;

/// Selection of a client; by default all tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// `None` if the URL selects nothing: everything is visible.
    chosen: Option<Arc<Chosen>>,
    hidden: Arc<Hidden>,
    mode: Mode,
    /// Whether the server can run code.
    runs_code: bool,
    /// Collections that the client may read, and `mine`; `None`: all that its user may.
    collections: Option<Arc<BTreeSet<String>>>,
}

/// Error: the URL names an unknown mode.
#[derive(Debug, PartialEq, Eq, Error)]
#[error(
    "there is no mode {0:?}: `mode=search` finds tools, `mode=code` calls them by code too, and without `mode` all of them are listed"
)]
pub(super) struct UnknownMode(String);

/// Maximum bytes of an unknown mode that the error quotes.
const MAX_MODE_BYTES: usize = 40;

#[derive(Debug, Default, PartialEq, Eq)]
struct Chosen {
    /// Ids of toolkits that are selected with all their tools.
    toolkits: BTreeSet<String>,
    /// Listed names of individually selected tools.
    tools: BTreeSet<String>,
}

impl Selection {
    /// Parses the query of a URL. Names are separated by commas; unknown names and other parameters are
    /// ignored.
    pub(super) fn of(query: Option<&str>) -> Result<Self, UnknownMode> {
        let mut chosen = Chosen::default();
        let mut chooses = false;
        let mut mode = Mode::default();
        let mut collections = None;
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
            let into = match &*name {
                "collections" => {
                    collections.get_or_insert_with(BTreeSet::new).extend(names);
                    continue;
                }
                "toolkits" => &mut chosen.toolkits,
                "tools" => &mut chosen.tools,
                "mode" => {
                    let unknown =
                        || UnknownMode(value[..value.floor_char_boundary(MAX_MODE_BYTES)].to_owned());
                    mode = Mode::named(&value).ok_or_else(unknown)?;
                    continue;
                }
                _ => continue,
            };
            chooses = true;
            into.extend(names);
        }
        let chosen = chooses.then(|| Arc::new(chosen));
        let collections = collections.map(Arc::new);
        Ok(Self { chosen, hidden: Arc::default(), mode, runs_code: false, collections })
    }

    /// The user, who may read only the collections that the client has selected.
    pub(super) fn narrow(&self, user: User) -> User {
        user.within(self.collections.as_ref().map(|names| names.iter().cloned()))
    }

    /// Mode in which the client discovers tools.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Mode whose own tools are listed: `search` instead of `code` where the server runs no code.
    pub(super) fn listed_mode(&self) -> Mode {
        if self.mode == Mode::Code && !self.runs_code { Mode::Search } else { self.mode }
    }

    /// Applies the user's current list of hidden tools, and whether the server can run code.
    pub(super) async fn shown_to(self, user: &User) -> Result<Self, AccessError> {
        Ok(Self { hidden: user.hidden().await?, runs_code: user.can_run_code(), ..self })
    }

    /// Whether the client sees the tool with this listed name.
    pub(super) fn has(&self, listed_name: &str) -> bool {
        self.chooses(listed_name) && !self.hides(listed_name)
    }

    /// Whether the client sees every tool of a toolkit.
    pub(super) fn has_all_of(&self, toolkit: &str) -> bool {
        self.chooses_all_of(toolkit) && !self.hidden.has_any_of(toolkit)
    }

    /// Whether the client sees the prompts and resources of a toolkit: only if it selected the whole toolkit,
    /// not single tools.
    pub(super) fn has_offers_of(&self, toolkit: &str) -> bool {
        self.chooses_all_of(toolkit) && !self.hidden.has_all_of(toolkit)
    }

    /// Whether the user hides the tool with this listed name, although the client has selected it.
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

/// Splits a listed name into toolkit and tool.
fn parts(listed_name: &str) -> (&str, &str) {
    names_of(listed_name).unwrap_or((knowledge_tools::ID, listed_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_chooses_toolkits_and_tools_or_everything() {
        let sees = |query: Option<&str>| {
            let selection = Selection::of(query).expect("it has no mode");
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

    #[test]
    fn prompts_and_resources_belong_to_chosen_toolkits_and_not_to_tools() {
        let sees = |query| {
            let selection = Selection::of(query).expect("it has no mode");
            ["text", "notes"].map(|toolkit| selection.has_offers_of(toolkit))
        };

        assert_eq!(sees(None), [true; 2]);
        assert_eq!(sees(Some("toolkits=text")), [true, false]);
        assert_eq!(sees(Some("tools=text__diff")), [false; 2]);
    }

    #[test]
    fn a_url_may_name_a_mode_and_no_other() {
        let mode = |query: &str| Selection::of(Some(query)).map(|selection| selection.mode());

        assert_eq!(mode("toolkits=text"), Ok(Mode::List));
        assert_eq!(mode("mode=search&toolkits=text"), Ok(Mode::Search));
        assert_eq!(mode("mode=code"), Ok(Mode::Code));
        for (query, named) in [("mode=", ""), ("mode=Search", "Search"), ("mode=search&mode=x", "x")] {
            assert_eq!(mode(query), Err(UnknownMode(named.to_owned())));
        }
        let long = mode(&format!("mode={}", "ä".repeat(1000))).expect_err("there is no such mode");
        assert!(long.to_string().len() < 250, "{long}");
    }
}
