//! Regression tests of text extraction by file kind: missing text, joined words, wrong order, wrong titles.
//! Each case is a file that people have.

use kitbag_knowledge::{Extracted, FileKind};

use crate::extractors::installed;
use crate::harness::{archive, pdf};

async fn read(kind: FileKind, file: impl Into<bytes::Bytes>) -> Extracted {
    installed().await.extract(kind, file.into()).await.expect("it can be read")
}

/// Extracts the text of an EPUB with one chapter.
async fn chapter(page: &str) -> String {
    read(FileKind::Office, archive::epub(&[("a", page)], &[])).await.text
}

/// Extracts the text of an e-mail without its header.
async fn message(message: &str) -> String {
    let text = read(FileKind::Mail, message.replace('\n', "\r\n")).await.text;
    text.split_once("\n\n").map_or(text.clone(), |(_, body)| body.to_owned())
}

#[tokio::test]
async fn chapters_of_books_are_xml() {
    for (page, text) in [
        ("<html><head><title/></head><body><p>after a title</p></body></html>", "after a title"),
        ("<head><script src=\"a.js\"/><style/></head><body><iframe/><p>after</p><p>all</p>", "after\n\nall"),
        ("<html><head><script>never()</script><style>p {}</style></head><p>read</p>", "read"),
        ("<p><![CDATA[in a <section>]]> and after</p>", "in a <section> and after"),
        (
            "<!DOCTYPE html [<!ENTITY pier \"Pier 5\">\n<!ENTITY evil \"&pier;&pier;\">]><p>at &pier;, &eacute;t&eacute; &evil;</p>",
            "at Pier 5, été &pier;&pier;",
        ),
        (
            "<p>un<ins>der</ins>way, <dfn>ha</dfn>r<big>bour</big> at <time>dawn</time></p>",
            "underway, harbour at dawn",
        ),
        (
            "<x:html xmlns:x=\"http://www.w3.org/1999/xhtml\"><x:title/><x:p>with</x:p><x:p>prefix</x:p></x:html>",
            "with\n\nprefix",
        ),
        (
            "<p><ruby>東<rt>とう</rt>京<rp>(</rp><rt>きょう</rt><rp>)</rp></ruby>に行く</p>",
            "東京に行く (とうきょう)",
        ),
        ("<p>one<br/>two</p><pre>a b\n  c</pre>", "one\ntwo\n\na b\nc"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "a\tb\nc\td"),
    ] {
        assert_eq!(chapter(page).await, text, "{page}");
    }
}

#[tokio::test]
async fn a_message_is_read_whatever_precedes_its_header_or_is_missing_in_it() {
    for (file, title, words) in [
        (
            "From ana Tue Jul  1 10:00:00 2025\nSubject: In a mailbox\n\nlantern",
            Some("In a mailbox"),
            "lantern",
        ),
        ("\u{FEFF}Subject: Mark\n\nlantern", Some("Mark"), "lantern"),
        ("\r\n\r\nSubject: Blank lines\n\nlantern", Some("Blank lines"), "lantern"),
        ("To: ben@b.example\nDate: Tue, 1 Jul 2025 10:00:00 +0200\n\na draft", None, "a draft"),
    ] {
        let read = read(FileKind::Mail, file.to_owned()).await;
        assert_eq!(read.title.as_deref(), title, "{file}");
        assert!(read.text.ends_with(words), "{file}: {}", read.text);
    }
    let header = b"Subject: \xDCberraschung gr\xF6\xDFer\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\n\xFCber";
    let read = read(FileKind::Mail, header.to_vec()).await;
    assert_eq!((read.title.as_deref(), read.text.ends_with("über")), (Some("Überraschung größer"), true));
}

