use super::*;

#[test]
fn text_of_many_encodings_becomes_utf_8() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let words = "Žluťoučký kůň úpěl ďábelské ódy. Příliš žluťoučký kůň úpěl ďábelské ódy.";
    let (windows_1250, ..) = encoding_rs::WINDOWS_1250.encode(words);

    assert_eq!(read("naïve — Ωmega".as_bytes()).0.text, "naïve — Ωmega");
    assert_eq!(read(b"\xEF\xBB\xBFmarked").0.text, "marked");
    assert_eq!(read(&[&b"\xFF\xFE"[..], &utf16("ünï")].concat()).0.text, "ünï");
    assert_eq!(read(b"caf\xe9 and na\xefve in Latin-1").0.text, "café and naïve in Latin-1");
    assert_eq!(read(&windows_1250).0.text, words);
    assert_eq!(read(b"").0.text, "");
}

#[test]
fn text_in_wide_units_needs_no_mark() {
    let words = "The tide is late.\nSpring tide.";
    let chinese = "潮水来得很晚。\n春天的潮水，也是这样。";
    let utf16 = |text: &str, unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<_>>();
    let utf32 = |text: &str, unit: fn(u32) -> [u8; 4]| {
        text.chars().flat_map(|it| unit(it.into())).collect::<Vec<_>>()
    };

    for text in [words, chinese] {
        assert_eq!(read(&utf16(text, u16::to_le_bytes)).0.text, text);
        assert_eq!(read(&utf16(text, u16::to_be_bytes)).0.text, text);
        assert_eq!(read(&utf32(text, u32::to_le_bytes)).0.text, text);
        assert_eq!(read(&utf32(&format!("\u{FEFF}{text}"), u32::to_be_bytes)).0.text, text);
        assert_eq!(read(text.as_bytes()).0.text, text);
    }
    let page = utf16("<title>Tides</title><p>The tide is late.", u16::to_le_bytes);
    assert!(html_as_utf8(page.into()).html.starts_with(b"<title>Tides"));
    // A table of little-endian binary numbers, and an incomplete surrogate pair.
    for binary in [&(0_u32..500).flat_map(u32::to_le_bytes).collect::<Vec<_>>()[..], b"\0\xD8\0\0 \0a\0b\0"] {
        assert_eq!(Wide::detect(binary), None);
    }
}

#[test]
fn text_of_encodings_before_unicode_becomes_utf_8() {
    let russian = "В старом порту горел фонарь, и смотритель гавани писал о якорях.";
    let mac: &[u8] = b"\x82 \xF1\xF2\xE0\xF0\xEE\xEC \xEF\xEE\xF0\xF2\xF3 \xE3\xEE\xF0\xE5\xEB \xF4\xEE\xED\xE0\xF0\xFC, \xE8 \xF1\
        \xEC\xEE\xF2\xF0\xE8\xF2\xE5\xEB\xFC \xE3\xE0\xE2\xE0\xED\xE8 \xEF\xE8\xF1\xE0\xEB \xEE \xDF\xEA\xEE\xF0\xDF\xF5.";
    let ibm: &[u8] = b"\xEC \xE3\xE5\xA0\xE1\xD6\xD2 \xD8\xD6\xE1\xE5\xE7 \xAC\xD6\xE1\xA8\xD0 \xAA\xD6\xD4\xA0\xE1\xED, \xB7 \xE3\
        \xD2\xD6\xE5\xE1\xB7\xE5\xA8\xD0\xED \xAC\xA0\xEB\xA0\xD4\xB7 \xD8\xB7\xE3\xA0\xD0 \xD6 \xDE\xC6\xD6\xE1\xDE\xB5.";
    let korean: &[u8] = b"\xB5\x95 \xD0w\x8A\x81\xB5A\x93e \x97w\xA6\x89\xB7\xA1\x20\
        \xC8a\x89\xA1 \xB7\xB6\xB4\xF6\x89\xA1, \x8Ba\x93e";

    assert_eq!(read(mac).0.text, russian);
    assert_eq!(read(ibm).0.text, russian);
    assert_eq!(read(korean).0.text, "옛 항구에는 등불이 타고 있었고, 그는");
    // Encodings that the detector knows are not replaced: dashes and quotes of Windows are capitals of Mac
    // Cyrillic.
    for text in [
        russian,
        "тесты — это хорошо — вот так, „слово“ и “другое” – всё ещё тот же текст — без больших букв",
    ] {
        let (windows_1251, ..) = encoding_rs::WINDOWS_1251.encode(text);
        assert_eq!(read(&windows_1251).0.text, text);
    }
    let (euc, ..) = encoding_rs::EUC_KR.encode("옛 항구에는 등불이 타고 있었고, 그는 조수와 닻에 대해 썼다.");
    assert!(read(&euc).0.text.starts_with("옛 항구에는"));
}

