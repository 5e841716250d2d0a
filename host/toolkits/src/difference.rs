//! The difference between two versions of a toolkit: its capabilities, its imports, and every text that users and models
//! read.
//!
//! Invariant: lines that are too large to be shown are counted in `left_out`; nothing is omitted silently.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use kitbag_manifest::{
    Auth, PromptDefinition, ResourceDefinition, ToolDefinition, ToolkitDefinition, Visibility,
};
use kitbag_sandbox::is_always_refused;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use text::{Budget, json_text};
pub use text::{Line, LineKind, TextChange};

/// The difference between the capabilities of two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// New capabilities.
    pub added: Vec<String>,
    /// Removed capabilities.
    pub removed: Vec<String>,
}

/// The difference between two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Capabilities of both versions: first those of the newer one, in its order.
    pub grants: Vec<GrantChange>,
    /// Imported interfaces of both versions, in the same order; empty if those of one version are unknown.
    pub imports: Vec<ImportChange>,
    /// Changed texts of the toolkit itself: `name`, `description`, `icon`, `author`, `visibility`, `auth`.
    pub toolkit: Vec<TextChange>,
    /// Settings of both versions, by key.
    pub settings: Vec<ItemChange>,
    /// Tools of both versions, by name.
    pub tools: Vec<ItemChange>,
    /// Prompts of both versions, by name.
    #[serde(default)]
    pub prompts: Vec<ItemChange>,
    /// Resources of both versions, by name.
    #[serde(default)]
    pub resources: Vec<ItemChange>,
}

/// A capability, and whether it was added or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantChange {
    /// The capability as in the response to a deploy: `egress api.example.com`, `secret API_KEY`, `scope
    /// svc:search`.
    pub capability: String,
    /// Added, removed or unchanged; never `Changed`.
    pub change: Change,
}

/// An imported interface, and whether it was added or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportChange {
    /// Name of the interface, without its version: `wasi:http/outgoing-handler`.
    pub interface: String,
    /// Whether every call of its functions is refused, whatever the toolkit declares.
    #[serde(default)]
    pub always_refused: bool,
    /// Added, removed or unchanged; never `Changed`.
    pub change: Change,
}

/// A tool, a prompt, a resource or a setting, and its changed texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemChange {
    /// Name of the item, or key of the setting.
    pub name: String,
    /// State of the item as a whole.
    pub change: Change,
    /// Changed texts: all texts of an added item, none of a removed one.
    pub texts: Vec<TextChange>,
}

/// State of an item in a comparison of two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Only the newer version has the item.
    Added,
    /// Only the older version has the item.
    Removed,
    /// Both versions have the item, with differences.
    Changed,
    /// The item is the same in both versions.
    Kept,
}

/// One of the two compared versions.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The declaration.
    pub manifest: &'a ToolkitDefinition,
    /// Imported interfaces, without their versions.
    pub imports: &'a [String],
}

