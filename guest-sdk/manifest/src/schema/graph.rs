//! A JSON Schema as a graph: which subschemas apply to the same value, and which to its members and items.
//!
//! Every reference is an edge to its target, so a definition that is used a thousand times is one node.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// URL prefixes of published meta-schemas. They are built into the validator: a reference to one is a leaf.
const META_SCHEMAS: [&str; 2] = ["https://json-schema.org/", "http://json-schema.org/"];

/// Maximum number of patterns in `patternProperties` of one schema: each is matched against every name.
const MAX_NAME_PATTERNS: usize = 32;

/// The JSON Schema dialect of all schemas.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// One subschema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Location as a JSON Pointer (RFC 6901); empty for the root.
    pub(super) path: String,
    /// Nested subschemas that apply to the same value: `anyOf`, `if`, `not`.
    pub(super) branches: Vec<usize>,
    /// Targets of references, which also apply to the same value.
    pub(super) references: Vec<usize>,
    /// Subschemas for members, at most one for each member: `properties`.
    pub(super) properties: Vec<usize>,
    /// Subschemas for members, all of which may apply to one member: `patternProperties`.
    pub(super) members: Vec<usize>,
    /// Subschemas for items, all of which may apply to one item.
    pub(super) items: Vec<usize>,
    /// Whether the subschema has `unevaluatedProperties` or `unevaluatedItems`.
    pub(super) is_unevaluated: bool,
    /// Whether the subschema has its own `$id`.
    pub(super) is_resource: bool,
}

impl Node {
    /// Returns the subschemas nested in this one.
    pub(super) fn parts(&self) -> impl Iterator<Item = usize> {
        [&self.branches, &self.properties, &self.members, &self.items].into_iter().flatten().copied()
    }

    /// Returns the subschemas that apply to the same value.
    pub(super) fn in_place(&self) -> impl Iterator<Item = usize> {
        self.branches.iter().chain(&self.references).copied()
    }
}

/// The parts of a schema.
pub(super) struct Parts<'a> {
    /// Every subschema that can be reached from the root; the root is the first.
    pub(super) nodes: Vec<Node>,
    /// Patterns of names, in `patternProperties`.
    pub(super) name_patterns: Vec<&'a str>,
}

/// Reads a schema. The error names the reference or keyword that is not supported.
pub(super) fn read(schema: &Value) -> Result<Parts<'_>, String> {
    let mut graph = Graph {
        root: schema,
        names: Names::of(schema),
        known: HashMap::new(),
        open: Vec::new(),
        nodes: Vec::new(),
        name_patterns: Vec::new(),
        refers_to_meta_schema: false,
    };
    graph.node(schema, String::new());
    while let Some((index, value)) = graph.open.pop() {
        if let Value::Object(keywords) = value {
            graph.expand(index, value, keywords)?;
        }
    }
    let found = graph.name_patterns.len();
    if found > MAX_NAME_PATTERNS {
        return Err(format!(
            "it has {found} patterns in patternProperties, and may have {MAX_NAME_PATTERNS}"
        ));
    }
    // A name in the schema must not replace a meta-schema, which counts as a leaf, and no anchor may lead
    // from it back into the schema.
    if graph.refers_to_meta_schema && graph.names.can_shadow_meta_schemas() {
        return Err(format!(
            "a schema that refers to {} has no anchors, and no $id that is not a plain name",
            META_SCHEMAS[0]
        ));
    }
    Ok(Parts { nodes: graph.nodes, name_patterns: graph.name_patterns })
}

/// Names by which references address parts of the document.
#[derive(Default)]
struct Names<'a> {
    /// Schemas with a `$id`, by that id.
    resources: HashMap<&'a str, Vec<&'a Value>>,
    /// Schemas with `$anchor` or `$dynamicAnchor`, by name. Those of all resources are included, which are
    /// more than a reference can resolve to.
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// The resource that contains a value, by the value's address. Values of the root resource are left out.
    within: HashMap<*const Value, &'a Value>,
    /// Whether there is a `$recursiveAnchor`.
    has_recursive_anchor: bool,
}

impl<'a> Names<'a> {
    fn of(root: &'a Value) -> Self {
        let mut names = Self::default();
        let mut open = vec![(root, root)];
        while let Some((value, mut resource)) = open.pop() {
            if let Some(id) = value.get("$id").and_then(Value::as_str) {
                names.resources.entry(id.trim_end_matches('#')).or_default().push(value);
                resource = value;
            }
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = value.get(keyword).and_then(Value::as_str) {
                    names.anchors.entry(name).or_default().push(value);
                }
            }
            names.has_recursive_anchor |= value.get("$recursiveAnchor").is_some();
            if !std::ptr::eq(resource, root) {
                names.within.insert(std::ptr::from_ref(value), resource);
            }
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, resource))),
                Value::Object(members) => open.extend(members.values().map(|member| (member, resource))),
                _ => {}
            }
        }
        names
    }

    fn can_shadow_meta_schemas(&self) -> bool {
        self.has_recursive_anchor || !self.anchors.is_empty() || self.resources.keys().any(|id| !is_name(id))
    }
}

