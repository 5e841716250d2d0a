//! Estimates the cost of checks against a schema, before the schema is compiled.
//!
//! `$ref`, `anyOf` and similar keywords multiply: forty definitions that each refer to the next one twice
//! are 2^40 evaluations of a single number. Each count is computed once per subschema, so the estimate
//! itself takes time proportional to the size of the schema.
//!
//! This module bounds how often one value is evaluated. The number of values, and the depth of recursion in a
//! schema that contains itself, depend on the caller's value and are counted during the check (`meter`).

use serde_json::Value;

use super::budget::MAX_STEPS;
use super::graph::{self, Node};

/// Maximum number of values (keywords, names, options) in a schema.
const MAX_SCHEMA_VALUES: usize = 20_000;

/// Maximum number of subschemas evaluated for one value, not counting those for its members and items.
const MAX_EVALUATIONS: u64 = 10_000;

/// Maximum length of a chain of subschemas that apply to the same value. Each uses stack space at each level
/// of the value.
const MAX_DEPTH: u64 = 32;

/// Maximum number of validators that a schema may be compiled to.
const MAX_VALIDATORS: u64 = 50_000;

/// Counts a value and everything in it; `None` if the count exceeds `limit`.
pub(super) fn values(value: &Value, limit: usize) -> Option<usize> {
    let mut counted = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        counted += 1;
        // Includes the values still to be counted, so that the list itself does not exceed the limit.
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

/// Refuses a schema that is too costly to compile, or to check values against. The error says how costly it
/// is, what is allowed and what to change. Returns the patterns of names, whose cost is not checked here.
pub(super) fn admit(schema: &Value) -> Result<Vec<&str>, String> {
    if values(schema, MAX_SCHEMA_VALUES).is_none() {
        return Err(format!(
            "has more than {MAX_SCHEMA_VALUES} values in it: describe less, or split the tool"
        ));
    }
    let graph::Parts { nodes, name_patterns } = graph::read(schema)?;
    let depth = depth(&nodes);
    first_exceeding(&nodes, &depth, u64::MAX - 1).map_or(Ok(()), |(path, _)| {
        Err(format!(
            "{path}: leads back to itself for the same value, so a check would not end: refer to it from properties or items"
        ))
    })?;
    let evaluations = evaluations(&nodes);
    first_exceeding(&nodes, &evaluations, MAX_EVALUATIONS).map_or(Ok(()), |(path, count)| {
        Err(format!(
            "{path}: checking one value may take {} evaluations, and {MAX_EVALUATIONS} are allowed: alternatives and references multiply, so use fewer of them for the same value",
            format_count(count)
        ))
    })?;
    first_exceeding(&nodes, &depth, MAX_DEPTH).map_or(Ok(()), |(path, depth)| {
        Err(format!(
            "{path}: {depth} subschemas lead to one another for the same value, and {MAX_DEPTH} may: nest less"
        ))
    })?;
    let visits = visits(&nodes, &evaluations);
    // Infinite counts are left out: the schema contains itself, and its depth depends on the value.
    let bounded: Vec<u64> = visits.iter().map(|count| if *count == u64::MAX { 0 } else { *count }).collect();
    first_exceeding(&nodes, &bounded, MAX_STEPS).map_or(Ok(()), |(path, count)| {
        Err(format!(
            "{path}: checking one value in it may take {} evaluations, and {MAX_STEPS} are allowed: alternatives multiply at each level, so tell them apart further up",
            format_count(count)
        ))
    })?;
    first_exceeding(&nodes[..1], &validators(&nodes), MAX_VALIDATORS).map_or(Ok(()), |(_, count)| {
        Err(format!(
            "would be compiled to {} validators, and {MAX_VALIDATORS} are allowed: unevaluatedProperties, unevaluatedItems and $id multiply, so use additionalProperties, items and $defs",
            format_count(count)
        ))
    })?;
    Ok(name_patterns)
}

/// Returns path and count of the first node whose count exceeds `max`.
fn first_exceeding<'a>(nodes: &'a [Node], counts: &[u64], max: u64) -> Option<(&'a str, u64)> {
    let (node, count) = nodes.iter().zip(counts).find(|(_, count)| **count > max)?;
    Some((if node.path.is_empty() { "/" } else { &node.path }, *count))
}