#[tokio::test]
async fn the_words_of_a_message_are_read_wherever_they_are() {
    let mixed =
        |part: &str| format!("Subject: s\nContent-Type: multipart/mixed; boundary=X\n\n--X\n{part}\n--X--\n");

    let text = "Content-Type: text/plain; name=a.txt\nContent-Disposition: attachment; filename=a.txt\n\nattached words";
    assert_eq!(message(&mixed(text)).await, "Attachments: a.txt\n\nattached words");
    let invitation = "Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nDTSTART:19700101T000000\n\
        END:VTIMEZONE\nBEGIN:VEVENT\nSUMMARY:Lantern\\, a\n  meeting\nDTSTART;TZID=\"Europe/Paris\":20250701T100000\n\
        LOCATION:Pier 5\nATTENDEE;CN=\"Ben: B\":mailto:ben@b.example\nEND:VEVENT\nEND:VCALENDAR";
    assert_eq!(
        message(&mixed(invitation)).await,
        "Lantern, a meeting\nStart: 2025-07-01 10:00\nLocation: Pier 5\nAttendee: Ben: B <ben@b.example>"
    );
    let report =
        "Content-Type: message/delivery-status\n\nFinal-Recipient: rfc822; ben@b.example\nStatus: 5.1.1";
    assert!(message(&mixed(report)).await.contains("Status: 5.1.1"));
    let enriched =
        "Content-Type: text/enriched\n\n<bold>Loud</bold> <color><param>red</param>words</color>, a << b";
    assert_eq!(message(&mixed(enriched)).await, "Loud words, a < b");
    let flowed = "Subject: s\nContent-Type: text/plain; format=flowed; delsp=yes\n\nOne para- \ngraph, the har \nbour.\n\n> quoted \n> words\n";
    assert_eq!(message(flowed).await, "One paragraph, the harbour.\n\n> quotedwords");
    let forms = "Content-Type: multipart/alternative; boundary=Y\n\n--Y\nContent-Type: text/plain\n\nUse HTML.\n--Y\n\
        Content-Type: text/html\n\n<p>The story of the lantern, as long as it is.</p>\n--Y--";
    assert_eq!(message(&mixed(forms)).await, "The story of the lantern, as long as it is.");
}

#[tokio::test]
async fn a_page_keeps_its_heading_its_lists_and_its_running_text() {
    let words = "<p>The harbour master wrote about tides, lanterns and ropes in the long winter, and nobody answered.</p>";
    let page = format!(
        "<title>How we moved - Site</title><nav><a href=/>Home</a></nav><article><h1>How we moved</h1>{}\
         <dl><dt>Battery</dt><dd>Lithium cell</dd></dl></article>",
        words.repeat(12)
    );
    let comment = |number: usize| {
        format!(
            "<li><div class=\"comment\"><span>reader {number}</span> {}</div></li>",
            "I was there that night. ".repeat(9)
        )
    };
    let comments: String = (0..40).map(comment).collect::<Vec<_>>().concat();
    let discussion = format!(
        "<title>A discussion</title><div><p>{}</p></div><ul>{comments}</ul>",
        "A question. ".repeat(30)
    );

    let form = format!("<form action=/>{discussion}</form>");
    let linked = format!(
        "<title>Tides</title><article><h1>Tides</h1>{}<p><a href=/a>More about ropes</a></p>{}</article>",
        words.repeat(12),
        words.repeat(12)
    );

    let form = read(FileKind::Html, form).await;
    let linked = read(FileKind::Html, linked).await;
    let read_page = read(FileKind::Html, page).await;
    let discussion = read(FileKind::Html, discussion).await;

    assert!(read_page.text.starts_with("How we moved\n\nThe harbour master"), "{}", read_page.text);
    assert_eq!(read_page.text.matches("How we moved").count(), 1);
    assert!(read_page.text.contains("Battery\n\nLithium cell"), "{}", read_page.text);
    assert!(discussion.text.contains("reader 39"), "{}", discussion.text);
    assert!(form.text.contains("reader 39"), "{}", form.text);
    assert!(linked.text.contains("nobody answered.") && !linked.text.contains("ropes\n"), "{}", linked.text);
}

