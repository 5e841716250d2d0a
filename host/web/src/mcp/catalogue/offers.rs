//! `prompts/list`, `resources/list` and `resources/templates/list` of toolkits: built once for each live
//! version.

use std::sync::{Arc, PoisonError};

use kitbag_access::User;
use kitbag_access::values::toolkits::listed_name;
use kitbag_base::sha256::{Digest, Sha256};
use kitbag_manifest::offers::{is_template, resource_uri};
use kitbag_manifest::{PromptDefinition, ResourceDefinition, ToolkitDefinition};
use rmcp::model::{Prompt, PromptArgument, Resource, ResourceTemplate};
use serde::Serialize;

use super::{Catalogue, Cursor, InvalidCursor, PAGE_BYTES, PAGE_SIZE, Section, View, listed_now};
use crate::mcp::selection::Selection;

/// The prompts and resources of one toolkit.
pub(super) struct ToolkitOffers {
    toolkit: String,
    prompts: Items<Prompt>,
    resources: Items<Resource>,
    templates: Items<ResourceTemplate>,
}

struct Items<T> {
    /// Items with the length of their JSON in bytes.
    items: Vec<(T, usize)>,
    /// Digest of the JSON of all items.
    digest: Digest,
}

/// Prompts and resources that a client sees, as toolkits in the order of their ids.
pub(in crate::mcp) struct Offers(Vec<Arc<ToolkitOffers>>);

/// A page, and the cursor of the next one.
pub(in crate::mcp) type OffersPage<T> = ((Vec<T>, usize), Option<String>);

/// Digests to detect changes: of prompts, and of resources with their templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) struct OffersView {
    pub(in crate::mcp) prompts: View,
    pub(in crate::mcp) resources: View,
}

impl Catalogue {
    /// Returns the prompts and resources that `user` can see and the client has selected.
    pub(in crate::mcp) fn offers(&self, user: &User, chosen: &Selection) -> Offers {
        let toolkits = user.toolkits();
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = toolkits.iter().filter(|toolkit| chosen.has_offers_of(&toolkit.definition().id));
        Offers(seen.map(|toolkit| listed_now(&mut lists, toolkit).offers.clone()).collect())
    }
}

impl Offers {
    pub(in crate::mcp) fn prompts(&self, cursor: Option<&str>) -> Result<OffersPage<Prompt>, InvalidCursor> {
        self.page(cursor, |offers| &offers.prompts)
    }

    pub(in crate::mcp) fn resources(
        &self,
        cursor: Option<&str>,
    ) -> Result<OffersPage<Resource>, InvalidCursor> {
        self.page(cursor, |offers| &offers.resources)
    }

    pub(in crate::mcp) fn templates(
        &self,
        cursor: Option<&str>,
    ) -> Result<OffersPage<ResourceTemplate>, InvalidCursor> {
        self.page(cursor, |offers| &offers.templates)
    }

    pub(in crate::mcp) fn view(&self) -> OffersView {
        let mut prompts = Sha256::new();
        let mut resources = Sha256::new();
        // A toolkit without items does not change the digest.
        for ToolkitOffers { prompts: listed, resources: fixed, templates, .. } in
            self.0.iter().map(|it| &**it)
        {
            if !listed.items.is_empty() {
                prompts.update(listed.digest);
            }
            if !(fixed.items.is_empty() && templates.items.is_empty()) {
                resources.update(fixed.digest);
                resources.update(templates.digest);
            }
        }
        OffersView { prompts: View(prompts.finish()), resources: View(resources.finish()) }
    }

    fn page<T: Clone>(
        &self,
        cursor: Option<&str>,
        items: impl Fn(&ToolkitOffers) -> &Items<T>,
    ) -> Result<OffersPage<T>, InvalidCursor> {
        let from: Cursor = cursor.map(str::parse).transpose()?.unwrap_or_default();
        let mut page = Vec::new();
        let mut bytes = 0;
        let mut last = None;
        for offers in &self.0 {
            let before = from.listed_of(Section::default(), &offers.toolkit);
            for (index, (item, size)) in items(offers).items.iter().enumerate().skip(before) {
                if last.is_some() && (page.len() == PAGE_SIZE || bytes + size > PAGE_BYTES) {
                    return Ok(((page, bytes), last));
                }
                bytes += size;
                page.push(item.clone());
                last = Some(Cursor::after(Section::default(), &offers.toolkit, index).to_string());
            }
        }
        Ok(((page, bytes), None))
    }
}

