//! Query operators, which narrow results.
//!
//! | operator | restricts results to documents |
//! |---|---|
//! | `"a phrase"` | with these words next to each other, in the text or in the title |
//! | `title:word`, `title:"a phrase"` | with them in the title |
//! | `source:name` | of this source; several operators: of one of these sources |
//! | `in:name`, `in:mine` | in this collection, or own ones; several operators: in one of these |
//! | `-` before a word or one of these | for which the rest is not true |
//!
//! An operator starts only where a word starts, so `state-of-the-art` and `5" pipe` contain none. Everything
//! else is words.

pub(crate) mod fuzzing;

use kitbag_manifest::Problems;

use crate::store::Names;

/// Parsed query.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Text to rank by: all words except the excluded ones.
    pub(super) text: String,
    pub(super) conditions: Vec<Condition>,
    pub(super) sources: Names,
    /// Collections, by their ids, and [`MINE`].
    pub(super) collections: Names,
}

/// Name of the user's own documents among collections. No collection has this id.
pub const MINE: &str = "mine";

/// Phrase that a document must contain, or must not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) phrase: String,
    pub(super) field: Field,
    pub(super) is_excluded: bool,
}

/// Field in which a phrase is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    TextOrTitle,
    Title,
}

/// Largest number of operators in a query: each needs its own pass over the index.
const MAX_OPERATORS: usize = 16;

const QUOTES: [char; 4] = ['"', '“', '”', '„'];

/// Parses the operators of a query. Fails if there are too many, or no text is left to rank by.
pub(super) fn parse(query: &str) -> Result<Parsed, Problems> {
    let mut words = Vec::new();
    let mut parsed = Parsed::words("");
    let mut operators = 0;
    let mut may_begin = true;
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let after = if let Some((operator, after)) = Operator::first(rest).filter(|_| may_begin) {
            operators += 1;
            words.extend(operator.words());
            parsed.add(operator);
            after
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            words.push(&rest[..end]);
            &rest[end..]
        };
        // After a closing quotation mark, the word may continue.
        may_begin = after.starts_with(|letter: char| letter.is_whitespace() || QUOTES.contains(&letter));
        rest = after.trim_start();
    }
    let mut problems = Problems::default();
    if operators > MAX_OPERATORS {
        problems.add("query", format!("has {operators} operators; at most {MAX_OPERATORS} are allowed"));
    } else if operators > 0 && !words.iter().any(|word| word.contains(char::is_alphanumeric)) {
        problems.add("query", "has only filters; add a word or a phrase to search for");
    }
    if !problems.0.is_empty() {
        return Err(problems);
    }
    parsed.text = if operators == 0 { query.to_owned() } else { words.join(" ") };
    Ok(parsed)
}

impl Parsed {
    /// Treats the whole text as words.
    pub(super) fn words(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            conditions: Vec::new(),
            sources: Names::default(),
            collections: Names::default(),
        }
    }

    fn add(&mut self, Operator { kind, value, is_excluded }: Operator<'_>) {
        let condition = |field| Condition { phrase: value.to_owned(), field, is_excluded };
        match kind {
            Kind::Phrase => self.demand(condition(Field::TextOrTitle)),
            Kind::Title => self.demand(condition(Field::Title)),
            Kind::Source => self.sources.add(value, is_excluded),
            Kind::Collection => self.collections.add(value, is_excluded),
        }
    }

    fn demand(&mut self, condition: Condition) {
        if !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
    }
}

struct Operator<'a> {
    kind: Kind,
    value: &'a str,
    is_excluded: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Phrase,
    Title,
    Source,
    Collection,
}