#[test]
fn what_a_terminal_or_a_printer_obeys_is_no_text() {
    for (file, text) in [
        (&b"the end\r\n\x1A"[..], "the end\r\n"),
        (b"N\x08NA\x08AM\x08ME\x08E\n\x08_\x08tide", "NAME\ntide"),
        (b"bell\x07 and\tpage\x0C", "bell and\tpage\x0C"),
    ] {
        assert_eq!(read(file).0.text, text);
    }
}

#[test]
fn invalid_bytes_are_no_reason_to_fail() {
    let (read, _) = read(b"\xC3\x28 \xFF\xFF good words \xF0\x28\x8C\x28");

    assert!(read.text.contains("good words") && !read.truncated, "{read:?}");
}

#[test]
fn a_text_is_cut_between_two_characters_and_says_so() {
    for long in
        ["é".repeat(MAX_TEXT_BYTES), "x".repeat(MAX_TEXT_BYTES + 1), "ab\u{1F600}".repeat(MAX_TEXT_BYTES / 4)]
    {
        let (read, _) = read(&long.as_bytes()[..=MAX_TEXT_BYTES]);

        assert!(read.truncated && read.text.len() <= MAX_TEXT_BYTES, "{}", read.text.len());
        assert!(read.text.len() > MAX_TEXT_BYTES - 4 && long.starts_with(&read.text));
        assert!(noting_the_cut(read.text, read.truncated).ends_with(CUT));
    }
    let (exactly, _) = read("x".repeat(MAX_TEXT_BYTES).as_bytes());
    assert!(!exactly.truncated && exactly.text.len() == MAX_TEXT_BYTES);
    assert_eq!(noting_the_cut("whole".to_owned(), false), "whole");
}

#[test]
fn a_page_is_rewritten_in_utf_8() {
    let declared = b"<html><meta charset=\"iso-8859-2\"><p>\xB9koda</p>";
    let old = b"<meta http-equiv=content-type content='text/html; CHARSET=windows-1251'><p>\xCC\xE8\xF0</p>";

    let utf8 =
        |bytes: &'static [u8]| String::from_utf8(html_as_utf8(bytes.into()).html.to_vec()).expect("UTF-8");
    assert!(utf8(declared).ends_with("<p>škoda</p>"));
    assert!(utf8(old).ends_with("<p>Мир</p>"));
    assert_eq!(utf8("<p>ünï</p>".as_bytes()), "<p>ünï</p>");
    assert!(utf8(b"<p>\xFF\xC3 broken").contains("broken"));
    assert!(utf8(b"<meta charset=").contains("charset"));
}

#[test]
fn a_long_page_is_rewritten_up_to_a_bound_and_one_in_utf_8_stays_as_it_is() {
    let old = html_as_utf8(vec![0xE9; MAX_REWRITTEN_BYTES + 1].into());
    assert!(old.was_cut && old.html.len() <= 3 * MAX_REWRITTEN_BYTES, "{}", old.html.len());

    let long = Bytes::from("ü".repeat(MAX_REWRITTEN_BYTES));
    let page = html_as_utf8(long.clone());
    assert!(page.html == long && !page.was_cut);
}

#[test]
fn an_encoding_is_guessed_from_the_first_words_that_tell() {
    let (words, ..) = encoding_rs::WINDOWS_1251.encode("Съешь же ещё этих мягких французских булок. ");

    let (read, _) = read(
        &[&vec![b'x'; MAX_SNIFFED_BYTES][..], &words.repeat(2 * MAX_SNIFFED_BYTES / words.len())].concat(),
    );

    assert!(read.text[MAX_SNIFFED_BYTES..].starts_with("Съешь же ещё"));
}

#[test]
fn a_title_is_one_short_line() {
    assert_eq!(line("  On\n\u{0}Tides\t\r\nand  more \u{7}"), "On Tides and more");
    assert_eq!(line(&"ü".repeat(1000)).chars().count(), MAX_LINE_LENGTH);
    assert_eq!(line("\u{0}\n"), "");
}

#[test]
fn the_encoding_is_told_by_its_name() {
    let utf16: Vec<_> = "Tides".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [&b"\xFF\xFE"[..], b"T\0i\0d\0e\0s\0"].concat();
    for (file, name) in [
        (&b"plain"[..], "UTF-8"),
        (b"caf\xe9 and na\xefve in Latin-1", "windows-1252"),
        (&utf16, "UTF-16BE"),
        (&marked, "UTF-16LE"),
    ] {
        assert_eq!(read(file).1, name);
    }
    let page = b"<html><meta charset=\"iso-8859-2\"><p>\xB9koda</p>";
    assert_eq!(html_as_utf8((&page[..]).into()).encoding, "ISO-8859-2");
}
