//! Text extraction from office documents, e-books and messages, including hostile ones, without a server.

use std::fmt::Write as _;

use kitbag_knowledge::{ExtractError, Extracted, FailureKind, FileKind, MAX_TEXT_BYTES};

use crate::extractors::{Xorshift, installed};
use crate::harness::archive::{self, docx, epub, odt, paragraph, xlsx};

/// Readable documents in `tests/documents`.
const DOCUMENTS: [&str; 7] =
    ["report.docx", "tables.xlsx", "talk.pptx", "book.epub", "notes.odt", "currents.ods", "old.xls"];

const MESSAGE: &str = "Received: from far\r\nFrom: =?utf-8?q?Ana_=C3=9C?= <ana@a.example>\r\nTo: \
    ben@b.example, Cai <cai@c.example>\r\nSubject: =?utf-8?b?w4ZiYiBhbmQgZmxvd2Q=?=\r\nDate: Mon, 11 Mar 2024 \
    09:30:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=X\r\n\r\n--X\r\nContent-Type: \
    multipart/alternative; boundary=Y\r\n\r\n--Y\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
    Content-Transfer-Encoding: quoted-printable\r\n\r\nThe tide is l=E4te=\r\n today.\r\n\r\nGreetings\r\n\
    --Y\r\nContent-Type: text/html\r\n\r\n<p>The tide in HTML\r\n--Y--\r\n--X\r\nContent-Type: application/pdf\r\n\
    Content-Disposition: attachment; filename=\"tide table.pdf\"\r\n\r\n%PDF\r\n--X\r\nContent-Type: \
    message/rfc822\r\n\r\nFrom: dan@d.example\r\nSubject: Inner\r\n\r\nThe inner words.\r\n--X--\r\n";

async fn read(kind: FileKind, file: impl Into<bytes::Bytes>) -> Result<Extracted, ExtractError> {
    installed().await.extract(kind, file.into()).await
}

/// Extracts title and text of an office document; asserts that the text is not truncated.
async fn document(file: Vec<u8>) -> (String, String) {
    let read = read(FileKind::Office, file).await.expect("it can be read");
    assert!(!read.truncated);
    (read.title.unwrap_or_default(), read.text)
}

#[track_caller]
fn assert_refused(read: Result<Extracted, ExtractError>, words: &str) {
    let error = read.expect_err("it cannot be read");
    assert!(error.reason.contains(words), "no {words:?} in {}", error.reason);
    assert_eq!(error.kind, FailureKind::Permanent);
}

#[tokio::test]
async fn documents_that_libraries_have_written_are_read_with_their_titles() {
    for (name, title, text) in [
        (
            "report.docx",
            "Tidal report",
            "Of tides\nThe moon pulls the sea, twice a day.\nHarbour\tHeight\nBrest\t7 metres\nAfter the table.",
        ),
        (
            "tables.xlsx",
            "Tide tables",
            "Heights\nHarbour\tHeight\tMeasured\nSaint-Malo\t12.25\t2024-03-11\nBrest\t7\t2024-03-12\n\n\
             Remarks\nthe last cell of the sheet",
        ),
        (
            "talk.pptx",
            "Tides, a talk",
            "Spring tides\n\nSun and moon in a line\n\n[Notes]\nMention the equinox\n\n---\n\nNeap tides\n\n\
             At right angles",
        ),
        (
            "book.epub",
            "The book of tides",
            "Second\n\nThe flood comes after.\n\nFirst\n\nThe ebb comes first.",
        ),
        ("notes.odt", "Notes on tides", "Of currents\n\nA current (of water) runs along the coast."),
        ("currents.ods", "", "Currents\n\nStrait\tKnots\nGibraltar\t3"),
        ("old.xls", "", "Old heights\nFundy\t16.3"),
    ] {
        let read = document(archive::of_library(name)).await;

        assert_eq!((read.0.as_str(), read.1.as_str()), (title, text), "{name}");
    }
}

