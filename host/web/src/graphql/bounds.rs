//! Size limits of a query, checked before the GraphQL library executes it.
//!
//! The library has limits as well, but applies them late: its parser recurses as deep as a query nests, and
//! it expands fragments at every use, which a short query can make take practically forever. Here each
//! fragment is measured once.

use std::collections::HashMap;

use async_graphql::parser::parse_query;
use async_graphql::parser::types::{ExecutableDocument, Selection, SelectionSet};
use async_graphql::{Name, ServerError};

use super::error::{bad_query, limit};

/// Maximum nesting of brackets. Introspection queries of tools need about twenty.
const DEEPEST_BRACKETS: usize = 48;
/// Maximum nesting of selections, including fragments.
const DEEPEST: usize = 20;
/// Maximum number of selections: fields, and fragments with their contents at each use. A fragment itself
/// counts as one too: the library traverses it even if it has no fields.
const MAX_FIELDS: usize = 1000;
/// Maximum number of operations in a document, of which one runs.
const MAX_OPERATIONS: usize = 10;
/// Maximum number of directives on a selection.
const MAX_DIRECTIVES: usize = 4;

/// Maximum cost of introspection: the schema four times, or sixty types.
const MAX_INTROSPECTION: usize = 3000;
/// Cost of the whole schema, as tools ask for it: some thousand values.
const SCHEMA_COST: usize = 750;
/// Cost of one type of the schema.
const TYPE_COST: usize = 50;

/// Parses a query and checks its size.
pub(super) fn parse(query: &str) -> Result<ExecutableDocument, ServerError> {
    if nesting(query) > DEEPEST_BRACKETS {
        return Err(limit("The query is nested too deep."));
    }
    let document = parse_query(query).map_err(|error| bad_query(error.into()))?;
    check(&document)?;
    Ok(document)
}

fn check(document: &ExecutableDocument) -> Result<(), ServerError> {
    if document.operations.iter().count() > MAX_OPERATIONS {
        return Err(limit(format!("A document may have at most {MAX_OPERATIONS} operations.")));
    }
    let mut measured = Measured { document, fragments: HashMap::new() };
    let mut fields = 0_usize;
    let mut introspection = 0_usize;
    for (_, operation) in document.operations.iter() {
        check_directives(operation.node.directives.len())?;
        let size = measured.size(&operation.node.selection_set.node)?;
        fields = fields.saturating_add(size.fields);
        introspection = introspection.saturating_add(size.introspection);
        check_depth(size.depth)?;
    }
    // Unused fragments are measured as well: the library validates them.
    for (name, fragment) in &document.fragments {
        check_directives(fragment.node.directives.len())?;
        let size = measured.fragment(name)?;
        check_depth(size.depth)?;
        check_fields(size.fields)?;
    }
    check_introspection(introspection)?;
    check_fields(fields)
}

#[derive(Clone, Copy, Default)]
struct Size {
    fields: usize,
    depth: usize,
    /// Cost of introspection.
    introspection: usize,
}

impl Size {
    fn and(self, other: Self) -> Self {
        Self {
            fields: self.fields.saturating_add(other.fields),
            depth: self.depth.max(other.depth),
            introspection: self.introspection.saturating_add(other.introspection),
        }
    }
}

struct Measured<'a> {
    document: &'a ExecutableDocument,
    /// `None` while the fragment is being measured: a second visit means that it contains itself.
    fragments: HashMap<&'a Name, Option<Size>>,
}

impl<'a> Measured<'a> {
    /// Recursion is bounded by the nesting of brackets, and by the check of fragment chains.
    fn size(&mut self, set: &'a SelectionSet) -> Result<Size, ServerError> {
        let mut size = Size::default();
        for selection in &set.items {
            check_directives(selection.node.directives().len())?;
            let inner = match &selection.node {
                Selection::Field(field) => {
                    let inner = self.size(&field.node.selection_set.node)?;
                    inner.and(Size {
                        introspection: introspection_cost(&field.node.name.node),
                        ..Size::default()
                    })
                }
                Selection::InlineFragment(fragment) => self.size(&fragment.node.selection_set.node)?,
                Selection::FragmentSpread(spread) => self.fragment(&spread.node.fragment_name.node)?,
            };
            size = size.and(Size { fields: inner.fields.saturating_add(1), depth: inner.depth + 1, ..inner });
        }
        Ok(size)
    }