impl From<&ToolkitDefinition> for ToolkitOffers {
    fn from(definition: &ToolkitDefinition) -> Self {
        let id = &definition.id;
        let (templates, resources): (Vec<_>, Vec<_>) =
            definition.resources.iter().partition(|resource| is_template(&resource.uri));
        Self {
            toolkit: id.clone(),
            prompts: Items::new(definition.prompts.iter().map(|it| prompt(id, it))),
            resources: Items::new(resources.into_iter().map(|it| resource(id, it))),
            templates: Items::new(templates.into_iter().map(|it| template(id, it))),
        }
    }
}

impl<T: Serialize> Items<T> {
    fn new(items: impl Iterator<Item = T>) -> Self {
        let mut hasher = Sha256::new();
        let items = items.map(|item| {
            let json = serde_json::to_vec(&item).expect("plain data always serialises");
            hasher.update(Sha256::digest(&json));
            (item, json.len())
        });
        Self { items: items.collect(), digest: hasher.finish() }
    }
}

fn prompt(id: &str, declared: &PromptDefinition) -> Prompt {
    let arguments = declared.arguments.iter().map(|declared| {
        let mut argument = PromptArgument::new(&declared.name).with_required(declared.required);
        argument.title.clone_from(&declared.title);
        argument.description.clone_from(&declared.description);
        argument
    });
    let arguments: Vec<_> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let mut prompt = Prompt::new(listed_name(id, &declared.name), Some(&declared.description), arguments);
    prompt.title.clone_from(&declared.title);
    prompt
}

fn resource(id: &str, declared: &ResourceDefinition) -> Resource {
    let mut resource = Resource::new(resource_uri(id, &declared.uri), listed_name(id, &declared.name));
    resource.title.clone_from(&declared.title);
    resource.description = Some(declared.description.clone());
    resource.mime_type.clone_from(&declared.media_type);
    resource
}

fn template(id: &str, declared: &ResourceDefinition) -> ResourceTemplate {
    let mut template =
        ResourceTemplate::new(resource_uri(id, &declared.uri), listed_name(id, &declared.name));
    template.title.clone_from(&declared.title);
    template.description = Some(declared.description.clone());
    template.mime_type.clone_from(&declared.media_type);
    template
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolkit(id: &str, prompts: usize, description: &str) -> Arc<ToolkitOffers> {
        let prompt = |index| PromptDefinition {
            name: format!("p{index}"),
            description: description.to_owned(),
            ..PromptDefinition::default()
        };
        let prompts = (0..prompts).map(prompt).collect();
        let definition = ToolkitDefinition { id: id.to_owned(), prompts, ..ToolkitDefinition::default() };
        Arc::new(ToolkitOffers::from(&definition))
    }

    #[test]
    fn pages_have_every_prompt_once_and_end_where_they_become_too_large() {
        let third = "x".repeat(PAGE_BYTES / 3);
        let offers = Offers(vec![toolkit("a", 3, &third), toolkit("b", 0, ""), toolkit("c", 2, &third)]);

        let mut names = Vec::new();
        let mut pages = 0;
        let mut cursor = None;
        loop {
            let ((page, _), next) = offers.prompts(cursor.as_deref()).expect("its own cursor");
            names.extend(page.into_iter().map(|prompt| prompt.name));
            pages += 1;
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }

        assert_eq!(names, ["a__p0", "a__p1", "a__p2", "c__p0", "c__p1"]);
        assert_eq!(pages, 3);
        assert!(offers.prompts(Some("5")).is_err());
    }

    #[test]
    fn a_view_differs_with_what_is_listed() {
        let of = |description| Offers(vec![toolkit("a", 1, description)]).view();

        assert_eq!(of("x"), of("x"));
        assert_ne!(of("x").prompts, of("y").prompts);
        assert_eq!(of("x").resources, of("y").resources);
        let beside = Offers(vec![toolkit("a", 1, "x"), toolkit("b", 0, "")]);
        assert_eq!(beside.view(), of("x"), "it offers nothing");
    }
}