#[tokio::test]
async fn a_message_is_read_with_its_header_its_attachments_and_what_it_forwards() {
    let read_message = read(FileKind::Mail, MESSAGE).await.expect("a message");
    let only_html =
        "Subject: Page\r\nContent-Type: text/html\r\n\r\n<style>p {}</style><p>One<p>Two &amp; three";
    let only_html = read(FileKind::Mail, only_html).await.expect("a message");

    assert_eq!(read_message.title.as_deref(), Some("Æbb and flowd"));
    assert_eq!(
        read_message.text,
        "Subject: Æbb and flowd\nFrom: Ana Ü <ana@a.example>\nTo: ben@b.example, Cai <cai@c.example>\n\
         Date: 2024-03-11T09:30:00+01:00\n\nThe tide is läte today.\n\nGreetings\n\nAttachments: tide \
         table.pdf\n\nSubject: Inner\nFrom: dan@d.example\n\nThe inner words."
    );
    assert_eq!(only_html.text, "Subject: Page\n\nOne\n\nTwo & three");
    assert_refused(read(FileKind::Mail, "no header at all").await, "the message holds no text");
    assert_refused(read(FileKind::Mail, vec![0; 5000]).await, "the message ");
}

#[tokio::test]
async fn a_long_document_is_cut_in_the_sandbox() {
    let words = "Words and words and words, and no end of them. ".repeat(100);
    let rows = format!("<row>{}</row>", "<c t=\"s\"><v>0</v></c>".repeat(100)).repeat(100);
    let page = format!("<p>{words}</p>").repeat(1000);

    for (name, file) in [
        ("docx", docx("", &paragraph(&words).repeat(1000))),
        ("xlsx", xlsx(&words, &rows)),
        ("odt", odt("", &format!("<text:p>{words}</text:p>").repeat(1000))),
        ("epub", epub(&[("a", &page), ("b", "<p>never read")], &[])),
    ] {
        let read = read(FileKind::Office, file).await.expect(name);

        assert!(read.truncated && read.text.len() <= MAX_TEXT_BYTES, "{name}: {}", read.text.len());
        assert!(read.text.len() > MAX_TEXT_BYTES - 100, "{name}: {}", read.text.len());
    }
    let message = format!("Subject: {}\r\n\r\n{}", "long ".repeat(100_000), words.repeat(1000));
    let message = read(FileKind::Mail, message).await.expect("a message");
    assert!(message.truncated && message.title.is_some_and(|title| title.len() < 8 << 10));
}

#[tokio::test]
async fn what_needs_a_password_says_so() {
    let password = "the document is protected by a password, without which it cannot be read";
    let plain = docx("", &paragraph("secret"));
    let font = "<encryption><EncryptedData><CipherData><CipherReference URI=\"in/font.otf\"/></CipherData>\
                </EncryptedData></encryption>";
    let chapter = font.replace("font.otf", "one%20chapter");
    let manifest = "<manifest:manifest><manifest:encryption-data/></manifest:manifest>";

    let secret = archive::of_library("secret.docx");
    let book = epub(&[("one chapter", "secret")], &[("META-INF/encryption.xml", &chapter)]);
    let text = archive::of(&[("content.xml", "secret"), ("META-INF/manifest.xml", manifest)]);
    let mut reasons = Vec::new();
    for file in [secret, archive::claiming_encryption(plain), book, text] {
        reasons.push(read(FileKind::Office, file).await.map_or_else(|error| error.reason, |read| read.text));
    }

    assert_eq!(reasons, [password; 4]);
    let readable = epub(&[("one", "<p>No secret")], &[("META-INF/encryption.xml", font)]);
    assert_eq!(document(readable).await.1, "No secret");
}

#[tokio::test]
async fn what_is_no_whole_document_is_refused_with_a_reason() {
    let half = |name: &str| {
        let whole = archive::of_library(name);
        whole[..whole.len() / 2].to_vec()
    };
    // Renames the `Workbook` stream, so that the file belongs to another program.
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let mut installer = archive::of_library("old.xls");
    let name = utf16("Workbook");
    let at = installer.windows(name.len()).position(|bytes| bytes == name).expect("it is named");
    installer[at..at + name.len()].copy_from_slice(&utf16("MsiFiles"));

    for (file, words) in [
        (half("report.docx"), "the document is damaged: its archive cannot be unpacked"),
        (half("book.epub"), "the document is damaged: its archive cannot be unpacked"),
        (b"PK\x03\x04".to_vec(), "the document is damaged: its archive cannot be unpacked"),
        (b"no archive".to_vec(), "the document is damaged: its archive cannot be unpacked"),
        (archive::of(&[("notes.txt", "words")]), "it is an archive that holds no document"),
        (archive::of(&[("META-INF/container.xml", "<a/>")]), "its container names no package document"),
        (archive::of(&[("content.xml", "<a></a>")]), "the document holds no text that can be read"),
        (installer, "a file of another program than Word, Excel or PowerPoint"),
        (half("old.xls"), "the document is damaged: "),
    ] {
        assert_refused(read(FileKind::Office, file).await, words);
    }
}

