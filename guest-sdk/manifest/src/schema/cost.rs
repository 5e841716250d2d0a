//! What a check may cost, estimated before it is made.
//!
//! Authors choose schemas and callers choose values, and neither may hold the server: listing what is
//! wrong visits every way through `$ref`, `anyOf` and their like, which can be more than there is
//! memory for.

use std::collections::HashMap;

use serde_json::Value;

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

/// Counts the ways through a schema, references followed; a schema that contains itself has no end,
/// which counts as [`u64::MAX`].
pub(super) fn ways(schema: &Value) -> u64 {
    Unfolding { root: schema, known: HashMap::new() }.count(schema)
}

struct Unfolding<'a> {
    root: &'a Value,
    /// By the node's address. A node that is still being counted stands for a cycle.
    known: HashMap<*const Value, u64>,
}

impl<'a> Unfolding<'a> {
    fn count(&mut self, node: &'a Value) -> u64 {
        let address = std::ptr::from_ref(node);
        if let Some(count) = self.known.get(&address) {
            return *count;
        }
        self.known.insert(address, u64::MAX);
        let inside = match node {
            Value::Array(items) => self.sum(items),
            Value::Object(members) => self.sum(members.values()).saturating_add(self.behind(node)),
            _ => 0,
        };
        let count = inside.saturating_add(1);
        self.known.insert(address, count);
        count
    }

    fn sum(&mut self, nodes: impl IntoIterator<Item = &'a Value>) -> u64 {
        nodes.into_iter().fold(0, |sum, node| self.count(node).saturating_add(sum))
    }

    /// What a reference adds. One that is not a plain pointer into the schema is not followed but
    /// feared.
    fn behind(&mut self, node: &'a Value) -> u64 {
        ["$ref", "$dynamicRef"].iter().fold(0, |sum: u64, keyword| {
            let Some(reference) = node.get(keyword).and_then(Value::as_str) else { return sum };
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            sum.saturating_add(target.map_or(u64::MAX, |target| self.count(target)))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn values_are_counted_up_to_a_limit() {
        assert_eq!(values(&json!({ "a": [1, 2], "b": {} }), 100), Some(5));
        assert_eq!(values(&json!(vec![0; 1000]), 100), None);
    }

    #[test]
    fn a_schema_that_contains_itself_has_no_end() {
        let tree = json!({ "properties": { "child": { "$ref": "#" } } });

        assert_eq!(ways(&tree), u64::MAX);
        assert_eq!(ways(&json!({ "$ref": "#elsewhere" })), u64::MAX);
    }

    #[test]
    fn references_that_double_at_each_step_are_counted_without_walking_them() {
        let steps: Map<String, Value> = (0..40)
            .map(|step| {
                let next = format!("#/$defs/{}", step + 1);
                (step.to_string(), json!({ "anyOf": [{ "$ref": next }, { "$ref": next }] }))
            })
            .chain([("40".to_owned(), json!({ "type": "string" }))])
            .collect();

        let count = ways(&json!({ "$ref": "#/$defs/0", "$defs": steps }));

        assert!(count > 1 << 40, "{count}");
    }
}