    fn fragment(&mut self, name: &'a Name) -> Result<Size, ServerError> {
        match self.fragments.get(name) {
            Some(Some(size)) => return Ok(*size),
            Some(None) => {
                let message = format!("The fragment {name:?} is inside itself.");
                return Err(bad_query(ServerError::new(message, None)));
            }
            None => {}
        }
        let under_way = self.fragments.values().filter(|size| size.is_none()).count();
        check_depth(under_way)?;
        let Some(fragment) = self.document.fragments.get(name) else {
            let message = format!("There is no fragment {:?} in the document.", name.as_str());
            return Err(bad_query(ServerError::new(message, None)));
        };
        self.fragments.insert(name, None);
        let size = self.size(&fragment.node.selection_set.node)?;
        self.fragments.insert(name, Some(size));
        Ok(size)
    }
}

fn check_depth(depth: usize) -> Result<(), ServerError> {
    if depth > DEEPEST {
        Err(limit(format!("A query may be at most {DEEPEST} levels deep.")))
    } else {
        Ok(())
    }
}

fn check_fields(fields: usize) -> Result<(), ServerError> {
    if fields > MAX_FIELDS {
        Err(limit(format!("A query may select at most {MAX_FIELDS} fields and fragments.")))
    } else {
        Ok(())
    }
}

/// Cost of a field that reads the schema; the library has none for these.
fn introspection_cost(name: &Name) -> usize {
    match name.as_str() {
        "__schema" => SCHEMA_COST,
        "__type" => TYPE_COST,
        _ => 0,
    }
}

fn check_introspection(cost: usize) -> Result<(), ServerError> {
    if cost > MAX_INTROSPECTION {
        return Err(limit(format!(
            "Reading the schema costs {cost}, and a request may spend {MAX_INTROSPECTION} on that: {SCHEMA_COST} for each \
             __schema, {TYPE_COST} for each __type. Ask for less of it at a time."
        )));
    }
    Ok(())
}

fn check_directives(count: usize) -> Result<(), ServerError> {
    if count > MAX_DIRECTIVES {
        return Err(limit(format!("There may be at most {MAX_DIRECTIVES} directives in one place.")));
    }
    Ok(())
}

/// Maximum nesting of brackets outside strings and comments. An unterminated string is not a valid query:
/// everything after its start is counted.
fn nesting(query: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    let mut has_strings = true;
    let mut rest = query.as_bytes();
    while let [first, after @ ..] = rest {
        rest = match first {
            b'{' | b'[' | b'(' => {
                depth += 1;
                deepest = deepest.max(depth);
                after
            }
            b'}' | b']' | b')' => {
                depth = depth.saturating_sub(1);
                after
            }
            b'#' if has_strings => after_comment(after),
            b'"' if has_strings => {
                let string = rest.strip_prefix(b"\"\"\"").map_or_else(|| after_string(after), after_block);
                has_strings = string.is_some();
                string.unwrap_or(after)
            }
            _ => after,
        };
    }
    deepest
}

fn after_comment(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(text.len());
    &text[end..]
}

fn after_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = match text {
            [b'"', after @ ..] => return Some(after),
            [] | [b'\n' | b'\r', ..] => return None,
            [b'\\', _, after @ ..] | [_, after @ ..] => after,
        };
    }
}

