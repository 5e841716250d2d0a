use super::*;

/// Checks the title of each text.
#[track_caller]
fn check(markup: Markup, cases: &[(&str, Option<&str>)]) {
    for (text, title) in cases {
        assert_eq!(markup.title_of(text).as_deref(), *title, "{markup:?}: {text}");
    }
}

#[test]
fn markdown_has_the_title_of_its_first_heading_of_the_first_level() {
    check(
        Markup::Markdown,
        &[
            ("Intro\n\n# Prices #\n# Other", Some("Prices")),
            ("Intro\n# Prices #\n# Other", Some("Prices")),
            ("Harbour guide\n=============\n\nWords", Some("Harbour guide")),
            ("## Only a second level", None),
            ("# ", None),
            ("```sh\n# a comment\n```\n\n# Title", Some("Title")),
            ("~~~\n# a comment\n```\n# a comment\n~~~", None),
            ("    # indented code\n\nwords", None),
            (
                "# The `tide` [table](https://a.example) of *May* ![](x.png) {#top}",
                Some("The tide table of May"),
            ),
            ("# Bits & bytes: 3 < 4 \\#1", Some("Bits & bytes: 3 < 4 #1")),
            (
                "<p align=center>\n<img src=x>\n</p>\n\n<h1 align=\"center\">\n  <a>Lantern</a> kit\n</h1>\n\n# Use",
                Some("Lantern kit"),
            ),
            ("<h10>no</h10>\n\n# Yes", Some("Yes")),
            ("> # Quoted\n\n- # Listed\n\n# Title", Some("Title")),
        ],
    );
}

#[test]
fn front_matter_wins_over_headings() {
    check(
        Markup::Markdown,
        &[
            ("---\ntitle: \"The Harbour Plan\"\ntags: [a]\n---\n\n# Ignored", Some("The Harbour Plan")),
            ("---\ntitle: 'It''s late' \n---\n# Ignored", Some("It's late")),
            ("---\ntitle: Tides # of 2026\n---\n", Some("Tides")),
            ("---\ntitle: >-\n  A long\n  title\nauthor: Ana\n---\n", Some("A long title")),
            ("---\nseo:\n  title: Nested\n---\n\n# Heading", Some("Heading")),
            ("---\r\ntitle: Windows\r\n---\r\ntext", Some("Windows")),
            ("+++\ntitle = \"Hugo: Title\"\n[menu]\ntitle = \"No\"\n+++\n\nText", Some("Hugo: Title")),
            ("+++\ndraft = true\n[menu]\ntitle = \"No\"\n+++\n\n# Heading", Some("Heading")),
            ("---\nnot closed\n\n# Heading", Some("Heading")),
            ("---\n\n# After a line", Some("After a line")),
        ],
    );
    assert_eq!(Markup::Org.title_of("---\ntitle: T\n---\n* Headline").as_deref(), Some("T"));
}

#[test]
fn restructured_text_has_the_title_with_which_it_begins_or_the_only_one_of_its_level() {
    check(
        Markup::Rst,
        &[
            ("Harbour guide\n=============\n\nWords", Some("Harbour guide")),
            (".. _top:\n\n=====\nTides\n=====\n\nSub\n---", Some("Tides")),
            ("=======\n Tides\n=======\n\nSub\n===\n", Some("Tides")),
            (".. code::\n\n   a\n   ===\n\nno title", None),
            ("# a comment\nwords", None),
            // Sections of the first level follow: what the text begins with is its title all the same.
            ("Project\n=======\n\nWords\n\nInstall\n=======\n\nUsage\n=====\n", Some("Project")),
            // Parts of a document whose title is elsewhere.
            ("Words first.\n\nAbstract\n========\n\nMore\n\nMotivation\n==========\n", None),
            ("Words first.\n\nTides\n=====\n\nMore\n\nEbb\n---\n\nFlood\n-----\n", Some("Tides")),
            (
                ":orphan:\n\n.. image:: a.png\n   :alt: A\n\n|build| |docs|_\n\nTides\n=====\n\nEbb\n===\n",
                Some("Tides"),
            ),
            (
                ".. Copyright\n   of nobody.\n\n.. |x| replace:: y\n\nTides\n=====\n\nEbb\n===\n",
                Some("Tides"),
            ),
            (
                ":mod:`!lantern` --- Light and ``dark()``\n=========================================\n",
                Some("lantern --- Light and dark()"),
            ),
            (
                "See `Tides <https://a.example>`_ now\n====================================\n",
                Some("See Tides now"),
            ),
            ("潮汐\n====\n", Some("潮汐")),
            ("One line\nanother line\n------------\n\nWords", None),
            ("Words\n\n-----\n\nMore words", None),
            ("=====  =====\nA      B\n=====  =====\n1      2\n=====  =====\n", None),
            (".. title:: Declared\n\nWords only.", Some("Declared")),
            (":title: Post\n:date: 2026-01-01\n\nWords only.", Some("Post")),
        ],
    );
}