impl<'a> Operator<'a> {
    /// Operator at the beginning of a text, and the rest.
    fn first(text: &'a str) -> Option<(Self, &'a str)> {
        let (is_excluded, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let (kind, text) = Kind::first(text);
        let (value, is_quoted, after) = value(text)?;
        let is_operator = match kind {
            Kind::Title | Kind::Source | Kind::Collection => true,
            // Excludes `-5` and `--verbose`.
            Kind::Phrase => is_quoted || is_excluded && value.starts_with(char::is_alphabetic),
        };
        (is_operator && value.contains(char::is_alphanumeric))
            .then_some((Self { kind, value, is_excluded }, after))
    }

    /// Words of the operator to rank by.
    fn words(&self) -> Option<&'a str> {
        (!self.is_excluded && matches!(self.kind, Kind::Phrase | Kind::Title)).then_some(self.value)
    }
}

impl Kind {
    /// Kind of the operator at the beginning of a text, and the text after its name.
    fn first(text: &str) -> (Self, &str) {
        for (name, kind) in [("title:", Self::Title), ("source:", Self::Source), ("in:", Self::Collection)] {
            if let Some((start, after)) = text.split_at_checked(name.len())
                && start.eq_ignore_ascii_case(name)
            {
                return (kind, after);
            }
        }
        (Self::Phrase, text)
    }
}