#[tokio::test]
async fn words_of_a_pdf_are_apart_and_its_lines_in_order() {
    let gaps = pdf::placed(10, &[(72.0, 700.0, "brought"), (111.0, 700.0, "under"), (139.5, 700.0, "the")]);
    let table = pdf::placed(
        8,
        &[
            (72.0, 700.0, "Permanent"),
            (112.2, 700.0, "09/02/2015"),
            (250.0, 700.0, "San Jose"),
            (72.0, 690.0, "Closure"),
        ],
    );
    let turned = "BT /F1 12 Tf 0 1 -1 0 100 72 Tm (First line) Tj 0 1 -1 0 120 72 Tm (Second line) Tj ET";
    let bold = pdf::placed(
        12,
        &[(72.0, 700.0, "bold"), (72.3, 700.0, "bold"), (72.0, 700.2, "bold"), (72.0, 600.0, "bold")],
    );

    for (content, page, text) in [
        (gaps.as_str(), "", "brought under the"),
        (table.as_str(), "", "Permanent 09/02/2015\tSan Jose\nClosure"),
        (turned, "/Rotate 90", "First line\nSecond line"),
        (bold.as_str(), "", "bold\nbold"),
        ("BT /F1 12 Tf 72 700 Td [(brought)-180(under)-150(the)] TJ ET", "", "brought under the"),
        ("BT /F1 12 Tf 72 700 Td 3 Tc (harbou) Tj 0 Tc (r) Tj ET", "", "harbour"),
        ("BT /F1 12 Tf 72 700 Td 3 Tc (PWR) Tj ET", "", "PWR"),
        ("BT /F1 12 Tf 72 700 Td [(High)-250(tide.)-190(.)-190(.)-190(.)] TJ ET", "", "High tide. . . ."),
        ("BT /F1 12 Tf 14 TL 72 700 Td (the har-) Tj T* (bour) Tj ET", "", "the harbour"),
        (
            "BT /F1 12 Tf 14 TL 72 700 Td (pages 10-) Tj T* (20 of B-) Tj T* (Dock) Tj ET",
            "",
            "pages 10-\n20 of B-\nDock",
        ),
        ("BT /F1 12 Tf 72 700 Td (no area) Tj ET", "/CropBox [0 0 0 0]", "no area"),
    ] {
        let read = read(FileKind::Pdf, pdf::with_content(content, page, "")).await;
        assert_eq!(read.text, text, "{content}");
    }
    for filter in ["/ASCIIHexDecode", "[/ASCIIHexDecode]"] {
        let read = read(FileKind::Pdf, pdf::with_indirect_filter(filter, "by reference")).await;
        assert_eq!(read.text, "by reference", "{filter}");
    }
}

#[tokio::test]
async fn glyphs_of_a_pdf_are_characters_in_the_order_of_reading() {
    let page = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont \
        /Helvetica /ToUnicode 6 0 R >> /F3 << /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] \
        /FirstChar 97 /LastChar 100 /Widths [60 60 60 60] /Encoding << /Differences [97 /a /b /c /d] >> /CharProcs << \
        /a 7 0 R /b 7 0 R /c 7 0 R /d 7 0 R >> >> >> >>";
    let characters = |of_b: &str| {
        format!(
            "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange \
             2 beginbfchar <61> <05D0> <62> <{of_b}> endbfchar endcmap"
        )
    };
    let drawn = ("", "60 0 0 0 50 50 d1 0 0 50 50 re f");

    for (content, of_b, text) in [
        // Hebrew, right to left: the word is drawn to the right of the number, and comes first.
        ("BT /F1 12 Tf 72 700 Td (1 ab) Tj ET", "05D1", "בא 1"),
        // Private Use Area: a degree sign of a symbol font is dropped, a letter of a text font is kept.
        ("BT /F1 12 Tf 72 700 Td (30b) Tj ET", "F0B0", "30"),
        ("BT /F1 12 Tf 72 700 Td (30b) Tj ET", "F062", "30b"),
        // Type 3 font whose glyphs are 60 times the nominal font size.
        ("BT /F3 0.1 Tf 72 700 Td (ab) Tj 20 0 Td (cd) Tj ET", "0062", "ab cd"),
    ] {
        let file = pdf::with_streams(page, content, &[("", &characters(of_b)), drawn]);
        assert_eq!(read(FileKind::Pdf, file).await.text, text, "{content}");
    }
}

