//! What checks against a schema may cost, estimated before it is compiled.
//!
//! `$ref`, `anyOf` and their like multiply: forty definitions of which each refers to the next one twice
//! are 2^40 evaluations of a single number. All counts are made once for each subschema, so the estimate
//! itself takes time in proportion to the schema.
//!
//! How often one value is evaluated is bounded here. How many values there are, and how deep a schema that
//! contains itself goes, is up to who calls: that is counted while a value is checked (`meter`).

use serde_json::Value;

use super::budget::MAX_STEPS;
use super::graph::{self, Node};

/// How many values (keywords, names, options) a schema may consist of.
const MAX_SCHEMA_VALUES: usize = 20_000;

/// How many subschemas may be evaluated for one value, not counting what is in it.
const MAX_EVALUATIONS: u64 = 10_000;

/// How many subschemas may lead to one another for the same value. Each takes some stack, at each level of
/// a value.
const MAX_DEPTH: u64 = 32;

/// How many validators a schema may be compiled to.
const MAX_VALIDATORS: u64 = 50_000;

/// Counts a value and everything in it, up to `limit`; nothing beyond that.
pub(super) fn values(value: &Value, limit: usize) -> Option<usize> {
    let mut counted = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        counted += 1;
        // What is open will be counted: the list itself must not outgrow the limit either.
        if counted + open.len() > limit {
            return None;
        }
        match value {
            Value::Array(items) if items.len() > limit => return None,
            Value::Array(items) => open.extend(items),
            Value::Object(members) if members.len() > limit => return None,
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    Some(counted)
}

/// Refuses a schema that is too costly to compile, or to check values against; the text says how costly it
/// is, what is allowed, and what to change. Returns the patterns of names, whose cost is another matter.
pub(super) fn admit(schema: &Value) -> Result<Vec<&str>, String> {
    if values(schema, MAX_SCHEMA_VALUES).is_none() {
        return Err(format!(
            "has more than {MAX_SCHEMA_VALUES} values in it: describe less, or split the tool"
        ));
    }
    let graph::Parts { nodes, name_patterns } = graph::read(schema)?;
    let depth = depth(&nodes);
    over(&nodes, &depth, u64::MAX - 1).map_or(Ok(()), |(path, _)| {
        Err(format!(
            "{path}: leads back to itself for the same value, so a check would not end: refer to it from properties or items"
        ))
    })?;
    let evaluations = evaluations(&nodes);
    over(&nodes, &evaluations, MAX_EVALUATIONS).map_or(Ok(()), |(path, count)| {
        Err(format!(
            "{path}: checking one value may take {} evaluations, and {MAX_EVALUATIONS} are allowed: alternatives and references multiply, so use fewer of them for the same value",
            shown(count)
        ))
    })?;
    over(&nodes, &depth, MAX_DEPTH).map_or(Ok(()), |(path, depth)| {
        Err(format!(
            "{path}: {depth} subschemas lead to one another for the same value, and {MAX_DEPTH} may: nest less"
        ))
    })?;
    let visits = visits(&nodes, &evaluations);
    // Without end: the schema contains itself, and how deep it goes depends on the value.
    let bounded: Vec<u64> = visits.iter().map(|count| if *count == u64::MAX { 0 } else { *count }).collect();
    over(&nodes, &bounded, MAX_STEPS).map_or(Ok(()), |(path, count)| {
        Err(format!(
            "{path}: checking one value in it may take {} evaluations, and {MAX_STEPS} are allowed: alternatives multiply at each level, so tell them apart further up",
            shown(count)
        ))
    })?;
    over(&nodes[..1], &validators(&nodes), MAX_VALIDATORS).map_or(Ok(()), |(_, count)| {
        Err(format!(
            "would be compiled to {} validators, and {MAX_VALIDATORS} are allowed: unevaluatedProperties, unevaluatedItems and $id multiply, so use additionalProperties, items and $defs",
            shown(count)
        ))
    })?;
    Ok(name_patterns)
}

/// The first node whose count is too high.
fn over<'a>(nodes: &'a [Node], counts: &[u64], most: u64) -> Option<(&'a str, u64)> {
    let (node, count) = nodes.iter().zip(counts).find(|(_, count)| **count > most)?;
    Some((if node.path.is_empty() { "/" } else { &node.path }, *count))
}

fn shown(count: u64) -> String {
    if count == u64::MAX { "endlessly many".to_owned() } else { count.to_string() }
}

/// The longest way through subschemas for the same value; [`u64::MAX`] where it has no end.
fn depth(nodes: &[Node]) -> Vec<u64> {
    solve(
        nodes.len(),
        |index| nodes[index].in_place().collect(),
        |index, known| nodes[index].in_place().map(|next| known[next]).max().unwrap_or(0).saturating_add(1),
    )
}