struct Graph<'a> {
    root: &'a Value,
    names: Names<'a>,
    /// Nodes by the address of their value.
    known: HashMap<*const Value, usize>,
    /// Nodes whose keywords have not been read yet.
    open: Vec<(usize, &'a Value)>,
    nodes: Vec<Node>,
    name_patterns: Vec<&'a str>,
    refers_to_meta_schema: bool,
}

impl<'a> Graph<'a> {
    fn node(&mut self, value: &'a Value, path: String) -> usize {
        *self.known.entry(std::ptr::from_ref(value)).or_insert_with(|| {
            self.open.push((self.nodes.len(), value));
            self.nodes.push(Node { path, ..Node::default() });
            self.nodes.len() - 1
        })
    }

    /// Reads the keywords of a node, those of every draft: which draft the validator applies to a part of
    /// the schema is not known here.
    fn expand(
        &mut self,
        index: usize,
        schema: &'a Value,
        keywords: &'a Map<String, Value>,
    ) -> Result<(), String> {
        let resource = self.names.within.get(&std::ptr::from_ref(schema)).copied().unwrap_or(self.root);
        let mut node = Node { path: self.nodes[index].path.clone(), ..Node::default() };
        for (keyword, value) in keywords {
            let path = format!("{}/{}", node.path, escaped(keyword));
            match keyword.as_str() {
                // Plain names all resolve against the same base URI; paths would have to be resolved.
                "$id" if index != 0 && value.as_str().is_some_and(|id| !is_name(id)) => {
                    return Err(format!("{path}: below the root, $id must match [a-zA-Z0-9_-]+"));
                }
                "$id" => node.is_resource = index != 0,
                "$schema"
                    if index != 0
                        && value.as_str().is_some_and(|dialect| dialect.trim_end_matches('#') != DIALECT) =>
                {
                    return Err(format!("{path}: below the root, $schema must be {DIALECT}"));
                }
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    let targets =
                        value.as_str().map_or(Ok(Vec::new()), |to| self.targets(to, resource, &path))?;
                    node.references.extend(targets);
                }
                "not" | "if" | "then" | "else" => node.branches.push(self.node(value, path)),
                "allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "dependencies" | "extends" => {
                    node.branches.extend(self.each(value, &path));
                }
                "properties" => node.properties.extend(self.each(value, &path)),
                "patternProperties" => {
                    let patterns = value.as_object().into_iter().flat_map(Map::keys);
                    self.name_patterns.extend(patterns.map(String::as_str));
                    node.members.extend(self.each(value, &path));
                }
                "additionalProperties" | "propertyNames" => node.members.push(self.node(value, path)),
                "unevaluatedProperties" => {
                    node.is_unevaluated = true;
                    node.members.push(self.node(value, path));
                }
                "prefixItems" => node.items.extend(self.each(value, &path)),
                "items" if value.is_array() => node.items.extend(self.each(value, &path)),
                "items" | "additionalItems" | "contains" => node.items.push(self.node(value, path)),
                "unevaluatedItems" => {
                    node.is_unevaluated = true;
                    node.items.push(self.node(value, path));
                }
                _ => {}
            }
        }
        self.nodes[index] = node;
        Ok(())
    }

    /// Returns the nodes of all subschemas in an array or an object.
    fn each(&mut self, values: &'a Value, path: &str) -> Vec<usize> {
        match values {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.node(item, format!("{path}/{index}"))).collect()
            }
            Value::Object(members) => {
                let members = members.iter();
                members.map(|(name, value)| self.node(value, format!("{path}/{}", escaped(name)))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the nodes that a reference in a resource may resolve to.
    fn targets(&mut self, reference: &str, resource: &'a Value, path: &str) -> Result<Vec<usize>, String> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if META_SCHEMAS.iter().any(|known| document.starts_with(known)) {
            self.refers_to_meta_schema = true;
            return Ok(Vec::new());
        }
        let unknown = || format!("{path}: {reference:?} is not part of the schema");
        let documents = match document {
            "" => vec![resource],
            id => self.names.resources.get(id).cloned().unwrap_or_default(),
        };
        let fragment = percent_decode_str(fragment).decode_utf8().map_err(|_| unknown())?;
        let targets: Vec<&'a Value> = if fragment.is_empty() || fragment.starts_with('/') {
            documents.into_iter().filter_map(|document| document.pointer(&fragment)).collect()
        } else {
            self.names.anchors.get(&*fragment).cloned().unwrap_or_default()
        };
        if targets.is_empty() {
            return Err(unknown());
        }
        // If the target has no node yet, the reference becomes its path.
        let name = if reference.starts_with("#/") { fragment.into_owned() } else { reference.to_owned() };
        Ok(targets.into_iter().map(|target| self.node(target, name.clone())).collect())
    }
}

fn is_name(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Escapes a member's name as a token of a JSON Pointer (RFC 6901, section 3).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
