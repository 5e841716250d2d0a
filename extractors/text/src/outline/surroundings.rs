//! Which elements hold what a page has around its text, and what is in each of them.

use std::collections::HashMap;

use html5ever::tokenizer::Tag;

use super::elements::{block, is_block, is_closed_by_its_sibling};
use super::{Part, names};

/// Values of `role` that say that an element is no running text.
const ROLES: [&str; 7] =
    ["alertdialog", "banner", "complementary", "contentinfo", "dialog", "navigation", "search"];

/// Regions of a page, as far as it was read: elements that say that they are no running text.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// Names of open elements, each with the region around it.
    open: Vec<(&'static str, Option<usize>)>,
    /// Number of open elements by name.
    counts: HashMap<&'static str, usize>,
    regions: Vec<Region>,
    current: Option<usize>,
}

#[derive(Debug)]
struct Region {
    /// Region around it, which began before.
    parent: Option<usize>,
    part: Part,
}

/// Bytes of text in a region.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// Lines that an article finder found.
    pub(super) found: usize,
    pub(super) all: usize,
}

impl Surroundings {
    pub(super) fn start(&mut self, tag: &Tag, name: &str) {
        let Some(name) = nesting_name(name) else { return };
        while self.open.last().is_some_and(|(open, _)| is_closed_by(open, name)) {
            self.pop();
        }
        *self.counts.entry(name).or_default() += 1;
        self.open.push((name, self.current));
        if let Some(part) = part_of(tag, name) {
            self.regions.push(Region { parent: self.current, part });
            self.current = Some(self.regions.len() - 1);
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        if let Some(name) = nesting_name(name).filter(|name| self.is_open(name)) {
            while self.pop().is_some_and(|closed| closed != name) {}
        }
    }

    pub(super) fn is_open(&self, name: &str) -> bool {
        self.counts.get(name).is_some_and(|count| *count > 0)
    }

    /// Returns the innermost region that is open.
    pub(super) fn current(&self) -> Option<usize> {
        self.current
    }

    /// Returns the part of the page that each region is, given its own lines. One with more than half of the page is the
    /// page itself, whatever it is called.
    pub(super) fn parts(&self, lines: impl Iterator<Item = (Option<usize>, Weight)>) -> Vec<Part> {
        let mut weights = vec![Weight::default(); self.regions.len()];
        let mut page = Weight::default();
        for (region, weight) in lines {
            add(&mut page, weight);
            if let Some(region) = region {
                add(&mut weights[region], weight);
            }
        }
        for at in (0..self.regions.len()).rev() {
            if let Some(parent) = self.regions[at].parent {
                let weight = weights[at];
                add(&mut weights[parent], weight);
            }
        }
        let mut parts = Vec::with_capacity(self.regions.len());
        for (region, weight) in self.regions.iter().zip(&weights) {
            let is_page = weight.found > page.found / 2 || weight.all > page.all / 2;
            let own = if is_page { Part::Text } else { region.part };
            let around = region.parent.map_or(Part::Text, |parent| parts[parent]);
            parts.push(own.max(around));
        }
        parts
    }

    fn pop(&mut self) -> Option<&'static str> {
        let (name, around) = self.open.pop()?;
        self.current = around;
        *self.counts.entry(name).or_default() -= 1;
        Some(name)
    }
}

fn add(sum: &mut Weight, weight: Weight) {
    sum.found += weight.found;
    sum.all += weight.all;
}

/// Returns the name of an element that can hold lines of text, as far as this is known. All elements that scripts define
/// have one name: however many there are, their names need no memory.
fn nesting_name(name: &str) -> Option<&'static str> {
    match name {
        "br" | "embed" | "hr" | "input" | "link" | "meta" => None,
        "td" => Some("td"),
        "th" => Some("th"),
        _ => block(name).or_else(|| name.contains('-').then_some("-")),
    }
}

/// Returns whether an open element ends where another begins, as far as both are named here.
fn is_closed_by(open: &str, next: &str) -> bool {
    match open {
        "p" => is_block(next),
        "dd" | "dt" => matches!(next, "dd" | "dt"),
        "td" | "th" => matches!(next, "td" | "th" | "tr"),
        _ => open == next && is_closed_by_its_sibling(open),
    }
}

/// Returns the part of the page that an element says to be. A form says nothing: some servers put each page into one.
fn part_of(tag: &Tag, name: &str) -> Option<Part> {
    let by_element = match name {
        "article" | "body" | "html" | "main" => return None,
        "aside" | "button" | "dialog" | "fieldset" | "footer" | "menu" | "nav" | "select" => {
            return Some(Part::Around);
        }
        "figcaption" => Some(Part::Caption),
        "header" => Some(Part::Header),
        _ => None,
    };
    let by_attributes = tag.attrs.iter().filter_map(|attribute| match &*attribute.name.local {
        "class" | "id" => names::part(&attribute.value),
        "role" if ROLES.contains(&&*attribute.value) => Some(Part::Around),
        _ => None,
    });
    by_attributes.chain(by_element).max()
}
