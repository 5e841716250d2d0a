//! View of the difference between two versions.

use std::collections::BTreeMap;

use kitbag_access::values::toolkits::Difference;
use kitbag_access::values::toolkits::difference::{
    Change, GrantChange, ImportChange, ItemChange, LineKind, TextChange,
};
use kitbag_net::egress::RefusedHost;

use super::text;

/// View model of a difference.
pub(super) struct ShownDifference {
    pub(super) grants: Vec<Grant>,
    pub(super) groups: Vec<Group>,
    /// Whether only the version number and the code differ.
    pub(super) is_empty: bool,
    /// Number of lines that are not shown in full, as text; `None` if all are.
    pub(super) left_out: Option<String>,
}

/// A capability that differs.
pub(super) struct Grant {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) note: Option<String>,
}

/// An item (such as a tool or a setting) that differs.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) texts: Vec<TextChange>,
}

/// Items of one kind that differ.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) items: Vec<Item>,
    /// Names of items that do not differ.
    pub(super) kept: Vec<String>,
}

impl ShownDifference {
    /// Creates the view. `secret_users` is the number of users who have set each secret; `refused_hosts` are those that
    /// the egress policy refuses.
    pub(super) fn of(
        difference: Difference,
        secret_users: &BTreeMap<String, u64>,
        refused_hosts: &[RefusedHost],
    ) -> Self {
        let is_empty = difference.is_empty();
        let left_out = difference.left_out();
        let left_out = Some(left_out).filter(|lines| *lines > 0).map(|lines| text::count(lines, "line"));
        let Difference { grants, imports, toolkit, settings, tools, prompts, resources } = difference;
        let grant = |it: GrantChange| Grant::of(&it.capability, it.change, secret_users, refused_hosts);
        let grants = grants.into_iter().map(grant).collect();
        let toolkit = if toolkit.is_empty() {
            Vec::new()
        } else {
            vec![ItemChange { name: "toolkit".to_owned(), change: Change::Changed, texts: toolkit }]
        };
        let (refused, imports): (Vec<_>, Vec<_>) = imports.into_iter().partition(|it| it.always_refused);
        let groups = [
            ("About it", toolkit),
            ("Settings", settings),
            ("Tools", tools),
            ("Prompts", prompts),
            ("Resources", resources),
            ("Imports of its code", items(imports)),
            ("Imported, always refused", items(refused)),
        ];
        let groups = groups.map(|(title, items)| Group::of(title, items));
        let groups = groups.into_iter().filter(|group| !group.items.is_empty() || !group.kept.is_empty());
        Self { grants, groups: groups.collect(), is_empty, left_out }
    }
}

fn items(imports: Vec<ImportChange>) -> Vec<ItemChange> {
    let item = |it: ImportChange| ItemChange { name: it.interface, change: it.change, texts: Vec::new() };
    imports.into_iter().map(item).collect()
}

impl Grant {
    fn of(
        capability: &str,
        change: Change,
        secret_users: &BTreeMap<String, u64>,
        refused_hosts: &[RefusedHost],
    ) -> Self {
        let kinds = [
            ("egress ", "Network"),
            ("secret ", "Secret"),
            ("scope ", "Knowledge base"),
            ("sign-in at ", "Sign-in"),
        ];
        let found = kinds.iter().find_map(|(prefix, kind)| Some((*kind, capability.strip_prefix(prefix)?)));
        let (kind, name) = found.unwrap_or(("Grant", capability));
        let users = secret_users.get(name).filter(|users| kind == "Secret" && **users > 0);
        let note = users.map(|users| {
            let has = if *users == 1 { "has" } else { "have" };
            format!("{} {has} set it; this version could read it", text::count(*users, "user"))
        });
        let refused = refused_hosts.iter().find(|refused| kind == "Network" && refused.host == name);
        let note = note.or_else(|| refused.map(RefusedHost::in_words)).filter(|_| change != Change::Removed);
        Self { kind, name: name.to_owned(), mark: change.into(), note }
    }
}