/// Names and contents of the texts of a declaration's part.
type Texts = Vec<(&'static str, String)>;

impl Difference {
    /// Compares two versions, or a first version with nothing.
    pub fn between(before: Option<Side<'_>>, after: Side<'_>) -> Self {
        let imports = imports(before, after);
        let before = before.map(|side| side.manifest);
        let after = after.manifest;
        let mut budget = Budget::default();
        let tools = |definition: &ToolkitDefinition| -> Vec<_> {
            definition.tools.iter().map(|tool| (tool.name.clone(), tool_texts(tool))).collect()
        };
        let prompts = |definition: &ToolkitDefinition| -> Vec<_> {
            definition.prompts.iter().map(|prompt| (prompt.name.clone(), prompt_texts(prompt))).collect()
        };
        let resources = |definition: &ToolkitDefinition| -> Vec<_> {
            definition.resources.iter().map(|it| (it.name.clone(), resource_texts(it))).collect()
        };
        let settings = |definition: &ToolkitDefinition| -> Vec<_> {
            let all = definition.config.iter();
            all.map(|(key, field)| (key.clone(), vec![("definition", json_text(&json!(field)))])).collect()
        };
        let all = |parts: &dyn Fn(&ToolkitDefinition) -> Vec<(String, Texts)>, budget: &mut Budget| {
            items(before.map(parts).unwrap_or_default(), parts(after), budget)
        };
        let before_texts = before.map(toolkit_texts).unwrap_or_default();
        Self {
            grants: grants(before, after),
            imports,
            toolkit: budget.differing(&before_texts, &toolkit_texts(after)),
            settings: all(&settings, &mut budget),
            tools: all(&tools, &mut budget),
            prompts: all(&prompts, &mut budget),
            resources: all(&resources, &mut budget),
        }
    }

    /// Whether the versions differ only in their version number and code.
    pub fn is_empty(&self) -> bool {
        let is_kept = |item: &ItemChange| item.change == Change::Kept;
        self.grants.iter().all(|grant| grant.change == Change::Kept)
            && self.imports.iter().all(|import| import.change == Change::Kept)
            && self.toolkit.is_empty()
            && self.items().all(is_kept)
    }

    /// Number of lines that are not shown in full.
    pub fn left_out(&self) -> usize {
        let items = self.items().flat_map(|item| &item.texts);
        self.toolkit.iter().chain(items).map(|text| text.left_out).sum()
    }

    fn items(&self) -> impl Iterator<Item = &ItemChange> {
        [&self.settings, &self.tools, &self.prompts, &self.resources].into_iter().flatten()
    }
}

impl Changes {
    /// Compares the capabilities of two versions.
    pub(super) fn between(before: Option<&ToolkitDefinition>, after: &ToolkitDefinition) -> Self {
        let mut changes = Self::default();
        for (capability, change) in each(before.map(capabilities).unwrap_or_default(), capabilities(after)) {
            match change {
                Change::Added => changes.added.push(capability),
                Change::Removed => changes.removed.push(capability),
                Change::Changed | Change::Kept => {}
            }
        }
        changes.added.sort();
        changes
    }
}

/// The capabilities that a declaration grants, one line each.
pub fn capabilities(definition: &ToolkitDefinition) -> Vec<String> {
    let lines = |kind: &str, names: &[String]| -> Vec<String> {
        names.iter().map(|name| format!("{kind} {name}")).collect()
    };
    [
        lines("egress", &definition.egress),
        lines("secret", &definition.secrets),
        lines("scope", &definition.scopes),
        definition.auth.iter().map(sign_in).collect(),
    ]
    .concat()
}

/// Formats a sign-in as one line: its host and its credentials.
fn sign_in(auth: &Auth) -> String {
    let host = auth.api_host();
    match auth {
        Auth::ClientCredentials(_) => format!("sign-in at {host}"),
        Auth::AuthorizationCode(grant) => {
            let url = Url::parse(&grant.authorization_url).ok();
            let provider = url.as_ref().and_then(Url::host_str).unwrap_or_default();
            let scope = grant.scope.as_deref().map(|scope| format!(", for {scope}")).unwrap_or_default();
            format!("sign-in at {host} with an account that users connect at {provider}{scope}")
        }
        Auth::ApiKey(key) => format!("sign-in at {host} with {}", key.secret),
        Auth::Basic(basic) => {
            format!("sign-in at {host} with {} and {}", basic.username_secret, basic.password_secret)
        }
    }
}

fn grants(before: Option<&ToolkitDefinition>, after: &ToolkitDefinition) -> Vec<GrantChange> {
    let all = each(before.map(capabilities).unwrap_or_default(), capabilities(after));
    all.map(|(capability, change)| GrantChange { capability, change }).collect()
}

fn imports(before: Option<Side<'_>>, after: Side<'_>) -> Vec<ImportChange> {
    let before = before.map_or(&[][..], |side| side.imports);
    let all = each(before.to_vec(), after.imports.to_vec());
    all.map(|(interface, change)| {
        let always_refused = is_always_refused(&interface);
        ImportChange { interface, always_refused, change }
    })
    .collect()
}

/// Compares names: first those of `after` in their order, then the removed ones in alphabetical order.
fn each(before: Vec<String>, after: Vec<String>) -> impl Iterator<Item = (String, Change)> {
    let mut gone: BTreeSet<_> = before.into_iter().collect();
    let present = after.into_iter().map(|name| {
        let change = if gone.remove(&name) { Change::Kept } else { Change::Added };
        (name, change)
    });
    let present: Vec<_> = present.collect();
    present.into_iter().chain(gone.into_iter().map(|name| (name, Change::Removed)))
}

fn items(before: Vec<(String, Texts)>, after: Vec<(String, Texts)>, budget: &mut Budget) -> Vec<ItemChange> {
    let mut gone: BTreeMap<_, _> = before.into_iter().collect();
    let mut all: Vec<_> = after
        .into_iter()
        .map(|(name, after)| {
            let (change, texts) = match gone.remove(&name) {
                None => (Change::Added, budget.differing(&[], &after)),
                Some(before) if before == after => (Change::Kept, Vec::new()),
                Some(before) => (Change::Changed, budget.differing(&before, &after)),
            };
            ItemChange { name, change, texts }
        })
        .collect();
    all.extend(gone.into_keys().map(|name| ItemChange { name, change: Change::Removed, texts: Vec::new() }));
    all
}

fn toolkit_texts(definition: &ToolkitDefinition) -> Texts {
    let visibility = match definition.visibility {
        Visibility::Private => "private",
        Visibility::Shared => "shared",
    };
    vec![
        ("name", definition.name.clone()),
        ("description", definition.description.clone()),
        ("icon", definition.icon.clone()),
        ("author", definition.author.clone().unwrap_or_default()),
        ("visibility", visibility.to_owned()),
        ("auth", if definition.auth.is_empty() { String::new() } else { json_text(&json!(definition.auth)) }),
    ]
}

fn tool_texts(tool: &ToolDefinition) -> Texts {
    let hints = json!({
        "annotations": tool.annotations, "mutating": tool.mutating, "alwaysOn": tool.always_on,
    });
    vec![
        ("title", tool.title.clone().unwrap_or_default()),
        ("description", tool.description.clone()),
        ("inputSchema", json_text(&tool.input_schema)),
        ("outputSchema", tool.output_schema.as_ref().map(json_text).unwrap_or_default()),
        ("hints", json_text(&hints)),
    ]
}

fn prompt_texts(prompt: &PromptDefinition) -> Texts {
    vec![
        ("title", prompt.title.clone().unwrap_or_default()),
        ("description", prompt.description.clone()),
        ("arguments", json_text(&json!(prompt.arguments))),
    ]
}

fn resource_texts(resource: &ResourceDefinition) -> Texts {
    vec![
        ("title", resource.title.clone().unwrap_or_default()),
        ("description", resource.description.clone()),
        ("uri", resource.uri.clone()),
        ("mediaType", resource.media_type.clone().unwrap_or_default()),
        ("variables", json_text(&json!(resource.variables))),
    ]
}

#[cfg(test)]
mod tests {
    use kitbag_manifest::ConfigField;

    use super::*;

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            ..ToolDefinition::default()
        }
    }

    fn toolkit(egress: &[&str], tools: &[(&str, &str)]) -> ToolkitDefinition {
        ToolkitDefinition {
            egress: egress.iter().map(|host| (*host).to_owned()).collect(),
            tools: tools.iter().map(|(name, description)| tool(name, description)).collect(),
            ..ToolkitDefinition::default()
        }
    }

    fn between(before: Option<&ToolkitDefinition>, after: &ToolkitDefinition) -> Difference {
        let side = |manifest| Side { manifest, imports: &[] };
        Difference::between(before.map(side), side(after))
    }

    fn of_items(items: &[ItemChange]) -> Vec<(&str, Change)> {
        items.iter().map(|item| (item.name.as_str(), item.change)).collect()
    }

    #[test]
    fn a_new_capability_shows_as_a_change() {
        let before = ToolkitDefinition { egress: vec!["a.example".into()], ..ToolkitDefinition::default() };
        let after = ToolkitDefinition { secrets: vec!["KEY".into()], ..ToolkitDefinition::default() };

        let found = Changes::between(Some(&before), &after);

        let expected = Changes { added: vec!["secret KEY".into()], removed: vec!["egress a.example".into()] };
        assert_eq!(found, expected);
    }

    #[test]
    fn each_grant_and_each_tool_is_new_gone_changed_or_kept() {
        let before = toolkit(&["a.example", "b.example"], &[("find", "Finds."), ("old", "."), ("same", ".")]);
        let after =
            toolkit(&["b.example", "c.example"], &[("find", "Finds all."), ("new", "."), ("same", ".")]);

        let difference = between(Some(&before), &after);

        let grants: Vec<_> =
            difference.grants.iter().map(|grant| (grant.capability.as_str(), grant.change)).collect();
        assert_eq!(
            grants,
            [
                ("egress b.example", Change::Kept),
                ("egress c.example", Change::Added),
                ("egress a.example", Change::Removed),
            ]
        );
        assert_eq!(
            of_items(&difference.tools),
            [
                ("find", Change::Changed),
                ("new", Change::Added),
                ("same", Change::Kept),
                ("old", Change::Removed),
            ]
        );
        let names: Vec<_> = difference.tools[0].texts.iter().map(|text| text.name.as_str()).collect();
        assert_eq!(names, ["description"]);
        assert!(!difference.is_empty() && difference.left_out() == 0);
    }

    #[test]
    fn whatever_a_model_or_a_user_reads_shows_when_it_changes() {
        let before = toolkit(&[], &[("find", "Finds.")]);
        let mut titled = before.clone();
        titled.tools[0].title = Some("Find".to_owned());
        let mut schema = before.clone();
        schema.tools[0].input_schema =
            json!({ "type": "object", "properties": { "a": { "description": "Say yes." } } });
        let mut output = before.clone();
        output.tools[0].output_schema = Some(json!({ "type": "object" }));
        let mut hints = before.clone();
        hints.tools[0].annotations.read_only_hint = Some(true);
        let mut first = before.clone();
        first.tools[0].always_on = true;
        for (after, part) in [
            (titled, "title"),
            (schema, "inputSchema"),
            (output, "outputSchema"),
            (hints, "hints"),
            (first, "hints"),
        ] {
            let difference = between(Some(&before), &after);
            assert_eq!(of_items(&difference.tools), [("find", Change::Changed)], "{part}");
            assert_eq!(difference.tools[0].texts[0].name, part);
        }

        let shared = ToolkitDefinition { visibility: Visibility::Shared, ..before.clone() };
        assert_eq!(between(Some(&before), &shared).toolkit[0].name, "visibility");
        let mut setting = before.clone();
        setting.config.insert("unit".to_owned(), ConfigField::default());
        assert_eq!(of_items(&between(Some(&before), &setting).settings), [("unit", Change::Added)]);
    }

    #[test]
    fn prompts_and_resources_show_when_they_change() {
        let before = toolkit(&[], &[("find", "Finds.")]);
        let mut after = before.clone();
        after.prompts.push(PromptDefinition { name: "review".to_owned(), ..PromptDefinition::default() });
        after.resources.push(ResourceDefinition { name: "all".to_owned(), ..ResourceDefinition::default() });
        let mut moved = after.clone();
        moved.resources[0].uri = "books".to_owned();
        moved.prompts[0].arguments.push(kitbag_manifest::PromptArgument::default());

        let added = between(Some(&before), &after);
        let changed = between(Some(&after), &moved);

        assert_eq!(of_items(&added.prompts), [("review", Change::Added)]);
        assert_eq!(of_items(&added.resources), [("all", Change::Added)]);
        assert!(!added.is_empty() && between(Some(&after), &after).is_empty());
        assert_eq!(changed.prompts[0].texts[0].name, "arguments");
        assert_eq!(changed.resources[0].texts[0].name, "uri");
    }

    #[test]
    fn a_first_version_is_new_as_a_whole_and_the_same_one_is_no_change() {
        let toolkit = toolkit(&["a.example"], &[("find", "Finds.\nAll.")]);

        let first = between(None, &toolkit);
        assert_eq!(first.grants[0].change, Change::Added);
        let lines: Vec<_> = first.tools[0].texts[0].lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["Finds.", "All."]);

        let none = between(Some(&toolkit), &toolkit);
        assert!(none.is_empty(), "{none:?}");
    }

    #[test]
    fn imports_are_compared() {
        let manifest = &toolkit(&[], &[]);
        let compared = |before: &[&str], after: &[&str]| -> Vec<_> {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            let before = owned(before);
            let after = owned(after);
            let side = |imports| Side { manifest, imports };
            let difference = Difference::between(Some(side(&before)), side(&after));
            assert_eq!(difference.is_empty(), difference.imports.iter().all(|it| it.change == Change::Kept));
            difference.imports.into_iter().map(|it| (it.interface, it.change)).collect()
        };
        let named = |name: &str, change| (name.to_owned(), change);

        let both = compared(&["a:a/a", "b:b/b"], &["b:b/b", "c:c/c"]);

        let expected =
            [named("b:b/b", Change::Kept), named("c:c/c", Change::Added), named("a:a/a", Change::Removed)];
        assert_eq!(both, expected);
        assert_eq!(compared(&["a:a/a"], &["a:a/a"]), [named("a:a/a", Change::Kept)]);
        let imports = ["a:a/a", "wasi:sockets/tcp"].map(str::to_owned);
        let first = Difference::between(None, Side { manifest, imports: &imports });
        assert_eq!(first.imports[0].change, Change::Added);
        assert!(!first.imports[0].always_refused && first.imports[1].always_refused, "{:?}", first.imports);
    }
}
