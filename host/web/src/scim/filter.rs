//! Filters of SCIM (RFC 7644, section 3.4.2.2).
//!
//! Invariant: the work for a filter is bounded before it is done: by its length, its nesting and the number of its
//! comparisons.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::ScimError;
use super::path::AttributePath;

/// Maximum length of a filter, in bytes.
pub(super) const MAX_FILTER_BYTES: usize = 2048;
/// Maximum nesting of parentheses, brackets and negations.
const MAX_DEPTH: usize = 8;
/// Maximum number of comparisons.
const MAX_COMPARISONS: usize = 32;

/// A parsed filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filter {
    /// All of these match.
    All(Vec<Filter>),
    /// Any of these matches.
    Any(Vec<Filter>),
    /// This does not match.
    Not(Box<Filter>),
    /// An attribute has a value.
    Present(AttributePath),
    /// An attribute compares with a value.
    Compare(AttributePath, Comparison, Value),
    /// An item of a multi-valued attribute matches.
    Item(AttributePath, Box<Filter>),
}

/// Operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Contains,
    StartsWith,
    EndsWith,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Comparison {
    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "eq" => Self::Equal,
            "ne" => Self::NotEqual,
            "co" => Self::Contains,
            "sw" => Self::StartsWith,
            "ew" => Self::EndsWith,
            "gt" => Self::Greater,
            "ge" => Self::GreaterOrEqual,
            "lt" => Self::Less,
            "le" => Self::LessOrEqual,
            _ => return None,
        })
    }
}

impl Filter {
    /// Parses a filter.
    pub(super) fn parse(text: &str) -> Result<Self, ScimError> {
        if text.len() > MAX_FILTER_BYTES {
            return Err(invalid(format!("a filter has at most {MAX_FILTER_BYTES} bytes")));
        }
        let mut parser = Parser { rest: text, comparisons: 0 };
        let filter = parser.any(0)?;
        if !parser.rest.trim_start().is_empty() {
            return Err(invalid(format!("what is {:?}?", parser.rest.trim())));
        }
        Ok(filter)
    }

    /// Whether a resource matches.
    pub(super) fn matches(&self, resource: &Map<String, Value>) -> bool {
        match self {
            Self::All(filters) => filters.iter().all(|filter| filter.matches(resource)),
            Self::Any(filters) => filters.iter().any(|filter| filter.matches(resource)),
            Self::Not(filter) => !filter.matches(resource),
            Self::Present(path) => path.values(resource).iter().any(|value| is_present(value)),
            Self::Compare(path, Comparison::NotEqual, expected) => {
                !path.values(resource).iter().any(|value| compares(path, value, Comparison::Equal, expected))
            }
            Self::Compare(path, comparison, expected) => {
                path.values(resource).iter().any(|value| compares(path, value, *comparison, expected))
            }
            Self::Item(path, filter) => {
                path.items(resource).iter().any(|item| item.as_object().is_some_and(|it| filter.matches(it)))
            }
        }
    }

    /// Returns the comparisons for equality that all matches fulfil.
    pub(super) fn equalities(&self) -> Vec<(&AttributePath, &Value)> {
        match self {
            Self::Compare(path, Comparison::Equal, value) => vec![(path, value)],
            Self::All(filters) => filters.iter().flat_map(Self::equalities).collect(),
            Self::Any(_) | Self::Not(_) | Self::Present(_) | Self::Compare(..) | Self::Item(..) => Vec::new(),
        }
    }

    /// Whether the filter depends on an attribute.
    pub(super) fn mentions(&self, attribute: &str) -> bool {
        match self {
            Self::All(filters) | Self::Any(filters) => filters.iter().any(|it| it.mentions(attribute)),
            Self::Not(filter) => filter.mentions(attribute),
            Self::Present(path) | Self::Compare(path, ..) | Self::Item(path, _) => path.is(attribute),
        }
    }
}

/// Recursive-descent parser.
struct Parser<'t> {
    rest: &'t str,
    comparisons: usize,
}