impl Group {
    fn of(title: &'static str, items: Vec<ItemChange>) -> Self {
        let (kept, items): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| item.change == Change::Kept);
        let item = |ItemChange { name, change, texts }| Item { name, mark: change.into(), texts };
        let items = items.into_iter().map(item).collect();
        Self { title, items, kept: kept.into_iter().map(|item| item.name).collect() }
    }
}

/// A change as a word, and its CSS class, which highlights new items.
pub(super) struct Mark {
    pub(super) word: &'static str,
    pub(super) class: &'static str,
}

impl From<Change> for Mark {
    fn from(change: Change) -> Self {
        let (word, class) = match change {
            Change::Added => ("new", "tag warn"),
            Change::Changed => ("changed", "tag warn"),
            Change::Removed => ("gone", "tag"),
            Change::Kept => ("unchanged", "tag"),
        };
        Self { word, class }
    }
}

/// Lines of a text, each with an HTML element's name and a sign. The elements tell assistive technology what
/// signs and colours show.
pub(super) fn lines(change: &TextChange) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
    change.lines.iter().map(|line| {
        let (element, sign) = match line.kind {
            LineKind::Added => ("ins", "+"),
            LineKind::Removed => ("del", "−"),
            LineKind::Kept => ("span", " "),
            LineKind::Gap => ("span", "⋯"),
        };
        (element, sign, line.text.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_says_how_many_users_it_concerns_and_a_host_that_it_is_refused() {
        let grant = |capability: &str, change| GrantChange { capability: capability.to_owned(), change };
        let grants = vec![
            grant("egress a.example", Change::Added),
            grant("egress b.example", Change::Kept),
            grant("egress c.example", Change::Removed),
            grant("secret KEY", Change::Kept),
            grant("secret NEW", Change::Added),
            grant("secret OLD", Change::Removed),
        ];
        let users = BTreeMap::from([("KEY".to_owned(), 12), ("NEW".to_owned(), 0), ("OLD".to_owned(), 1)]);
        let refused = ["b.example", "c.example", "KEY"].map(|host| RefusedHost {
            host: host.to_owned(),
            in_part: false,
            except_groups: vec!["sales".to_owned()],
        });

        let shown = ShownDifference::of(Difference { grants, ..Difference::default() }, &users, &refused);

        let rows: Vec<_> =
            shown.grants.iter().map(|it| (it.kind, it.name.as_str(), it.note.as_deref())).collect();
        assert_eq!(
            rows,
            [
                ("Network", "a.example", None),
                ("Network", "b.example", Some("refused by egress-policy, except to members of sales")),
                ("Network", "c.example", None),
                ("Secret", "KEY", Some("12 users have set it; this version could read it")),
                ("Secret", "NEW", None),
                ("Secret", "OLD", None),
            ]
        );
        assert!(!shown.is_empty && shown.groups.is_empty());
    }

    #[test]
    fn imports_that_are_always_refused_are_a_group_of_their_own() {
        let import = |interface: &str, always_refused, change| ImportChange {
            interface: interface.to_owned(),
            always_refused,
            change,
        };
        let imports = vec![
            import("wasi:http/outgoing-handler", false, Change::Added),
            import("wasi:sockets/tcp", true, Change::Added),
            import("wasi:sockets/udp", true, Change::Kept),
        ];

        let shown =
            ShownDifference::of(Difference { imports, ..Difference::default() }, &BTreeMap::new(), &[]);

        let names = |group: &Group| group.items.iter().map(|item| item.name.clone()).collect::<Vec<_>>();
        let groups: Vec<_> =
            shown.groups.iter().map(|it| (it.title, names(it).join(" "), it.kept.join(" "))).collect();
        let row = |title, items: &str, kept: &str| (title, items.to_owned(), kept.to_owned());
        assert_eq!(
            groups,
            [
                row("Imports of its code", "wasi:http/outgoing-handler", ""),
                row("Imported, always refused", "wasi:sockets/tcp", "wasi:sockets/udp"),
            ]
        );
    }
}