fn after_block(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = match text {
            [b'"', b'"', b'"', after @ ..] => return Some(after),
            [] => return None,
            [b'\\', b'"', b'"', b'"', after @ ..] | [_, after @ ..] => after,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::{Duration, Instant};

    use super::*;

    fn refusal(query: &str) -> String {
        let refused = parse(query).map(drop).expect_err("it must be refused");
        let code = refused.extensions.as_ref().and_then(|extensions| extensions.get("code")).cloned();
        format!("{}: {}", code.expect("it has a code"), refused.message)
    }

    #[test]
    fn brackets_count_outside_strings_and_comments_only() {
        for (query, expected) in [
            ("{ a(b: [1]) { c } }", 3),
            ("{ a(b: \"{{{{\") }", 2),
            ("{ a(b: \"\\\"{{{{\") }", 2),
            ("{ a(b: \"\"\"{{\\\"\"\"{{\"\"\") }", 2),
            ("{ a # {{{{\n }", 1),
            ("{ \" \n {{{", 4),
            ("{ \"\"\" {{{", 4),
        ] {
            assert_eq!(nesting(query), expected, "{query}");
        }
    }

    #[test]
    fn a_query_that_would_overflow_the_parser_is_refused_before_it() {
        for [open, close] in [["{a", "}"], ["[", "]"], ["{a:", "}"]] {
            let deep = format!("{{ a(b: {}1{}) }}", open.repeat(15_000), close.repeat(15_000));
            assert_eq!(refusal(&deep), "\"LIMIT\": The query is nested too deep.");
        }
        let variable = format!("query ($a: {}Int{}) {{ a }}", "[".repeat(15_000), "]".repeat(15_000));
        assert_eq!(refusal(&variable), "\"LIMIT\": The query is nested too deep.");
    }

    #[test]
    fn fragments_that_double_each_other_are_counted_without_being_expanded() {
        let mut query = "{ ...f0 }".to_owned();
        for level in 0..15 {
            let next = level + 1;
            write!(query, " fragment f{level} on Query {{ ...f{next} ...f{next} }}").expect("a string");
        }
        query.push_str(" fragment f15 on Query { me { userId } }");

        assert_eq!(refusal(&query), "\"LIMIT\": A query may select at most 1000 fields and fragments.");
    }

    /// The library would traverse these practically forever before it finds a field.
    #[test]
    fn fragments_with_no_field_in_them_are_counted_as_well() {
        let chain = |leaf: &str| {
            let mut query = format!("{{ {} }}", "...f0 ".repeat(100));
            for level in 0..17 {
                let spreads = format!("...f{} ", level + 1).repeat(100);
                write!(query, " fragment f{level} on Query {{ {spreads} }}").expect("a string");
            }
            write!(query, " fragment f17 on Query {{ {leaf} }}").expect("a string");
            query
        };
        let begun = Instant::now();

        let missing = refusal(&chain("...missing ...missing"));
        assert_eq!(missing, "\"BAD_QUERY\": There is no fragment \"missing\" in the document.");
        let inline = "... { a ".repeat(100) + &"}".repeat(100);
        assert!(refusal(&format!("{{ {inline} }}")).starts_with("\"LIMIT\""));
        let too_many = "\"LIMIT\": A query may select at most 1000 fields and fragments.";
        assert_eq!(refusal(&chain("... @skip(if: true) { a }")), too_many);
        let unused = chain("a").replacen(&"...f0 ".repeat(100), "a", 1);
        assert_eq!(refusal(&unused), too_many);
        let spreads = format!("{{ {} }} fragment f on Query {{ a }}", "...f ".repeat(501));
        assert_eq!(refusal(&spreads), too_many);
        assert!(parse(&spreads.replacen("...f ", "", 1)).is_ok());

        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    #[test]
    fn fragments_in_a_circle_and_chains_without_end_are_refused() {
        let circle = "{ ...a } fragment a on Query { ...b } fragment b on Query { me { ...a } }";
        assert!(refusal(circle).starts_with("\"BAD_QUERY\": The fragment"));
        let alone = "{ me { userId } } fragment a on Query { ...a }";
        assert!(refusal(alone).starts_with("\"BAD_QUERY\": The fragment"));

        let mut chain = "{ ...f0 }".to_owned();
        for level in 0..1000 {
            write!(chain, " fragment f{level} on Query {{ ...f{} }}", level + 1).expect("a string");
        }
        assert_eq!(refusal(&chain), "\"LIMIT\": A query may be at most 20 levels deep.");
    }

    #[test]
    fn introspection_has_its_price_also_in_fragments() {
        let aliases = |count: usize, field: &str| {
            (0..count).map(|it| format!("a{it}: {field} ")).collect::<Vec<_>>().concat()
        };
        let schema = "__schema { types { name } }";
        let kind = "__type(name: \"Query\") { name }";

        assert!(parse(&format!("{{ {} }}", aliases(4, schema))).is_ok());
        assert!(parse(&format!("{{ {} }}", aliases(60, kind))).is_ok());
        for many in [
            format!("{{ {} }}", aliases(5, schema)),
            format!("{{ {} }}", aliases(61, kind)),
            format!("{{ {}{} }}", aliases(4, schema), kind),
            format!("{{ ...f ...f ...f ...f ...f }} fragment f on Query {{ {schema} }}"),
        ] {
            assert!(refusal(&many).starts_with("\"LIMIT\": Reading the schema costs"), "{many}");
        }
    }

    #[test]
    fn depth_directives_and_operations_are_bounded() {
        let deep = format!("{}a{}", "{ a ".repeat(21), "}".repeat(21));
        assert_eq!(refusal(&deep), "\"LIMIT\": A query may be at most 20 levels deep.");
        let directives = format!("{{ a {} }}", "@skip(if: false) ".repeat(5));
        assert_eq!(refusal(&directives), "\"LIMIT\": There may be at most 4 directives in one place.");
        let operations: Vec<_> = (0..11).map(|number| format!("query q{number} {{ a }}")).collect();
        assert_eq!(refusal(&operations.join(" ")), "\"LIMIT\": A document may have at most 10 operations.");
        assert!(refusal("{ a(").starts_with("\"BAD_QUERY\": "));
        assert!(parse("{ a { b(c: [{ d: 1 }]) @skip(if: true) } }").is_ok());
    }
}
