use super::*;

/// What a file is, given its bytes, its label and its name.
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