#[tokio::test]
async fn a_document_that_unpacks_to_more_than_fits_is_given_up() {
    let spaces = " ".repeat(300 << 20);

    for (file, words) in [
        (docx("", &paragraph(&spaces)), "something that cannot be read: more than 256 MiB when unpacked"),
        (odt("", &spaces), "MiB when unpacked"),
        (epub(&[("a", &spaces)], &[]), "MiB when unpacked"),
    ] {
        assert!(file.len() < 2 << 20, "{}", file.len());
        assert_refused(read(FileKind::Office, file).await, words);
    }
    // The text before the oversized part is extracted, and marked as truncated.
    let file = epub(&[("a", "<p>At first"), ("b", &spaces), ("c", "<p>then")], &[]);
    let read = read(FileKind::Office, file).await.expect("there is text");
    assert_eq!((read.text.as_str(), read.truncated), ("At first\n\nthen", true));
}

#[tokio::test]
async fn entities_are_not_expanded_and_nothing_outside_is_read() {
    let mut declaration = "<!DOCTYPE d [<!ENTITY e0 \"ha\">".to_owned();
    for level in 1..12 {
        let inner = format!("&e{};", level - 1).repeat(10);
        write!(declaration, "<!ENTITY e{level} \"{inner}\">").expect("a text takes all");
    }
    declaration.push_str("<!ENTITY file SYSTEM \"file:///etc/passwd\">]>");
    let words = "before &e11; &file; after";
    let passwd = ("../../../../etc/passwd", "<p>a part of the archive");

    for file in
        [docx(&declaration, &paragraph(words)), odt(&declaration, &format!("<text:p>{words}</text:p>"))]
    {
        let read = read(FileKind::Office, file).await;
        let text = read.map_or_else(|error| error.reason, |read| read.text);
        assert!(text.len() < 200 && !text.contains("haha") && !text.contains("root:"), "{text}");
    }
    let (_, text) = document(epub(&[passwd, ("good", "<p>A chapter"), ("/etc/hostname", "x")], &[])).await;
    assert_eq!(text, "A chapter");
}

#[tokio::test]
async fn however_a_document_is_built_it_ends_as_text_or_as_an_error() {
    let nested = |tag: &str, count: usize| {
        format!(
            "{}bottom{}",
            format!("<{tag}>").repeat(count),
            format!("</{}>", tag.replace('>', "></")).repeat(count)
        )
    };
    let attributes: String =
        (0..200_000).map(|number| format!(" a{number}=\"b\"")).collect::<Vec<_>>().concat();
    let cells = "<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row><row r=\"1\"><c r=\"A1\"><v>2</v></c></row>";
    let long_row = format!("<row>{}</row>", "<c><v>1</v></c>".repeat(1_000_000));
    let good = docx("", &paragraph("words"));

    for (name, expected, file) in [
        (
            "deep tables",
            "nested table deeper than 100 levels",
            docx("", &nested("w:tbl><w:tr><w:tc", 50_000)),
        ),
        ("deep runs", "holds no text", docx("", &nested("w:sdt><w:sdtContent", 50_000))),
        ("deep elements", "holds no text", docx("", &nested("a", 200_000))),
        ("deep paragraphs", "bottom", odt("", &nested("text:p", 200_000))),
        ("deep page", "bottom", epub(&[("a", &nested("div", 200_000))], &[])),
        (
            "attributes",
            "words",
            docx("", &format!("<w:p{attributes}><w:r><w:t{attributes}>words</w:t></w:r></w:p>")),
        ),
        ("attributes", "words", odt("", &format!("<text:p{attributes}>words</text:p>"))),
        ("many paragraphs", "holds no text", docx("", &"<w:p/>".repeat(2_000_000))),
        ("last cell", "Sheet\n1\n2", xlsx("words", cells)),
        ("long row", "Sheet\n1\t1", xlsx("words", &long_row)),
        (
            "negative",
            "Sheet",
            xlsx(
                "words",
                "<row r=\"-1\"><c r=\"ZZZZZZZZ99999999999999\" t=\"s\"><v>99999999999</v></c></row>",
            ),
        ),
        ("small claim", "the document is damaged: ", archive::claiming_size(good.clone(), 1)),
        ("large claim", "more than 256 MiB when unpacked", archive::claiming_size(good.clone(), 0xFFFF_FFF0)),
        ("twice the same", "x\n\nx", epub(&vec![("a", "x"); 100_000], &[])),
    ] {
        check(FileKind::Office, name, file, expected).await;
    }
}

