//! Number patterns, such as `#,##0.00 ¤;(#,##0.00 ¤)` (UTS #35, part 3, section 3.2).

/// A piece of the prefix or suffix of the digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Affix {
    Literal(String),
    Minus,
    Plus,
    Percent,
    Currency,
}

/// Prefix and suffix of the digits.
pub(crate) type Affixes = (Vec<Affix>, Vec<Affix>);

/// A parsed number pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) positive: Affixes,
    /// Prefix and suffix of negative numbers, if the pattern specifies them.
    pub(crate) negative: Option<Affixes>,
    /// Zeros before the decimal sign: in a compact pattern, the number of integer digits that are shown.
    pub(crate) zeros: usize,
    /// Sizes of the last group and of those before it; zero if there are no groups.
    pub(crate) groups: (usize, usize),
}

impl Pattern {
    pub(crate) fn parse(pattern: &str) -> Self {
        let (positive, negative) = match split_unquoted(pattern) {
            (positive, "") => (positive, None),
            (positive, negative) => (positive, Some(negative)),
        };
        let (prefix, digits, suffix) = cut(positive);
        let integer = digits.split('.').next().unwrap_or_default();
        let mut commas = integer.rsplit(',').map(str::len);
        let last = commas.next().unwrap_or(0);
        let before = commas.next();
        let more = commas.next().is_some();
        let groups = before.map_or((0, 0), |before| if more { (last, before) } else { (last, last) });
        Self {
            positive: (affix(prefix), affix(suffix)),
            negative: negative.map(cut).map(|(prefix, _, suffix)| (affix(prefix), affix(suffix))),
            zeros: integer.bytes().filter(|byte| *byte == b'0').count(),
            groups,
        }
    }
}

/// Splits a pattern at `;`.
fn split_unquoted(pattern: &str) -> (&str, &str) {
    let mut quoted = false;
    for (index, letter) in pattern.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            ';' if !quoted => return (&pattern[..index], &pattern[index + 1..]),
            _ => {}
        }
    }
    (pattern, "")
}

/// Splits a pattern into prefix, digits and suffix.
fn cut(pattern: &str) -> (&str, &str, &str) {
    let mut quoted = false;
    let mut start = None;
    let mut end = pattern.len();
    for (index, letter) in pattern.char_indices() {
        if letter == '\'' {
            quoted = !quoted;
        }
        let digit = !quoted && matches!(letter, '#' | '0' | ',' | '.');
        match start {
            None if digit => start = Some(index),
            Some(_) if !digit => {
                end = index;
                break;
            }
            _ => {}
        }
    }
    let start = start.unwrap_or(end);
    (&pattern[..start], &pattern[start..end], &pattern[end..])
}

fn affix(text: &str) -> Vec<Affix> {
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut letters = text.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        let symbol = match letter {
            '\'' if letters.peek() == Some(&'\'') => {
                letters.next();
                literal.push('\'');
                continue;
            }
            '\'' => {
                quoted = !quoted;
                continue;
            }
            '-' if !quoted => Affix::Minus,
            '+' if !quoted => Affix::Plus,
            '%' if !quoted => Affix::Percent,
            '¤' if !quoted => Affix::Currency,
            _ => {
                literal.push(letter);
                continue;
            }
        };
        if !literal.is_empty() {
            found.push(Affix::Literal(std::mem::take(&mut literal)));
        }
        found.push(symbol);
    }
    if !literal.is_empty() {
        found.push(Affix::Literal(literal));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_taken_apart() {
        let pattern = Pattern::parse("¤ #,##,##0.00;(¤ #,##0.00)");
        let symbol = vec![Affix::Currency, Affix::Literal("\u{a0}".into())];
        assert_eq!(Pattern::parse("¤\u{a0}0").positive.0, symbol);
        assert_eq!(pattern.groups, (3, 2));
        assert_eq!(pattern.negative.map(|(_, suffix)| suffix), Some(vec![Affix::Literal(")".into())]));

        let compact = Pattern::parse("00 Mio'.'");
        assert_eq!((compact.zeros, compact.groups), (2, (0, 0)));
        assert_eq!(compact.positive.1, vec![Affix::Literal(" Mio.".into())]);
    }
}
