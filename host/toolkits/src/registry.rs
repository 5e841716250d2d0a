//! An immutable map of live toolkits by id, replaced as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_manifest::ToolDefinition;

use super::hidden::HiddenOfUsers;
use super::live::Live;
use super::store::LiveRow;

/// Separator between the toolkit's id and the tool's name in a listed name. An id cannot contain it.
const SEPARATOR: &str = "__";

/// The live toolkits at one moment.
#[derive(Default)]
pub struct Registry {
    /// Database generation from which this was read; `None` before the first read, and after the database was
    /// replaced.
    generation: Option<i64>,
    toolkits: BTreeMap<String, RegisteredToolkit>,
    pub(super) hidden: HiddenOfUsers,
}

/// A live toolkit, and the database row from which it was created.
struct RegisteredToolkit {
    /// `None` after the database was replaced.
    row: Option<LiveRow>,
    live: Arc<Live>,
}

/// One tool of a live toolkit.
#[derive(Clone)]
pub struct Tool {
    /// The toolkit.
    pub toolkit: Arc<Live>,
    /// Index of the tool in the toolkit's declaration.
    pub index: usize,
}

impl Registry {
    /// Creates the registry that follows `before`, from all live rows. Unchanged toolkits and loaded code are
    /// reused; `read` creates the others.
    pub(super) fn succeeding(
        before: &Self,
        generation: i64,
        rows: Vec<LiveRow>,
        mut read: impl FnMut(&LiveRow) -> Option<Live>,
    ) -> Self {
        let mut toolkits = BTreeMap::new();
        for row in rows {
            let known = before.toolkits.get(&row.id);
            let live = match known.filter(|known| known.row.as_ref() == Some(&row)) {
                Some(known) => Some(known.live.clone()),
                None => read(&row).map(|live| match known.map(|known| &known.live) {
                    Some(known) if known.is_same(&live) => {
                        known.agreed.renew(row.activation);
                        known.clone()
                    }
                    Some(known) => Arc::new(live.after(known)),
                    None => Arc::new(live),
                }),
            };
            if let Some(live) = live {
                toolkits.insert(row.id.clone(), RegisteredToolkit { row: Some(row), live });
            }
        }
        Self { generation: Some(generation), toolkits, hidden: HiddenOfUsers::default() }
    }

    /// Returns a registry of the same toolkits, none of which is assumed to be unchanged in the database.
    pub(super) fn unconfirmed(&self) -> Self {
        let entry = |(id, known): (&String, &RegisteredToolkit)| {
            (id.clone(), RegisteredToolkit { row: None, live: known.live.clone() })
        };
        let toolkits = self.toolkits.iter().map(entry).collect();
        Self { generation: None, toolkits, hidden: HiddenOfUsers::default() }
    }

    /// Whether the registry was read from this database generation.
    pub(super) fn is_of(&self, generation: i64) -> bool {
        self.generation == Some(generation)
    }

    /// Whether the registry's toolkit was created from this row.
    pub(super) fn has(&self, row: &LiveRow) -> bool {
        self.toolkits.get(&row.id).is_some_and(|known| known.row.as_ref() == Some(row))
    }

    /// Returns the toolkits that are not in `before`, or have changed since.
    pub(super) fn new_since(&self, before: &Self) -> Vec<Arc<Live>> {
        let is_new =
            |live: &&Arc<Live>| before.get(&live.definition.id).is_none_or(|known| !Arc::ptr_eq(known, live));
        self.all().filter(is_new).cloned().collect()
    }

    /// Iterates over all toolkits, by id.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Live>> {
        self.toolkits.values().map(|entry| &entry.live)
    }

    /// Returns a toolkit by its id.
    pub fn get(&self, id: &str) -> Option<&Arc<Live>> {
        self.toolkits.get(id).map(|entry| &entry.live)
    }

    /// Finds a tool by its listed name `{id}__{tool}`, without checking who may use it.
    pub fn find(&self, listed_name: &str) -> Option<Tool> {
        let (id, name) = names_of(listed_name)?;
        let toolkit = self.get(id)?;
        let index = toolkit.definition.tools.iter().position(|tool| tool.name == name)?;
        Some(Tool { toolkit: toolkit.clone(), index })
    }
}

impl Tool {
    /// Returns the tool's declaration.
    pub fn definition(&self) -> &ToolDefinition {
        &self.toolkit.definition.tools[self.index]
    }
}

/// Splits a listed name into the toolkit's id and the tool's name; `None` for a tool without a toolkit.
pub fn names_of(listed_name: &str) -> Option<(&str, &str)> {
    listed_name.split_once(SEPARATOR)
}

/// Returns the toolkit's id in a listed name, if it has one.
pub fn toolkit_of(listed_name: &str) -> Option<&str> {
    names_of(listed_name).map(|(id, _)| id)
}

/// Returns the name under which a tool is listed: `{id}__{tool}`.
pub fn listed_name(toolkit_id: &str, tool_name: &str) -> String {
    format!("{toolkit_id}{SEPARATOR}{tool_name}")
}