impl<'t> Parser<'t> {
    fn any(&mut self, depth: usize) -> Result<Filter, ScimError> {
        let mut filters = vec![self.all(depth)?];
        while self.keyword("or") {
            filters.push(self.all(depth)?);
        }
        Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::Any(filters) })
    }

    fn all(&mut self, depth: usize) -> Result<Filter, ScimError> {
        let mut filters = vec![self.one(depth)?];
        while self.keyword("and") {
            filters.push(self.one(depth)?);
        }
        Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::All(filters) })
    }

    fn one(&mut self, depth: usize) -> Result<Filter, ScimError> {
        if depth >= MAX_DEPTH {
            return Err(invalid(format!("a filter is nested {MAX_DEPTH} deep at most")));
        }
        if self.symbol('(') {
            let filter = self.any(depth + 1)?;
            self.expect(')')?;
            return Ok(filter);
        }
        if self.keyword("not") {
            self.expect('(')?;
            let filter = self.any(depth + 1)?;
            self.expect(')')?;
            return Ok(Filter::Not(Box::new(filter)));
        }
        let path = AttributePath::parse(self.word())?;
        if self.symbol('[') {
            let filter = self.any(depth + 1)?;
            self.expect(']')?;
            return Ok(Filter::Item(path, Box::new(filter)));
        }
        self.comparisons += 1;
        if self.comparisons > MAX_COMPARISONS {
            return Err(invalid(format!("a filter has at most {MAX_COMPARISONS} comparisons")));
        }
        let operator = self.word();
        if operator.eq_ignore_ascii_case("pr") {
            return Ok(Filter::Present(path));
        }
        let comparison = Comparison::named(operator)
            .ok_or_else(|| invalid(format!("there is no operator {operator:?}")))?;
        Ok(Filter::Compare(path, comparison, self.value()?))
    }

    /// Takes a word: up to a space, a parenthesis or a bracket.
    fn word(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find([' ', '(', ')', '[', ']', '"']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Takes a JSON string, boolean, number or null.
    fn value(&mut self) -> Result<Value, ScimError> {
        self.rest = self.rest.trim_start();
        let length = if let Some(text) = self.rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = text.find(|letter| {
                let is_end = letter == '"' && !is_escaped;
                is_escaped = letter == '\\' && !is_escaped;
                is_end
            });
            end.map(|end| end + 2)
        } else {
            Some(self.rest.find([' ', ')', ']']).unwrap_or(self.rest.len()))
        };
        let (text, rest) = self.rest.split_at(length.ok_or_else(|| invalid("a text has no end"))?);
        self.rest = rest;
        match serde_json::from_str(text) {
            Ok(value @ (Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Null)) => Ok(value),
            _ => Err(invalid(format!("{text:?} is no text, number, true, false or null"))),
        }
    }

    /// Takes a keyword, if it is next.
    fn keyword(&mut self, keyword: &str) -> bool {
        let text = self.rest.trim_start();
        let is_next = text.get(..keyword.len()).is_some_and(|it| it.eq_ignore_ascii_case(keyword))
            && text[keyword.len()..].starts_with([' ', '(']);
        if is_next {
            self.rest = &text[keyword.len()..];
        }
        is_next
    }

    /// Takes a symbol, if it is next.
    fn symbol(&mut self, symbol: char) -> bool {
        match self.rest.trim_start().strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<(), ScimError> {
        if self.symbol(symbol) { Ok(()) } else { Err(invalid(format!("{symbol:?} is missing"))) }
    }
}

fn invalid(detail: impl Into<String>) -> ScimError {
    ScimError::bad_request("invalidFilter", detail)
}

fn is_present(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Compares a value of an attribute. Texts are compared without regard to case, except ids.
fn compares(path: &AttributePath, value: &Value, comparison: Comparison, expected: &Value) -> bool {
    let (Value::String(text), Value::String(expected)) = (value, expected) else {
        return comparison == Comparison::Equal && value == expected;
    };
    let times = text.parse::<Timestamp>().ok().zip(expected.parse::<Timestamp>().ok());
    let folded = |text: &str| if path.is_case_exact() { text.to_owned() } else { text.to_lowercase() };
    let (text, expected) = (folded(text), folded(expected));
    let order = times.map_or_else(|| text.cmp(&expected), |(time, expected)| time.cmp(&expected));
    match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Contains => text.contains(&expected),
        Comparison::StartsWith => text.starts_with(&expected),
        Comparison::EndsWith => text.ends_with(&expected),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(filter: &str) -> bool {
        let Value::Object(resource) = json!({
            "id": "2819c223", "externalId": "Ana-1", "userName": "bjensen@example.com", "active": true,
            "name": { "familyName": "O'Malley \"the\" 1st" },
            "emails": [
                { "type": "work", "value": "bjensen@example.com", "primary": true },
                { "type": "home", "value": "babs@example.org" },
            ],
            "meta": { "lastModified": "2026-05-13T04:42:34Z" },
        }) else {
            panic!("it is an object")
        };
        Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error:?}")).matches(&resource)
    }

    /// Examples of RFC 7644, section 3.4.2.2, and of Entra's and Okta's documentation.
    #[test]
    fn filters_match_as_the_rfc_says() {
        for filter in [
            r#"userName eq "bjensen@example.com""#,
            r#"userName Eq "BJENSEN@example.com""#,
            r#"name.familyName co "O'Malley""#,
            r#"name.familyName co "\"the\"""#,
            r#"userName sw "b""#,
            r#"urn:ietf:params:scim:schemas:core:2.0:User:userName sw "B""#,
            "userName pr",
            r#"meta.lastModified gt "2011-05-13T04:42:34Z""#,
            r#"meta.lastModified le "2026-05-13T06:42:34+02:00""#,
            r#"userName pr and emails.type eq "home""#,
            r#"title pr or emails[type eq "work" and value co "@example.com"]"#,
            r#"emails co "example.org""#,
            r#"not (userName ew "org") and active eq true"#,
            "(title pr or userName pr) and not(title pr)",
            r#"externalId eq "Ana-1""#,
            r#"title ne "Boss""#,
            r#"emails[type eq "home"] or userName eq "x""#,
        ] {
            assert!(matches(filter), "{filter}");
        }
        for filter in [
            r#"externalId eq "ana-1""#,
            r#"active eq "true""#,
            r#"emails[type eq "home" and primary eq true]"#,
            r#"userName ne "bjensen@example.com""#,
            r#"title pr or userName eq "x" and userName pr"#,
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department pr",
        ] {
            assert!(!matches(filter), "{filter}");
        }
    }

    #[test]
    fn filters_beyond_the_limits_and_others_that_are_none_are_refused() {
        let deep = format!("{}userName pr{}", "(".repeat(400), ")".repeat(400));
        let negated = format!("{}userName pr{}", "not (".repeat(200), ")".repeat(200));
        let brackets = format!("{}value pr{}", "emails[".repeat(100), "]".repeat(100));
        let wide = ["a pr"; 60].join(" or ");
        let long = format!("userName eq \"{}\"", "x".repeat(MAX_FILTER_BYTES));
        for filter in [
            deep.as_str(),
            &negated,
            &brackets,
            &wide,
            &long,
            "",
            " ",
            "userName",
            "userName is \"x\"",
            "userName eq",
            "userName eq x",
            "userName eq \"x",
            "userName eq \"x\\\"",
            "userName eq {\"a\":1}",
            "userName eq \"x\" userName",
            "(userName pr",
            "userName pr)",
            "emails[type pr",
            "and",
            "userName pr and",
            "\"a\" eq \"b\"",
            "userName eq \"\u{1F600}",
            "é[",
        ] {
            let error = Filter::parse(filter).expect_err(filter);
            assert_eq!(error.scim_type(), Some("invalidFilter"), "{filter}");
        }
    }
}
