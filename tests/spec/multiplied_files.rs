//! Small files that ask for the same work again and again. What is read of them is counted in work, which does not
//! depend on how fast a machine is: a file that asked for too much says that it was cut, or is refused.

use std::fmt::Write as _;

use kitbag_knowledge::{ExtractError, Extracted, FileKind};

use crate::extractors::installed;
use crate::harness::{archive, gzip, pdf};

const FONT: &str = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>";
const FORM: &str = "/Type /XObject /Subtype /Form /BBox [0 0 600 800]";
const OWN_TEXT: &str = "BT /F1 12 Tf 1 0 0 1 50 700 Tm (Its own text) Tj ET ";

/// A page with its own text, then `content`, and `streams` from object 6.
fn page(resources: &str, content: &str, streams: &[(&str, &str)]) -> Vec<u8> {
    let entries = format!("/MediaBox [0 0 600 800] /Resources << {FONT} {resources} >>");
    pdf::with_streams(&entries, &format!("{OWN_TEXT}{content}"), streams)
}

async fn read(kind: FileKind, file: Vec<u8>) -> Result<Extracted, ExtractError> {
    installed().await.extract(kind, file.into()).await
}

#[tokio::test]
async fn forms_that_draw_forms_are_counted_and_not_drawn() {
    let fans: Vec<_> = (7..19)
        .map(|next| (format!("{FORM} /Resources << /XObject << /X {next} 0 R >> >>"), "/X Do ".repeat(10)))
        .collect();
    let mut fan: Vec<_> =
        fans.iter().map(|(entries, content)| (entries.as_str(), content.as_str())).collect();
    fan.push((FORM, "BT /F1 12 Tf (deep) Tj ET"));
    let large = " ".repeat(100_000);
    let first = "/XObject << /X 6 0 R >>";
    for (what, file) in [
        ("a fan of twelve", page(first, "/X Do", &fan)),
        ("one that draws itself twice", page(first, "/X Do", &[(FORM, "/X Do /X Do")])),
        ("a large one, again and again", page(first, &"/X Do ".repeat(10_000), &[(FORM, &large)])),
    ] {
        let read = read(FileKind::Pdf, file).await.expect("the page has text of its own");

        assert_eq!((read.text.as_str(), read.truncated), ("Its own text", true), "{what}");
    }
    // As often as letterheads and stamps are drawn.
    let few = page(first, &"/X Do ".repeat(50), &[(FORM, "BT /F1 9 Tf 1 0 0 1 50 600 Tm (Stamp) Tj ET")]);
    let read = read(FileKind::Pdf, few).await.expect("a page");
    assert!(read.text.contains("Its own text") && read.text.contains("Stamp"), "{}", read.text);
    assert!(!read.truncated);
}

#[tokio::test]
async fn what_is_unpacked_each_time_that_a_page_names_it_is_counted() {
    let large = "0".repeat(100_000);
    let again = |what: &str| what.repeat(10_000);
    let mask = "/ExtGState << /G << /SMask << /S /Alpha /G 6 0 R >> >> >>";
    let transfer = "/ExtGState << /G << /TR 6 0 R >> >>";
    let sampled = "/FunctionType 0 /Domain [0 1] /Range [0 1] /Size [100000] /BitsPerSample 8";
    let mesh = "/ShadingType 4 /ColorSpace /DeviceRGB /BitsPerCoordinate 8 /BitsPerComponent 8 /BitsPerFlag 8 \
                /Decode [0 1 0 1 0 1 0 1 0 1]";
    for (what, resources, content, entries) in [
        ("a mask", mask, again("/G gs "), FORM),
        ("a transfer function", transfer, again("/G gs "), sampled),
        ("a shading", "/Shading << /S 6 0 R >>", again("/S sh "), mesh),
        ("a pattern", "/Pattern << /P << /PatternType 2 /Shading 6 0 R >> >>", again("/P scn "), mesh),
    ] {
        let refused = read(FileKind::Pdf, page(resources, &content, &[(entries, &large)])).await;

        let reason = refused.map(|read| read.text.len()).expect_err(what).reason;
        assert!(reason.contains("again and again"), "{what}: {reason}");
    }
}

#[tokio::test]
async fn a_page_whose_text_would_be_escaped_in_quadratic_time_is_read_without_its_tree() {
    let text = "& ".repeat(1_500_000);
    let attribute = "&amp;".repeat(600_000);
    for page in [
        format!("<!doctype html><title>T</title><p>{text}the end"),
        format!("<!doctype html><title>T</title><p>{}the end", "\u{a0}x".repeat(1_000_000)),
        format!("<!doctype html><title>T</title><p><a href='{attribute}'>a link</a> the end"),
    ] {
        let read = read(FileKind::Html, page.into_bytes()).await.expect("a page");

        assert!(read.text.ends_with("the end"), "{} bytes", read.text.len());
    }
}

#[tokio::test]
async fn a_book_that_names_a_chapter_again_and_again_is_cut() {
    let book = |times: usize, chapter: &str| {
        let mut package = "<package xmlns=\"http://www.idpf.org/2007/opf\"><manifest><item id=\"c\" \
                           href=\"c.xhtml\"/></manifest><spine>"
            .to_owned();
        (0..times).for_each(|_| write!(package, "<itemref idref=\"c\"/>").expect("room"));
        package.push_str("</spine></package>");
        archive::of(&[
            (
                "META-INF/container.xml",
                "<container><rootfiles><rootfile full-path=\"p\"/></rootfiles></container>",
            ),
            ("p", &package),
            ("c.xhtml", chapter),
        ])
    };
    let entity = format!("<!DOCTYPE html [<!ENTITY e \"{}\">]>", "x".repeat(1000));
    let hidden = format!("{entity}<html><style>{}</style><p>x</p></html>", "&e;".repeat(4000));
    for (what, file) in [
        ("small chapters", book(500_000, "<html><p>x</p></html>")),
        ("entities that are not shown", book(10_000, &hidden)),
    ] {
        assert!(file.len() < 300 << 10, "{what}: {}", file.len());

        let read = read(FileKind::Office, file).await.expect("there is text");

        assert!(read.truncated && read.text.starts_with("x\n\nx"), "{what}: {} bytes", read.text.len());
        assert!(read.text.len() < 1 << 20, "{what}: {} bytes", read.text.len());
    }
    let read = read(FileKind::Office, book(1000, "<html><p>x</p></html>")).await.expect("there is text");
    assert_eq!((read.truncated, read.text.lines().filter(|line| *line == "x").count()), (false, 1000));
}

#[tokio::test]
async fn content_that_is_named_by_many_pages_counts_for_each() {
    // A megabyte of spaces.
    let file = pdf::pages_of_one_content(1000, &gzip::zlib(b' ', 4000));

    let refused = read(FileKind::Pdf, file).await;

    let reason = refused.map(|read| read.text.len()).expect_err("no text").reason;
    assert!(reason.contains("again and again"), "{reason}");
}