#[tokio::test]
async fn a_column_of_a_pdf_is_read_before_the_next_and_a_table_by_rows() {
    let columns: Vec<_> = (0..6_u32)
        .flat_map(|row| {
            let up = 700.0 - 14.0 * f64::from(row);
            [(72.0, up, "left words of a long line"), (320.0, up, "right words of a long line")]
        })
        .collect();
    let title = [(72.0, 730.0, "A title that goes over both of the columns, from one side to the other")];
    let content = pdf::placed(12, &[&title[..], &columns[..]].concat());

    let text = read(FileKind::Pdf, pdf::with_content(&content, "", "")).await.text;

    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines[0].starts_with("A title") && lines.len() == 13, "{text}");
    assert!(lines[1..7].iter().all(|line| line.starts_with("left")), "{text}");
    assert!(lines[7..].iter().all(|line| line.starts_with("right")), "{text}");
}

#[tokio::test]
async fn comments_and_fields_of_a_pdf_are_read() {
    let page = "/Annots [<< /Type /Annot /Subtype /Text /Rect [0 0 1 1] /Contents (a sticky note) >> \
        << /Subtype /Widget /FT /Tx /Rect [0 0 1 1] /Parent << /V (a value) >> >> \
        << /Subtype /Text /F 2 /Rect [0 0 1 1] /Contents (hidden) >>]";

    let read = read(FileKind::Pdf, pdf::with_content("BT /F1 12 Tf 72 700 Td (page) Tj ET", page, "")).await;

    assert_eq!(read.text, "page\n\na sticky note\na value");

    let drawn = "/MediaBox [0 0 612 792] /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica \
        >> >> >> /Annots [<< /Subtype /Widget /FT /Ch /Rect [110 700 210 714] /V (7) /AP << /N 6 0 R >> >> \
        << /Subtype /Stamp /Rect [0 0 1 1] /Contents (not drawn) /AP << >> >>]";
    let appearance = (
        "/Type /XObject /Subtype /Form /BBox [0 0 100 14] /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 \
         /BaseFont /Helvetica >> >> >>",
        "BT /F1 12 Tf 0 0 Td (pier 7) Tj ET",
    );
    let page = "BT /F1 12 Tf 72 700 Td (Berth:) Tj ET";
    let read = self::read(FileKind::Pdf, pdf::with_streams(drawn, page, &[appearance])).await;

    assert_eq!(read.text, "Berth: pier 7\n\nnot drawn");
}

#[tokio::test]
async fn the_own_title_of_a_pdf_is_taken_unless_a_program_made_it_up() {
    for (title, expected) in [
        ("(The harbour guide)", Some("The harbour guide")),
        ("<446F6E9074208D70616E69638E2092>", Some("Don’t “panic” ™")),
        ("<FEFF00C4>", Some("Ä")),
        ("(Microsoft Word - report_final.docx)", None),
        ("(Microsoft Word - Of tides)", Some("Of tides")),
        ("(untitled)", None),
        ("(No Slide Title)", None),
        ("(Untitled-1)", None),
        ("(Binder1.pdf)", None),
        ("(C:\\\\Users\\\\ana\\\\plan)", None),
        ("( )", None),
    ] {
        let file = pdf::with_content("BT /F1 12 Tf 72 700 Td (page) Tj ET", "", &format!("/Title {title}"));
        assert_eq!(read(FileKind::Pdf, file).await.title.as_deref(), expected, "{title}");
    }
}
