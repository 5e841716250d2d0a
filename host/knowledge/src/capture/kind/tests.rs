use super::*;

/// Checks the detected type of a file, given its bytes, its label and its name.
#[track_caller]
fn check(head: &[u8], claimed: &str, name: &str, expected: &str) {
    let label = Label { media_type: Some(claimed).filter(|it| !it.is_empty()), name: Some(name) };
    let shown = String::from_utf8_lossy(&head[..head.len().min(40)]);
    assert_eq!(media_type(head, &label), expected, "{shown:?} as {claimed:?}, {name:?}");
}

const WAV: &[u8] = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00";

#[test]
fn the_bytes_say_what_a_file_is_and_not_its_label() {
    for label in ["", "text/plain", "text/html", "application/pdf", "audio/mpeg", "image/png", "nonsense"] {
        check(b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n", label, "x.txt", "application/pdf");
        check(b"\x00\x01junk first\n%PDF-1.4\n", label, "x.pdf", "application/pdf");
        check(b"<!DOCTYPE html><p>Hello", label, "x.pdf", "text/html");
        check(b"\xEF\xBB\xBF \n<!doctype HTML >", label, "x.pdf", "text/html");
        check(WAV, label, "x.mp3", "audio/wav");
        check(b"fLaC\x00\x00\x00\x22", label, "", "audio/flac");
        check(b"OggS\x00\x02\x00\x00", label, "", "audio/ogg");
        check(b"ID3\x04\x00\x00\x00\x00\x00\x00", label, "", "audio/mpeg");
        check(b"\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00", label, "", "audio/mp4");
        check(b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", label, "x.html", "image/png");
        check(b"PK\x03\x04\x14\x00\x00\x00", label, "x.txt", "application/zip");
        check(b"\x00\x01\x02\x03 no signature", label, "x.html", "application/octet-stream");
    }
}

#[test]
fn a_label_chooses_among_kinds_of_text() {
    let text = b"Name,Place\nAna,Porto\n";

    check(text, "", "", "text/plain");
    check(text, "text/csv; charset=utf-8", "", "text/csv");
    check(text, "application/octet-stream", "people.CSV", "text/csv");
    check(text, "Text/Markdown", "", "text/markdown");
    check(text, "text/x-markdown", "", "text/markdown");
    check(text, "", "readme.md", "text/markdown");
    check(text, "", "guide.rst", "text/x-rst");
    check(text, "text/plain", "guide.adoc", "text/asciidoc");
    check(b"\\title{Tides}", "", "paper.tex", "text/x-tex");
    check(b".TH LANTERN 1\n", "", "lantern.1", "text/troff");
    check(text, "", "syslog.1", "text/plain");
    check(b"{\\rtf1\\ansi words}", "application/msword", "letter.doc", "application/rtf");
    check(text, "text/html; charset=utf-8", "", "text/html");
    check(text, "application/ld+json", "", "application/json");
    check(text, "application/pdf", "x.pdf", "text/plain");
    check(text, "audio/mpeg", "x.mp3", "text/plain");
    check(b"{\"a\": [1, 2]}", "", "", "application/json");
    check(b" [1, 2]", "text/plain", "", "application/json");
    check(b"12", "", "", "text/plain");
    check(b"{ not json", "", "", "text/plain");
}

#[test]
fn markdown_may_begin_with_a_tag_and_html_with_a_declaration() {
    check(b"<h1 align=\"center\">Kitbag</h1>\n\nSome *words*.", "text/markdown", "", "text/markdown");
    check(b"<p>Kitbag</p>", "", "README.md", "text/markdown");
    check(b"<!doctype html><h1>Kitbag</h1>", "text/markdown", "", "text/html");
    check(b"<h1>Kitbag</h1>", "text/plain", "", "text/html");
    check(b"<?xml version=\"1.0\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\">", "", "", "text/html");
    check(b"<?xml version=\"1.0\"?><rss>", "", "", "text/plain");
    check(b"<hello> world", "", "", "text/plain");
    check(b"\xFF\xFE<\x00h\x00t\x00m\x00l\x00>\x00", "", "", "text/html");
}

#[test]
fn a_text_may_have_characters_for_terminals_and_printers() {
    check(b"Dir of disk A:\r\nNOTES.TXT\r\n\x1A", "", "x.txt", "text/plain");
    check(b"N\x08NA\x08AM\x08ME\x08E", "", "tide.1", "text/plain");
    check(&[&b"# Bell \x07"[..], &[b'x'; 200]].concat(), "", "x.md", "text/markdown");
    check(b"T\0h\0e\0 \0t\0i\0d\0e\0.\0", "", "x.txt", "text/plain");
    check(b"\0<\0h\0t\0m\0l\0>\0 \0a", "", "x", "text/html");
    check(b"\x01\x02\x03\x05\x06 words", "", "x.txt", "application/octet-stream");
    check(&[&b"words and words\0"[..], &[b'x'; 200]].concat(), "", "x.txt", "application/octet-stream");
}

#[test]
fn what_precedes_a_header_in_a_file_does_not_hide_a_message() {
    for lead in ["", "\u{FEFF}", "\r\n\n", "From ana@a.example Tue Jul  1 10:00:00 2025\r\n", "\n>From ana\n"]
    {
        check(format!("{lead}Subject: tide\r\n\r\nwords").as_bytes(), "", "x.eml", "message/rfc822");
    }
    check(b"From here the tide turns.\nIt is late: go.", "message/rfc822", "", "text/plain");
}

#[test]
fn sound_without_a_signature_is_believed_when_it_may_be_what_is_claimed() {
    check(b"\xFF\xE3\x18\xC4\x00\x00\x00\x03", "audio/mpeg", "", "audio/mpeg");
    check(b"\x01\x02\x03\x04\x00", "audio/mpeg", "", "application/octet-stream");
}

#[test]
fn a_container_of_pictures_and_sound_is_listened_to_when_it_is_meant_to_be() {
    assert_eq!(Kind::of("video/webm", Some("audio/webm; codecs=opus")), Kind::Audio);
    assert_eq!(Kind::of("video/mp4", Some("video/mp4")), Kind::Other);
    assert_eq!(Kind::of("audio/wav", None), Kind::Audio);
    assert_eq!(Kind::of("image/png", Some("audio/mpeg")), Kind::Other);
    assert_eq!(Kind::of("text/csv", Some("audio/mpeg")), Kind::Text);
}

/// ZIP archive with these entries; `flags` of 8: sizes follow the data.
fn archive(flags: u8, entries: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in entries {
        let size = if flags == 8 { 0 } else { u8::try_from(content.len()).expect("a short content") };
        bytes.extend_from_slice(b"PK\x03\x04\x14\x00");
        bytes.extend_from_slice(&[flags, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, size, 0, 0, 0, size, 0, 0, 0]);
        bytes.extend_from_slice(&[u8::try_from(name.len()).expect("a short name"), 0, 0, 0]);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(content.as_bytes());
    }
    bytes
}

#[test]
fn an_archive_of_a_document_says_what_it_is_whatever_its_label_says() {
    let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let excel = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let odt = "application/vnd.oasis.opendocument.text";

    for label in ["", "text/plain", "application/zip", "application/epub+zip", "nonsense"] {
        for flags in [0, 8] {
            let file = archive(flags, &[("[Content_Types].xml", "<Types/>"), ("word/document.xml", "<w/>")]);
            check(&file, label, "x.txt", word);
            let file = archive(flags, &[("docProps/core.xml", "<c/>"), ("xl/workbook.xml", "<w/>")]);
            check(&file, label, "x.docx", excel);
            check(&archive(flags, &[("mimetype", odt), ("content.xml", "")]), label, "x.docx", odt);
            let template =
                archive(flags, &[("mimetype", "application/vnd.oasis.opendocument.text-template")]);
            check(&template, label, "", odt);
        }
    }
    check(&archive(0, &[("mimetype", "application/epub+zip")]), "", "", "application/epub+zip");
}

#[test]
fn an_archive_that_does_not_say_what_it_is_is_what_its_label_says() {
    let plain = archive(0, &[("word/notes.txt", "only a folder of this name")]);
    let nested = archive(0, &[("a.docx", "PK\x03\x04 within a stored entry [Content_Types].xml word/")]);

    for file in [plain, nested, b"PK\x03\x04".to_vec(), b"PK\x03\x04\xFF\xFF".repeat(30)] {
        check(&file, "", "x.zip", "application/zip");
        check(&file, "application/epub+zip", "x.zip", "application/epub+zip");
        check(&file, "application/octet-stream", "Book.EPUB", "application/epub+zip");
    }
    check(b"plain words", "application/epub+zip", "x.docx", "text/plain");
}

#[test]
fn a_compound_file_is_what_its_label_says_and_otherwise_nothing_that_is_read() {
    let file = [&b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"[..], &[0; 600]].concat();

    check(&file, "", "old.doc", "application/msword");
    check(&file, "application/vnd.ms-excel", "", "application/vnd.ms-excel");
    let label = Label { media_type: None, name: Some("setup.msi") };
    assert_eq!(Kind::of(&media_type(&file, &label), None), Kind::Other);
}

#[test]
fn a_message_is_one_by_its_label_and_its_header() {
    let message = b"Received: from a\r\nSubject: Tides\r\n\r\n<html>";

    check(message, "message/rfc822", "", "message/rfc822");
    check(message, "", "letter.EML", "message/rfc822");
    check(b"Subject: x\r\n\r\n\x00\x01 binary", "message/rfc822", "", "message/rfc822");
    check(message, "", "letter.txt", "text/plain");
    check(b"no header: at all", "message/rfc822", "", "text/plain");
    check(b": nothing", "", "x.eml", "text/plain");
    check(&b"x".repeat(200), "", "x.eml", "text/plain");
    check(b"<html>", "", "x.eml", "text/html");
}

#[test]
fn notebooks_and_workbooks_are_texts_to_others() {
    let workbook = "<?xml version=\"1.0\"?>\n<?mso-application progid=\"Excel.Sheet\"?>\n<!-- old -->\n\
                    <ss:Workbook xmlns:ss=\"urn:schemas-microsoft-com:office:spreadsheet\">";
    let utf16: Vec<_> = workbook.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let stylesheet = "<xsl:stylesheet xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\"><Workbook/>";
    let notebook = b" {\"cells\": []";

    for name in ["tides.xml", "tides.xls", ""] {
        check(workbook.as_bytes(), "text/xml", name, "application/vnd.ms-excel");
        check(&utf16, "", name, "application/vnd.ms-excel");
    }
    check(stylesheet.as_bytes(), "", "tides.xsl", "text/plain");
    check(b"<Workbook/>", "", "tides.xml", "text/plain");
    check(b"<?xml", "", "tides.xml", "text/plain");
    check(notebook, "", "tides.IPYNB", "application/x-ipynb+json");
    check(notebook, "application/x-ipynb+json", "", "application/x-ipynb+json");
    check(b"{\"cells\": []}", "application/json", "tides.json", "application/json");
    check(b"no notebook", "", "tides.ipynb", "text/plain");
    assert_eq!(Kind::of("application/x-ipynb+json", None), Kind::Parsed(FileKind::Office));
}

#[test]
fn sources_that_begin_like_html_stay_whole() {
    check(b"<script setup>\nlet tide = 1\n</script>", "", "App.vue", "text/plain");
    check(b"<!-- a note --><svg/>", "image/svg+xml", "tide.svg", "text/plain");
    check(b"<!doctype html><?php echo 1;", "", "index.php", "text/plain");
    check(b"<!doctype html><p>made by PHP", "text/html; charset=utf-8", "index.php", "text/html");
    check(b"def tide(): pass", "text/x-python", "tide.py", "text/plain");
    check(b"export const tide = 1", "video/mp2t", "tide.ts", "text/plain");
    check(b"fn main() {}", "application/octet-stream", "main.rs", "text/plain");
}

#[test]
fn documents_go_to_their_readers() {
    for (media_type, kind) in [
        ("application/msword", FileKind::Office),
        ("application/epub+zip", FileKind::Office),
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation", FileKind::Office),
        ("message/rfc822", FileKind::Mail),
    ] {
        assert_eq!(Kind::of(media_type, None), Kind::Parsed(kind), "{media_type}");
    }
    assert_eq!(Kind::of("application/zip", Some("application/msword")), Kind::Other);
}
