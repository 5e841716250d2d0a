//! What the names of an element's classes say about it. Most pages are made by programs that call the same things by the
//! same words.

use super::Part;

/// Returns the part of the page that the value of an `id` or `class` names, if it names one that is no running text.
pub(super) fn part(value: &str) -> Option<Part> {
    let names = value.split_ascii_whitespace();
    // Some programs write the words that an author chose for a page into the names of its classes.
    let names = names.filter(|name| !name.starts_with("category-") && !name.starts_with("tag-"));
    names.flat_map(words).filter_map(|word| part_of_word(&word.to_ascii_lowercase())).max()
}

/// Splits `relatedTopics`, `related-topics` and `related_topics` into words.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let pieces = name.split(|it: char| !it.is_ascii_alphanumeric());
    pieces.flat_map(|mut rest| {
        std::iter::from_fn(move || {
            let bytes = rest.as_bytes();
            let capital =
                bytes.windows(2).position(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
            let (word, after) = rest.split_at(capital.map_or(rest.len(), |at| at + 1));
            rest = after;
            (!word.is_empty()).then_some(word)
        })
    })
}

fn part_of_word(word: &str) -> Option<Part> {
    match word {
        "caption" | "captions" | "figcaption" => Some(Part::Caption),
        "comment" | "commentform" | "commentlist" | "comments" | "kommentar" | "kommentare" | "replies"
        | "reply" | "respond" => Some(Part::Comments),
        "author" | "authors" | "bio" | "breadcrumb" | "breadcrumbs" | "callout" | "consent" | "cookie"
        | "cookies" | "copyright" | "credits" | "crumb" | "crumbs" | "cta" | "footer" | "login" | "modal"
        | "navbar" | "navigation" | "newsletter" | "notice" | "overlay" | "pagination" | "popup"
        | "profile" | "promo" | "rating" | "ratings" | "recommendations" | "recommended" | "related"
        | "share" | "sharedaddy" | "sharing" | "sidebar" | "signup" | "social" | "sponsor" | "sponsored"
        | "subscribe" | "subscription" | "tags" | "textwidget" | "widgets" => Some(Part::Around),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_word_by_word() {
        for name in
            ["related", "posts related_topics", "RELATED", "relatedTopics", "c-box--related", "x_Related"]
        {
            assert_eq!(part(name), Some(Part::Around), "{name}");
        }
        for name in ["", "correlated", "unrelated", "tag-related category-newsletter", "größe", "-", "aB"] {
            assert_eq!(part(name), None, "{name}");
        }
    }

    #[test]
    fn of_several_words_the_one_that_says_most_counts() {
        assert_eq!(part("comment caption"), Some(Part::Comments));
        assert_eq!(part("caption sidebar comments"), Some(Part::Around));
    }
}