#[tokio::test]
async fn however_a_message_is_built_it_ends_as_text_or_as_an_error() {
    let forwarded =
        "Subject: x\r\nContent-Type: message/rfc822\r\n\r\n".repeat(20_000) + "Subject: inner\r\n\r\nwords";
    let addresses = "a@a.example, ".repeat(200_000);
    let nested: String = (0..20_000)
        .map(|number| format!("Content-Type: multipart/mixed; boundary=b{number}\r\n\r\n--b{number}\r\n"))
        .collect::<Vec<_>>()
        .concat();
    let parts = "--X\r\nContent-Disposition: attachment; filename=a\r\n\r\nx\r\n".repeat(100_000);

    for (name, expected, message) in [
        ("forwarded", "Subject: x\n\nSubject: x", forwarded),
        (
            "addresses",
            "To: a@a.example, a@a.example",
            format!("Subject: many\r\nTo: {addresses}\r\n\r\nwords"),
        ),
        ("nested", "Subject: nested", format!("Subject: nested\r\n{nested}\r\nwords")),
        (
            "parts",
            "Attachments: a, a",
            format!("Subject: p\r\nContent-Type: multipart/mixed; boundary=X\r\n\r\n{parts}--X--"),
        ),
        ("header", "Subject: late\n\nwords", "x: y\r\n".repeat(500_000) + "Subject: late\r\n\r\nwords"),
        ("folded", "Subject: a a", format!("Subject: {}\r\n\r\nwords", "a\r\n ".repeat(500_000))),
        ("encoded", "Subject: =?utf-8?b?", format!("Subject: {}\r\n\r\nwords", "=?utf-8?b?".repeat(100_000))),
        ("comments", "Subject: c", format!("From: {}\r\nSubject: c\r\n\r\nwords", "(".repeat(500_000))),
    ] {
        check(FileKind::Mail, name, message.into(), expected).await;
    }
}

/// Extracts a crafted file. Asserts that its text (at most 2 MiB) or the reason of a permanent failure
/// contains `expected` in its first 100 characters.
async fn check(kind: FileKind, name: &str, file: Vec<u8>, expected: &str) {
    let outcome = match read(kind, file).await {
        Ok(read) => read.text,
        Err(error) => {
            assert_eq!(error.kind, FailureKind::Permanent, "{name}");
            error.reason
        }
    };
    let beginning: String = outcome.chars().take(100).collect();
    assert!(
        beginning.contains(expected) && outcome.len() <= 2 << 20,
        "{name}: {beginning}, {}",
        outcome.len()
    );
}

#[tokio::test]
async fn no_mutation_of_a_document_or_message_harms_its_reader() {
    let extractors = installed().await;
    let mut files: Vec<_> =
        DOCUMENTS.iter().map(|name| (FileKind::Office, *name, archive::of_library(name))).collect();
    files.push((FileKind::Mail, "message", MESSAGE.as_bytes().to_vec()));
    let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
    let (mut read, mut refused) = (0, 0);

    for round in 0..30 * files.len() {
        let (kind, name, good) = &files[round % files.len()];
        let mut file = good.clone();
        match round / files.len() % 3 {
            0 => (0..=round / 16).for_each(|_| file[random.below(good.len())] = random.byte()),
            1 => file.truncate(random.below(good.len())),
            _ => drop(file.drain(random.below(good.len() / 2)..).take(random.below(200)).count()),
        }
        match extractors.extract(*kind, file.into()).await {
            Ok(_) => read += 1,
            Err(error) => {
                refused += 1;
                assert!(error.reason.starts_with("the "), "{name}, {round}: {}", error.reason);
                assert_eq!(error.kind, FailureKind::Permanent, "{name}, {round}: {}", error.reason);
            }
        }
    }

    assert!(read > 10 && refused > 10, "{read} were read and {refused} refused");
    for (kind, name, good) in files {
        assert!(extractors.extract(kind, good.into()).await.is_ok(), "{name}");
    }
}