/// How many subschemas are evaluated for one value, all alternatives included.
///
/// Where `unevaluatedProperties` asks which members are evaluated, every alternative is tried again on
/// the way: that is a second count for each node.
fn evaluations(nodes: &[Node]) -> Vec<u64> {
    let count = nodes.len();
    let mut counts = solve(2 * count, tracked(nodes), |key, known| {
        let node = &nodes[key % count];
        let in_place = |offset: usize| sum(node.in_place().map(|next| known[next + offset]));
        match key < count {
            true if node.is_unevaluated => in_place(0).saturating_add(known[key + count]).saturating_add(1),
            true => in_place(0).saturating_add(1),
            false => in_place(0).saturating_add(in_place(count)).saturating_add(1),
        }
    });
    counts.truncate(count);
    counts
}

/// What the two counts of each node depend on: the evaluation of a node, and after all of those the
/// search for what it has evaluated.
fn tracked(nodes: &[Node]) -> impl Fn(usize) -> Vec<usize> {
    let count = nodes.len();
    move |key| {
        let node = &nodes[key % count];
        let mut needs: Vec<usize> = node.in_place().collect();
        match key < count {
            true if node.is_unevaluated => needs.push(key + count),
            true => {}
            false => needs.extend(node.in_place().map(|next| next + count)),
        }
        needs
    }
}

/// How many evaluations may meet at one value somewhere in a value, [`u64::MAX`] for a schema that
/// contains itself.
fn visits(nodes: &[Node], evaluations: &[u64]) -> Vec<u64> {
    let count = nodes.len();
    let tracked = tracked(nodes);
    let mut counts = solve(
        2 * count,
        |key| {
            let node = &nodes[key % count];
            let parts = node.properties.iter().chain(&node.members).chain(&node.items);
            tracked(key).into_iter().chain(parts.copied()).collect()
        },
        |key, known| {
            let node = &nodes[key % count];
            // Applied to a part of the value, a subschema is evaluated there, and below.
            let there = |part: &usize| evaluations[*part].max(known[*part]);
            let of_members = node
                .properties
                .iter()
                .map(there)
                .max()
                .unwrap_or(0)
                .saturating_add(sum(node.members.iter().map(there)));
            let own = of_members.max(sum(node.items.iter().map(there)));
            sum(tracked(key).into_iter().map(|next| known[next])).saturating_add(own)
        },
    );
    counts.truncate(count);
    counts
}

/// How many validators the schema is compiled to, for the first node. Definitions are compiled once, except
/// where `unevaluatedProperties` or `unevaluatedItems` unfolds all that applies to the same value.
fn validators(nodes: &[Node]) -> Vec<u64> {
    let count = nodes.len();
    let unfolded = |node: &Node| -> Vec<usize> {
        // References are unfolded, what stands in the node is compiled too; members named by
        // `properties` only lend their names.
        let compiled = node.branches.iter().chain(&node.members).chain(&node.items).copied();
        compiled.chain(node.in_place().map(|next| next + count)).collect()
    };
    let counts = solve(
        2 * count,
        |key| {
            let node = &nodes[key % count];
            if key >= count {
                unfolded(node)
            } else if node.is_unevaluated {
                node.parts().chain([key + count]).collect()
            } else {
                node.parts().collect()
            }
        },
        |key, known| {
            let node = &nodes[key % count];
            let needs = if key >= count {
                sum(unfolded(node).into_iter().map(|next| known[next]))
            } else {
                let search = if node.is_unevaluated { known[key + count] } else { 0 };
                sum(node.parts().map(|part| known[part])).saturating_add(search)
            };
            needs.saturating_add(1)
        },
    );
    // The root, and each definition that something refers to.
    let mut referred = vec![false; count];
    nodes.iter().flat_map(|node| &node.references).for_each(|target| referred[*target] = true);
    referred[0] = true;
    let once = sum((0..count).filter(|index| referred[*index]).map(|index| counts[index]));
    // With resources of its own a definition is compiled again for each way that leads to it.
    let resources = nodes.iter().filter(|node| node.is_resource).count() as u64;
    let ways = resources.max(1).saturating_pow(u32::try_from(resources).unwrap_or(u32::MAX));
    vec![once.saturating_mul(ways)]
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Computes a count for each of `size` keys, each once, after those that it needs. What is in a cycle, or
/// leads into one, is [`u64::MAX`].
fn solve(
    size: usize,
    needs: impl Fn(usize) -> Vec<usize>,
    compute: impl Fn(usize, &[u64]) -> u64,
) -> Vec<u64> {
    let mut missing = vec![0_usize; size];
    let mut needed_by = vec![Vec::new(); size];
    for (key, missing) in missing.iter_mut().enumerate() {
        let needs = needs(key);
        *missing = needs.len();
        for need in needs {
            needed_by[need].push(key);
        }
    }
    let mut known = vec![u64::MAX; size];
    let mut ready: Vec<usize> = (0..size).filter(|key| missing[*key] == 0).collect();
    while let Some(key) = ready.pop() {
        known[key] = compute(key, &known);
        for waiting in &needed_by[key] {
            missing[*waiting] -= 1;
            if missing[*waiting] == 0 {
                ready.push(*waiting);
            }
        }
    }
    known
}

#[cfg(test)]
mod tests;