/// Quoted text or word at the beginning of a text, whether it was quoted, and the rest.
fn value(text: &str) -> Option<(&str, bool, &str)> {
    if let Some(quoted) = text.strip_prefix(QUOTES)
        && let Some((value, after)) = quoted.split_once(QUOTES)
    {
        return Some((value, true, after));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| (&text[..end], false, &text[end..]))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn condition(phrase: &str, field: Field, is_excluded: bool) -> Condition {
        Condition { phrase: phrase.to_owned(), field, is_excluded }
    }

    #[test]
    fn operators_are_told_from_words() {
        use Field::{TextOrTitle, Title};

        for (query, text, conditions) in [
            ("who  decides?\n", "who  decides?\n", vec![]),
            ("\"new pricing\" plan", "new pricing plan", vec![condition("new pricing", TextOrTitle, false)]),
            ("“new pricing”, plan", "new pricing , plan", vec![condition("new pricing", TextOrTitle, false)]),
            ("plan -draft", "plan", vec![condition("draft", TextOrTitle, true)]),
            ("plan -\"first draft\"", "plan", vec![condition("first draft", TextOrTitle, true)]),
            ("title:plan pricing", "plan pricing", vec![condition("plan", Title, false)]),
            ("Title:\"the plan\"", "the plan", vec![condition("the plan", Title, false)]),
            ("plan -title:draft", "plan", vec![condition("draft", Title, true)]),
            (
                "\"Harry Potter\"-Film",
                "Harry Potter -Film",
                vec![condition("Harry Potter", TextOrTitle, false)],
            ),
            ("\"a\"title:b", "a title:b", vec![condition("a", TextOrTitle, false)]),
            (
                "\"a\"\"b\" -c",
                "a b",
                vec![
                    condition("a", TextOrTitle, false),
                    condition("b", TextOrTitle, false),
                    condition("c", TextOrTitle, true),
                ],
            ),
        ] {
            let expected = Parsed { text: text.to_owned(), conditions, ..Parsed::words("") };
            assert_eq!(parse(query).expect(query), expected, "{query}");
        }
    }

    #[test]
    fn what_only_looks_like_an_operator_is_words() {
        for query in [
            "state-of-the-art",
            "a 5\" pipe and a 3\" pipe",
            "\"no end",
            "plan - draft",
            "between -5 and 3",
            "cargo --verbose",
            "title: plan",
            "subtitle:plan",
            "\"!?\" what",
            "-",
            "\"\"",
            "ti\u{301}tle:é",
        ] {
            assert_eq!(parse(query).expect(query), Parsed::words(query), "{query}");
        }
    }

    #[test]
    fn sources_are_allowed_or_excluded() {
        let parsed = parse("source:Notes plan source:user -source:\"clipper\"").expect("it is right");

        assert_eq!((parsed.text.as_str(), parsed.conditions.len()), ("plan", 0));
        assert_eq!(
            (parsed.sources.any_of, parsed.sources.none_of),
            (vec!["notes".to_owned(), "user".to_owned()], vec!["clipper".to_owned()])
        );
    }

    #[test]
    fn collections_are_allowed_or_excluded() {
        let parsed = parse("In:handbook holidays in:mine -in:old").expect("it is right");

        assert_eq!((parsed.text.as_str(), parsed.conditions.len()), ("holidays", 0));
        let allowed = ["handbook", "mine", "old", "other"].map(|name| parsed.collections.allow(name));
        assert_eq!(allowed, [true, true, false, false]);
        let parsed = parse("holidays -in:old").expect("it is right");
        assert!(parsed.collections.allow("other") && !parsed.collections.allow("old"));
        assert!(Parsed::words("in:old").collections.allow("other"), "a toolkit's text");
    }

    #[test]
    fn a_query_that_finds_nothing_or_asks_too_much_is_refused() {
        for only_filters in ["-draft", "source:user", " -\"a b\"  -title:c ", "! -draft"] {
            let problems = parse(only_filters).expect_err(only_filters);
            assert_eq!(
                problems.to_string(),
                "query: has only filters; add a word or a phrase to search for",
                "{only_filters}"
            );
        }
        assert_eq!(parse(&format!("plan {}", "-a ".repeat(16))).expect("16 are allowed").conditions.len(), 1);
        assert_eq!(
            parse(&format!("plan {}", "-a ".repeat(17))).expect_err("too many").to_string(),
            "query: has 17 operators; at most 16 are allowed"
        );
    }

    /// A part of a query as a person writes it, and what it means.
    #[derive(Clone, Debug)]
    struct Part {
        text: String,
        words: Option<String>,
        condition: Option<Condition>,
    }

    fn part() -> impl Strategy<Value = Part> {
        let word = "[a-zäß]{1,8}";
        let phrase = vec(word, 1..4).prop_map(|words| words.join(" "));
        let field = prop_oneof![Just(Field::TextOrTitle), Just(Field::Title)];
        let condition = (phrase, field, any::<bool>()).prop_map(|(phrase, field, is_excluded)| {
            let name = if field == Field::Title { "title:" } else { "" };
            Part {
                text: format!("{}{name}\"{phrase}\"", if is_excluded { "-" } else { "" }),
                words: (!is_excluded).then(|| phrase.clone()),
                condition: Some(condition(&phrase, field, is_excluded)),
            }
        });
        let plain = "[a-zäß0-9][a-zäß0-9.:/-]{0,8}[a-z0-9]";
        let is_plain = |word: &String| !["title:", "source:"].iter().any(|name| word.starts_with(name));
        let plain = plain.prop_filter("an operator", is_plain);
        let plain = plain.prop_map(|word| Part { text: word.clone(), words: Some(word), condition: None });
        prop_oneof![2 => plain, 1 => condition]
    }

    proptest! {
        #[test]
        fn what_a_person_writes_is_taken_apart_into_words_and_conditions(parts in vec(part(), 1..10)) {
            let text: Vec<_> = parts.iter().map(|part| part.text.as_str()).collect();
            let words: Vec<_> = parts.iter().filter_map(|part| part.words.as_deref()).collect();
            let mut conditions: Vec<_> = Vec::new();
            for condition in parts.iter().filter_map(|part| part.condition.as_ref()) {
                if !conditions.contains(&condition) {
                    conditions.push(condition);
                }
            }

            match parse(&text.join(" ")) {
                Ok(parsed) => {
                    prop_assert_eq!(parsed.text, words.join(" "));
                    prop_assert_eq!(parsed.conditions.iter().collect::<Vec<_>>(), conditions);
                }
                Err(_) => prop_assert!(words.is_empty(), "there is nothing to search for"),
            }
        }

        #[test]
        fn any_text_is_parsed_or_refused_with_a_reason(text in "\\PC{0,200}") {
            match parse(&text) {
                Ok(parsed) => prop_assert!(parsed.conditions.len() <= MAX_OPERATORS),
                Err(problems) => prop_assert!(!problems.0.is_empty()),
            }
        }
    }
}