/// Formats a count for an error message; [`u64::MAX`] means infinite.
fn format_count(count: u64) -> String {
    if count == u64::MAX { "endlessly many".to_owned() } else { count.to_string() }
}

/// Computes for each node the longest chain of subschemas for the same value; [`u64::MAX`] if it is infinite.
fn depth(nodes: &[Node]) -> Vec<u64> {
    solve(
        nodes.len(),
        |index| nodes[index].in_place().collect(),
        |index, known| nodes[index].in_place().map(|next| known[next]).max().unwrap_or(0).saturating_add(1),
    )
}

/// Computes for each node how many subschemas are evaluated for one value, including all alternatives.
///
/// To find out which members are evaluated, `unevaluatedProperties` tries every alternative again. Each node
/// has a second count for that.
fn evaluations(nodes: &[Node]) -> Vec<u64> {
    let count = nodes.len();
    let mut counts = solve(2 * count, dependencies(nodes), |key, known| {
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

/// Returns the dependencies of the two counts of each node. Keys below `nodes.len()` are for the evaluation
/// of a node, the following keys for the search for what it has evaluated.
fn dependencies(nodes: &[Node]) -> impl Fn(usize) -> Vec<usize> {
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

/// Computes for each node the maximum number of evaluations of one value inside the checked value;
/// [`u64::MAX`] for a schema that contains itself.
fn visits(nodes: &[Node], evaluations: &[u64]) -> Vec<u64> {
    let count = nodes.len();
    let dependencies = dependencies(nodes);
    let mut counts = solve(
        2 * count,
        |key| {
            let node = &nodes[key % count];
            let parts = node.properties.iter().chain(&node.members).chain(&node.items);
            dependencies(key).into_iter().chain(parts.copied()).collect()
        },
        |key, known| {
            let node = &nodes[key % count];
            // A subschema for a part of the value is evaluated for that part and for everything in it.
            let there = |part: &usize| evaluations[*part].max(known[*part]);
            let of_members = node
                .properties
                .iter()
                .map(there)
                .max()
                .unwrap_or(0)
                .saturating_add(sum(node.members.iter().map(there)));
            let own = of_members.max(sum(node.items.iter().map(there)));
            sum(dependencies(key).into_iter().map(|next| known[next])).saturating_add(own)
        },
    );
    counts.truncate(count);
    counts
}

/// Computes how many validators the schema is compiled to; the result has one count, for the root.
/// Definitions are compiled once, but `unevaluatedProperties` and `unevaluatedItems` unfold all that applies
/// to the same value.
fn validators(nodes: &[Node]) -> Vec<u64> {
    let count = nodes.len();
    let unfolded = |node: &Node| -> Vec<usize> {
        // References are unfolded, and subschemas of the node are compiled too. Of `properties` only the
        // names are used.
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
    // Counts the root, and each definition that is referred to.
    let mut referred = vec![false; count];
    nodes.iter().flat_map(|node| &node.references).for_each(|target| referred[*target] = true);
    referred[0] = true;
    let once = sum((0..count).filter(|index| referred[*index]).map(|index| counts[index]));
    // If definitions are resources (`$id`), they are compiled again for each path that leads to them.
    let resources = nodes.iter().filter(|node| node.is_resource).count() as u64;
    let paths = resources.max(1).saturating_pow(u32::try_from(resources).unwrap_or(u32::MAX));
    vec![once.saturating_mul(paths)]
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Computes a count for each of `size` keys once, in the order of their dependencies (`needs`). A key in a
/// cycle, or that depends on one, gets [`u64::MAX`].
fn solve(
    size: usize,
    needs: impl Fn(usize) -> Vec<usize>,
    compute: impl Fn(usize, &[u64]) -> u64,
) -> Vec<u64> {
    let mut missing = vec![0_usize; size];
    let mut dependents = vec![Vec::new(); size];
    for (key, missing) in missing.iter_mut().enumerate() {
        let needs = needs(key);
        *missing = needs.len();
        for need in needs {
            dependents[need].push(key);
        }
    }
    let mut known = vec![u64::MAX; size];
    let mut ready: Vec<usize> = (0..size).filter(|key| missing[*key] == 0).collect();
    while let Some(key) = ready.pop() {
        known[key] = compute(key, &known);
        for waiting in &dependents[key] {
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