#[test]
fn a_proposal_and_an_rfc_are_called_by_their_numbers_too() {
    let proposal = "PEP: 8\nTitle: Style Guide\n  for Code\nAuthor: Ana\n\n\nAbstract\n========\n\nWords\n\nMotivation\n==========\n";
    let rfc = "\n\n\nNetwork Working Group                 A. Example\nRequest for Comments: 90210     Example Co.\nObsoletes: 2821             October 2008\n\n\n\
               \x20               Simple Lantern\n                 Protocol\n\nStatus of This Memo\n\n   Words.\n";
    for markup in [Markup::Rst, Markup::Markdown, Markup::Plain] {
        assert_eq!(markup.title_of(proposal).as_deref(), Some("PEP 8 – Style Guide for Code"), "{markup:?}");
    }
    check(
        Markup::Plain,
        &[
            (rfc, Some("RFC 90210: Simple Lantern Protocol")),
            ("Title: alone\n\nWords", None),
            ("Name: Ana\nTitle: Captain\n\nWords", Some("Captain")),
            ("Note this: title: no\nWords\n\nMore", None),
            ("int main() { return 0; }\n", None),
            ("Request for Comments: soon\n\n   A title\n", None),
            ("Request for Comments: 7\n", None),
        ],
    );
}

#[test]
fn asciidoc_has_the_title_of_its_header() {
    check(
        Markup::AsciiDoc,
        &[
            ("// note\n= Harbour guide\nAna\n\n== Part", Some("Harbour guide")),
            ("== Part", None),
            (":name: Lantern\n:toc:\n\n[[top]]\n= {name} manual\n", Some("Lantern manual")),
            ("////\n= Commented\n////\n\nifdef::env[]\nendif::[]\n= Shown", Some("Shown")),
            ("Harbour guide\n=============\nAna\n", Some("Harbour guide")),
            ("Words\n\n= Too late", None),
            ("# As in Markdown\n", Some("As in Markdown")),
        ],
    );
}

#[test]
fn org_has_a_keyword_or_a_headline() {
    check(
        Markup::Org,
        &[
            ("#+title: Tides\n* Ebb", Some("Tides")),
            ("#+TITLE: Tides\n#+TITLE: of May", Some("Tides of May")),
            ("* Ebb\n** Flood", Some("Ebb")),
            ("Words\n* TODO [#A] Buy rope :errand:sea:\n", Some("Buy rope")),
            ("- list\n", None),
        ],
    );
}

#[test]
fn latex_has_the_argument_of_its_title() {
    check(
        Markup::Latex,
        &[
            (
                "\\documentclass{article}\n\\title{On \\emph{Tides} and\n  {W}aves\\thanks{Of nobody.}}\n",
                Some("On Tides and Waves"),
            ),
            (
                "% \\title{Commented}\n\\title[Short]{Long\\\\ title, 50\\% off~all}\n",
                Some("Long title, 50% off all"),
            ),
            (
                "\\titlepage\n\\title{\\LaTeX{} for \\large sailors -- a guide}",
                Some("LaTeX for sailors – a guide"),
            ),
            ("\\chapter{Ropes}\n\\section{Knots}", Some("Ropes")),
            ("\\section{Knots}", None),
            ("\\title{never closed", None),
            ("\\title{}", None),
        ],
    );
}

#[test]
fn a_manual_page_has_its_name_section_and_description() {
    check(
        Markup::Man,
        &[
            (
                ".\\\" Comment\n.TH LANTERN 1 \"May 2026\" \"Harbour\"\n.SH NAME\nlantern, lamp \\- lights a pier\n.SH SYNOPSIS\n.B lantern\n",
                Some("lantern(1) – lights a pier"),
            ),
            (
                ".Dd May 1, 2026\n.Dt ROPE 3\n.Os\n.Sh NAME\n.Nm rope ,\n.Nm line\n.Nd pull \"at a\" buoy\n.Sh LIBRARY\n",
                Some("rope(3) – pull at a buoy"),
            ),
            (
                ".TH \"RUN\\-BOAT\" \"8\"\n.SH \"NAME\"\n\\fBrun\\-boat\\fR \\- runs it\n",
                Some("run-boat(8) – runs it"),
            ),
            (".TH TIDE 7\n", Some("tide(7)")),
            ("no requests", None),
        ],
    );
}

#[test]
fn a_title_is_found_in_no_more_than_the_first_lines() {
    let late = format!("{}# Late\n", "words\n\n".repeat(MAX_LINES));

    assert_eq!(Markup::Markdown.title_of(&late), None);
    let long = Markup::Markdown.title_of(&format!("# {}", "[".repeat(1 << 20)));
    assert!(long.is_some_and(|title| title.len() < 1 << 17));
}
