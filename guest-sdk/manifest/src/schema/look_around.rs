//! Look-around in patterns: splits off look-ahead for separate matches, and removes look-around for
//! measuring.

/// Splits look-ahead at the beginning of the text off a pattern. The pattern matches if all parts marked with
/// `true` match, and no other part does. `^(?!a)(?=.*b)c` becomes `^c` and `^(?:.*b)`, and not `^(?:a)`.
pub(super) fn split(pattern: &str) -> Vec<(String, bool)> {
    let whole = || vec![(pattern.to_owned(), true)];
    let Some(mut rest) = pattern.strip_prefix('^') else { return whole() };
    let mut parts = Vec::new();
    while let Some((matches, inner)) = look_ahead(rest) {
        let Some(end) = group_end(inner) else { return whole() };
        parts.push((format!("^(?:{})", &inner[..end]), matches));
        rest = &inner[end + 1..];
    }
    // A quantifier here would apply to the look-ahead, and the look-ahead would not apply to an alternative.
    if rest.starts_with(['*', '+', '?', '{']) || has_alternatives(rest) {
        return whole();
    }
    parts.push((format!("^{rest}"), true));
    parts
}

/// Returns whether the look-ahead that a text begins with is positive, and the text after its opening.
fn look_ahead(text: &str) -> Option<(bool, &str)> {
    let positive = text.strip_prefix("(?=").map(|inner| (true, inner));
    positive.or_else(|| text.strip_prefix("(?!").map(|inner| (false, inner)))
}

/// Returns the index of the parenthesis that closes a group, in the text after the group's opening.
fn group_end(inside: &str) -> Option<usize> {
    outermost(inside).find(|(_, character)| *character == ')').map(|(at, _)| at)
}

fn has_alternatives(pattern: &str) -> bool {
    outermost(pattern).any(|(_, character)| character == '|')
}

/// Returns the characters of a pattern that are not escaped and not in a group or a character class. The
/// delimiters of its groups and classes are not included.
fn outermost(pattern: &str) -> impl Iterator<Item = (usize, char)> {
    let mut depth = 0_usize;
    let mut is_in_class = false;
    let mut is_escaped = false;
    pattern.char_indices().filter(move |(_, character)| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        match character {
            '\\' => is_escaped = true,
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '(' if !is_in_class => depth += 1,
            ')' if !is_in_class && depth > 0 => depth -= 1,
            _ => return depth == 0 && !is_in_class,
        }
        false
    })
}

/// Removes look-around and backreferences from a pattern, so that an engine without them can compile its
/// parts. Counted repetitions around look-around are removed too, because the backtracking engine compiles
/// each part once.
pub(super) fn without(pattern: &str) -> String {
    let mut kept = String::with_capacity(pattern.len());
    // For each open group, whether it contains look-around or a backreference.
    let mut groups = vec![false];
    let mut is_in_class = false;
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '\\' if !is_in_class && backreference(rest) > 0 => {
                length = backreference(rest);
                mark(&mut groups);
            }
            '\\' => {
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
                kept.push_str(&rest[..length]);
            }
            '[' => {
                is_in_class = true;
                kept.push(first);
            }
            ']' => {
                is_in_class = false;
                kept.push(first);
            }
            '(' if !is_in_class => {
                groups.push(false);
                let look_around =
                    ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|look| rest.starts_with(look));
                if let Some(look) = look_around {
                    length = look.len();
                    mark(&mut groups);
                    kept.push_str("(?:");
                } else {
                    kept.push(first);
                }
            }
            ')' if !is_in_class => {
                kept.push(first);
                if groups.pop() == Some(true) {
                    mark(&mut groups);
                    length += repetition(&rest[1..]);
                }
            }
            _ => kept.push(first),
        }
        rest = &rest[length..];
    }
    kept
}

fn mark(groups: &mut [bool]) {
    if let Some(innermost) = groups.last_mut() {
        *innermost = true;
    }
}

/// Returns the length in bytes of the backreference that a text begins with (`\1`, `\k<name>`), or 0.
fn backreference(text: &str) -> usize {
    let named = text.strip_prefix("\\k<").and_then(|name| name.find('>')).map(|end| "\\k<".len() + end + 1);
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    named.unwrap_or(if digits > 0 { 1 + digits } else { 0 })
}

/// Returns the length in bytes of the counted repetition that a text begins with (`{3}`, `{1,5}`), or 0.
fn repetition(text: &str) -> usize {
    let Some(counts) = text.strip_prefix('{') else { return 0 };
    let digits = counts.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b',').count();
    if digits > 0 && counts[digits..].starts_with('}') { digits + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ahead_at_the_beginning_is_a_part_of_its_own() {
        let split =
            |pattern| split(pattern).into_iter().map(|(part, is)| format!("{is} {part}")).collect::<Vec<_>>();

        assert_eq!(split(r"^(?!\.)(?=.*(a|[)]))b+$"), [r"false ^(?:\.)", "true ^(?:.*(a|[)]))", "true ^b+$"]);
        assert_eq!(split("^(a|b)$"), ["true ^(a|b)$"]);
        for whole in ["(?!a)b", "^(?!a)b|c", "^(?!a)*b", "^(?!a", "^a|b"] {
            assert_eq!(split(whole), [format!("true {whole}")]);
        }
    }

    #[test]
    fn parts_are_measured_without_what_looks_around_them() {
        for (pattern, parts) in [
            (r"^(?!\.)(?!.*\.\.)[a-z]+$", r"^(?:\.)(?:.*\.\.)[a-z]+$"),
            (r"(?<=a)b(?<!c)(?<name>d)\k<name>", "(?:a)b(?:c)(?<name>d)"),
            (r"(a)\1\12\\1", r"(a)\\1"),
            (r"((?!a)b){1,500}c{3}", r"((?:a)b)c{3}"),
            (r"[(?=]\(?=", r"[(?=]\(?="),
        ] {
            assert_eq!(without(pattern), parts, "{pattern}");
        }
    }
}
