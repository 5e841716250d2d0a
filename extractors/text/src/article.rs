//! Chooses from a page the text that its reader came for.
//!
//! Article finders judge elements, and drop with one what is in it: the introduction in a header, a list, the last
//! paragraphs. So what they find says where the article is, and the lines of the page are chosen by that: too little is
//! worse than too much for those who save a page in order to find it.

use std::collections::HashSet;
use std::ops::Range;

use crate::outline::{BREAK, Line, Outline, Part};

/// Minimum length of a line that shows where the article begins or ends, in bytes. Shorter ones are found by chance.
const MIN_ANCHOR: usize = 25;
/// Minimum length of a line within the article that is read although it was not found, in bytes.
const MIN_WITHIN: usize = 30;
/// Minimum length of a line between the heading and the article, or right after it, that is read, in bytes. Shorter ones
/// are dates, names, buttons.
const MIN_BESIDE: usize = 60;
/// An article has this share of a page's running text at least, in percent. With less, the page is a list, a discussion
/// or a table rather than an article, and all of its running text is read.
const MIN_PERCENT: usize = 67;
/// Blocks of links are read if they are this share of the article at least, in percent.
const MIN_LINKED_PERCENT: usize = 20;
/// Share of the text that was found which must be found again among the lines of the page, in percent.
const MIN_MATCHED_PERCENT: usize = 80;

/// Returns the lines of a page that its reader came for, given the article that was found in it: a text as in an
/// [`Outline`].
pub fn choose(outline: &Outline, article: &str) -> String {
    let found: HashSet<&str> = pieces(article).collect();
    let lines = outline.lines(|line| pieces(line).any(|piece| found.contains(piece)));
    let span = span(&lines);
    let found = || lines[span.clone()].iter().filter(|line| line.is_found);
    let found_bytes = bytes(found());
    let linked_bytes = bytes(found().filter(|line| line.is_linked && line.part <= Part::Header));
    let is_of_links = linked_bytes * 100 > found_bytes * MIN_LINKED_PERCENT;
    let is_around = bytes(found().filter(|line| line.part > Part::Header)) > found_bytes / 2;
    let is_chosen = |line: &Line| {
        if line.is_found {
            (!line.is_linked || is_of_links) && (line.part <= Part::Header || is_around)
        } else {
            line.part == Part::Text && !line.is_linked && line.text.len() >= MIN_WITHIN
        }
    };
    let introduction = outline.heading_line.map_or(0..0, |heading| heading + 1..span.start);
    let ending = span.end..span.end + lines[span.end..].iter().take_while(|line| is_in_line(line)).count();
    let chosen = select(&lines, |at, line| {
        let is_beside = introduction.contains(&at) || ending.contains(&at);
        if is_beside { is_paragraph(line) } else { span.contains(&at) && is_chosen(line) }
    });
    let is_matched = found_bytes * 100 >= article.len() * MIN_MATCHED_PERCENT;
    let chosen = if is_matched { chosen } else { article.to_owned() };

    let is_discussion = bytes(of_part(&lines, Part::Comments)) > bytes(of_part(&lines, Part::Text));
    let running = select(&lines, |at, line| match line.part {
        Part::Text | Part::Caption => !line.is_linked,
        Part::Comments => !line.is_linked && is_discussion,
        Part::Header | Part::Around => introduction.contains(&at) && is_paragraph(line),
    });
    if chosen.len() * 100 < running.len() * MIN_PERCENT { running } else { chosen }
}

/// Returns the lines from the first to the last that was found, and whose length says that this was not by chance.
fn span(lines: &[Line]) -> Range<usize> {
    let is_anchor = |line: &Line| line.is_found && line.text.len() >= MIN_ANCHOR;
    let Some(first) = lines.iter().position(is_anchor) else { return 0..0 };
    let last = lines.iter().rposition(is_anchor).unwrap_or(first);
    let before = lines[..first].iter().rev().take_while(|line| line.is_found).count();
    let after = lines[last + 1..].iter().take_while(|line| line.is_found).count();
    first - before..last + 1 + after
}

/// Returns whether the text goes on with a line after it.
fn is_in_line(line: &Line) -> bool {
    line.part < Part::Header && !line.is_linked
}

/// Returns whether a line beside the article belongs to it.
fn is_paragraph(line: &Line) -> bool {
    matches!(line.part, Part::Text | Part::Header) && !line.is_linked && line.text.len() >= MIN_BESIDE
}

fn of_part<'l>(lines: &'l [Line<'l>], part: Part) -> impl Iterator<Item = &'l Line<'l>> {
    lines.iter().filter(move |line| line.part == part && !line.is_linked)
}

fn bytes<'l>(lines: impl Iterator<Item = &'l Line<'l>>) -> usize {
    lines.map(|line| line.text.len()).sum()
}

fn select(lines: &[Line], is_selected: impl Fn(usize, &Line) -> bool) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if is_selected(at, line) {
            text.push_str(line.text);
            text.push('\n');
        }
    }
    text
}

/// Splits a text where lines end or break: an article finder makes paragraphs of breaks.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', BREAK]).map(str::trim).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Syntax;

    /// A paragraph of an article.
    fn paragraph(number: usize) -> String {
        format!(
            "<p>Paragraph {number} says what the moon does to the sea, and what the sea does to the harbour.</p>"
        )
    }

    fn paragraphs(numbers: Range<usize>) -> String {
        numbers.map(paragraph).collect()
    }

    /// Returns what is read of a page, given the part of it that an article finder returned.
    fn read(page: &str, found: &str) -> String {
        let text = |page| crate::outline::read(page, Syntax::Html);
        choose(&text(page), &text(found).text)
    }

    fn assert_read(page: &str, found: &str, expected: &[&str], unexpected: &[&str]) {
        let read = read(page, found);
        for text in expected {
            assert!(read.contains(text), "{text} is not in {read}");
        }
        for text in unexpected {
            assert!(!read.contains(text), "{text} is in {read}");
        }
    }

    #[test]
    fn an_introduction_in_the_header_is_read_without_the_names_and_dates_beside_it() {
        let introduction = "For centuries nobody could say why the sea comes and goes, but then came a monk.";
        let article = paragraphs(0..9);
        let page = format!(
            "<h1>Of tides</h1><header><p>{introduction}</p><p>By Ana, 4 May</p></header>{article}<p>Back</p>"
        );

        assert_read(&page, &article, &[introduction, "Paragraph 8"], &["By Ana", "Back"]);
    }

    #[test]
    fn what_the_finder_drops_within_and_right_after_the_article_is_read() {
        let list = "<ul><li>A rope of forty metres, and one to spare</ul>";
        let page = format!("{}{list}{}<footer>{}</footer>", paragraphs(0..4), paragraphs(4..9), paragraph(9));
        let found = format!("{}{}", paragraphs(0..4), paragraphs(4..8));

        assert_read(&page, &found, &["A rope of forty", "Paragraph 8"], &["Paragraph 9"]);
    }

    #[test]
    fn what_its_class_or_role_says_to_be_around_the_text_is_not_read_even_if_it_was_found() {
        let more = "Ten other stories about the sea that you should read before you go to bed tonight.";
        for attribute in
            ["class=relatedTopics", "class='x newsletter-box'", "id=author_bio", "role=complementary"]
        {
            let article = format!("{}<div {attribute}><p>{more}</div>{}", paragraphs(0..4), paragraphs(4..9));

            assert_read(&article, &article, &["Paragraph 3", "Paragraph 8"], &[more]);
        }
    }

    #[test]
    fn an_element_with_most_of_the_article_is_the_article_whatever_it_is_called() {
        for attribute in ["class=share", "id=comments", "role=dialog", "class=modal-footer"] {
            let article = format!("<div {attribute}>{}</div>", paragraphs(0..9));

            assert_read(&article, &article, &["Paragraph 0", "Paragraph 8"], &[]);
            assert_read(
                &format!("{}{article}", paragraph(9)),
                &paragraph(9),
                &["Paragraph 0", "Paragraph 8"],
                &[],
            );
        }
    }

    #[test]
    fn a_discussion_is_read_although_its_comments_are_called_so() {
        let comment = |it| format!("<div class=comment>{}</div>", paragraph(it));
        let comments = (0..20).map(comment).collect::<Vec<_>>().concat();
        let page =
            format!("<h1>Rope</h1><p>Which rope should I take to sea?</p>{comments}<footer>Imprint</footer>");

        for found in [paragraph(3), comments.clone()] {
            assert_read(&page, &found, &["Paragraph 0", "Paragraph 19"], &["Imprint"]);
        }
    }

    #[test]
    fn comments_below_an_article_are_not_read() {
        let comments = format!("<ol class=commentlist><li>{}<li>{}</ol>", paragraph(20), paragraph(21));
        let page = format!("{}{comments}", paragraphs(0..9));

        assert_read(&page, &page, &["Paragraph 8"], &["Paragraph 20", "Paragraph 21"]);
    }

    #[test]
    fn all_running_text_is_read_where_only_a_fraction_was_found() {
        let page = format!(
            "<nav><a>Home</a></nav>{}<hr><p><a>More</a>{}",
            paragraphs(0..9),
            "<p>A short line.".repeat(20)
        );

        assert_read(
            &page,
            &paragraph(2),
            &["Paragraph 0", "Paragraph 8", "A short line."],
            &["Home", "More"],
        );
    }

    #[test]
    fn captions_are_read_where_they_were_found() {
        let caption = "<figure><figcaption>The harbour at low tide, seen from the old lighthouse.</figcaption></figure>";
        let page = format!("{}{caption}{}", paragraphs(0..4), paragraphs(4..9));

        assert_read(&page, &page, &["seen from the old"], &[]);
        assert_read(&page, &paragraphs(0..9), &["Paragraph 8"], &["seen from the old"]);
    }

    #[test]
    fn a_list_of_links_is_read_with_its_links() {
        let link = |it| format!("<li><a>The book of ropes and tides, volume {it}</a>");
        let links = (0..9).map(link).collect::<Vec<_>>().concat();
        let page = format!("{}<ul>{links}</ul>{}", paragraph(0), paragraph(1));

        assert_read(&page, &page, &["Paragraph 1", "volume 0", "volume 8"], &[]);
    }

    #[test]
    fn what_was_found_is_read_if_the_page_has_other_lines() {
        let found = paragraphs(0..4);

        assert_read("<p>The page is cut here", &found, &["Paragraph 0", "Paragraph 3"], &[]);
    }

    #[test]
    fn an_article_without_end_tags_ends_its_regions() {
        let page = format!(
            "<ul><li class=share>Tell your friends about this, and theirs<li>{}</ul><p class=tags>Sea, moon<div>{}</div>",
            paragraphs(0..4),
            paragraphs(4..9)
        );

        assert_read(&page, &page, &["Paragraph 0", "Paragraph 8"], &["Tell your friends", "Sea, moon"]);
    }
}
