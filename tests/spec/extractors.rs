//! Extractors without a server: no file can affect anything outside the sandbox.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kitbag::settings::Settings;
use kitbag_base::disk::Disk;
use kitbag_knowledge::{Extracted, FailureKind, FileKind, MAX_TEXT_BYTES};
use kitbag_sandbox::compiler::{CompileLimits, Compiler};
use kitbag_sandbox::extractors::Extractors;
use kitbag_sandbox::{Background, ExtractionLimits, ExtractorSandbox};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::compiling::{bomb, endless};
use crate::harness::{compiler_program, extractors, pdf, within};

/// Data directory with the extractors' machine code, compiled once for all tests of this file.
static CODE: OnceCell<TempDir> = OnceCell::const_new();

#[tokio::test]
async fn a_pdf_is_read_page_by_page_with_its_title() {
    let file = pdf::with_pages("On Tides", &["The moon pulls the sea.\nTwice a day.", "The second page."]);

    let read = installed().await.extract(FileKind::Pdf, file.into()).await;

    let text = "The moon pulls the sea.\nTwice a day.\n\nThe second page.".to_owned();
    assert_eq!(read, Ok(Extracted { title: Some("On Tides".to_owned()), text, truncated: false }));
}

#[tokio::test]
async fn of_a_page_its_article_is_read_and_neither_script_nor_menu() {
    let words = "<p>The moon pulls the sea, and the sea follows it around the earth, twice a day.</p>";
    let page = format!(
        "<html><head><title>Tides</title><style>p {{}}</style></head><body><nav><a href=/>Home</a></nav>\
         <article><h1>Of tides</h1>{}<script>track()</script></article><footer>Imprint</footer></body></html>",
        words.repeat(20)
    );

    let read = installed().await.extract(FileKind::Html, page.into()).await.expect("a page");

    assert_eq!(read.title.as_deref(), Some("Tides"));
    assert!(read.text.contains("twice a day.\n\nThe moon"), "{}", read.text);
    for word in ["track", "Home", "Imprint", "<p>"] {
        assert!(!read.text.contains(word), "{word} in {}", read.text);
    }
}

#[tokio::test]
async fn however_deeply_a_page_nests_its_text_is_read() {
    let extractors = installed().await;

    for tag in ["div", "b", "p", "table", "span a=1", "ul><li", "svg", "template"] {
        let tags = format!("<{tag}>").repeat(100_000);
        let page = format!("<title>Deep</title><script>evil()</script>{tags} the bottom");

        let read = extractors.extract(FileKind::Html, page.into()).await.expect("a page");

        assert_eq!((read.title.as_deref(), read.text.trim()), (Some("Deep"), "the bottom"), "{tag}");
    }
}

#[tokio::test]
async fn however_many_attributes_a_tag_has_its_page_is_read_in_time() {
    let extractors = installed().await;
    let attributes = (0..300_000).map(|number| format!(" a{number}=1")).collect::<Vec<_>>().concat();

    for page in [
        format!("<p{attributes}>the text"),
        format!("</p{attributes}>the text"),
        format!("<title{attributes}>Title</title>the text"),
        // Tag or text, depending on the enclosing elements.
        format!("<svg><style><p{attributes}></style></svg>the text"),
        format!("<svg><style><p x=\"</style>\"{attributes}></svg>the text"),
        format!("<noscript><p x=\"</noscript><b{attributes}>\"></noscript>the text"),
        format!("<!--><p{attributes}>the text"),
        format!("<!doctype html <p{attributes}>the text"),
    ] {
        let read = extractors.extract(FileKind::Html, page.clone().into()).await;

        let read = read.unwrap_or_else(|error| panic!("{}: {}", &page[..30], error.reason));
        assert!(read.text.contains("the text"), "{}: {}", &page[..30], read.text);
    }
}

#[tokio::test]
async fn formatting_that_is_never_closed_is_not_repeated_in_each_paragraph() {
    let open = (0..400).map(|number| format!("<font color={number}>")).collect::<Vec<_>>().concat();
    let page = format!("{open}{}", "<p>words and words".repeat(50_000));

    let read = installed().await.extract(FileKind::Html, page.into()).await.expect("a page");

    assert!(read.text.starts_with("words and words\n\nwords"), "{}", &read.text[..100]);
}

#[tokio::test]
async fn what_looks_like_a_tag_is_text() {
    let page = "<title>1 < 2</title><p title=\"<p>\">a < b <!-- > <p>x -->c</p>\
                <script>if (a<b) { '<p>y' }</script><p>a&lt;b</p>";

    let read = installed().await.extract(FileKind::Html, page.into()).await.expect("a page");

    assert_eq!(read.title.as_deref(), Some("1 < 2"));
    assert_eq!(read.text.split_whitespace().collect::<Vec<_>>().join(" "), "a < b c a<b");
}

#[tokio::test]
async fn a_long_text_is_cut_in_the_sandbox() {
    let page = "<p>Words and words and words, and no end of them.</p>".repeat(120_000);

    let read = installed().await.extract(FileKind::Html, page.into()).await.expect("a page");

    assert!(read.truncated && read.text.len() <= MAX_TEXT_BYTES && read.text.len() > MAX_TEXT_BYTES - 4);
}

#[tokio::test]
async fn a_file_that_takes_too_long_or_too_much_is_given_up() {
    let short_of_time = open(Duration::from_millis(50), 512 << 20).await;
    let short_of_memory = open(Duration::from_mins(1), 16 << 20).await;
    let page = "<p>Words and words.</p>".repeat(1_000_000);

    let too_long =
        short_of_time.extract(FileKind::Html, page.clone().into()).await.expect_err("it takes longer");
    let too_much = short_of_memory.extract(FileKind::Html, page.into()).await.expect_err("it needs more");

    assert_eq!(too_long.reason, "the page takes longer to read than a file may take (0.05 s)");
    assert_eq!(too_much.reason, "the page needs more memory than a file may use (16 MiB)");
    assert_eq!((too_long.kind, too_much.kind), (FailureKind::Permanent, FailureKind::Permanent));
}

#[tokio::test]
async fn no_mutation_of_a_pdf_harms_its_reader() {
    let extractors = installed().await;
    let good = pdf::with_pages("On Tides", &["The moon pulls the sea.", "Twice a day.", "The third page."]);
    let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
    let (mut read, mut refused) = (0, 0);

    for round in 0..120 {
        let mut file = good.clone();
        match round % 4 {
            0 => (0..=round / 8).for_each(|_| file[random.below(good.len())] = random.byte()),
            1 => file.truncate(random.below(good.len())),
            2 => drop(file.drain(random.below(good.len() / 2)..).take(random.below(200)).count()),
            _ => {
                // Digits occur in offsets, lengths, references and counts.
                for byte in file.iter_mut().filter(|byte| byte.is_ascii_digit()) {
                    if random.below(20) == 0 {
                        *byte = b'0' + random.byte() % 10;
                    }
                }
            }
        }
        let started = Instant::now();
        match extractors.extract(FileKind::Pdf, file.into()).await {
            Ok(_) => read += 1,
            Err(error) => {
                refused += 1;
                assert!(error.reason.starts_with("the PDF "), "{round}: {}", error.reason);
                assert_eq!(error.kind, FailureKind::Permanent, "{round}: {}", error.reason);
            }
        }
        assert!(started.elapsed() < Duration::from_mins(1), "{round}: {:?}", started.elapsed());
    }

    assert!(read > 10 && refused > 10, "{read} were read and {refused} refused");
    assert!(extractors.extract(FileKind::Pdf, good.into()).await.is_ok());
}

#[tokio::test]
async fn an_extractor_that_would_be_compiled_without_end_is_given_up() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let data = tempfile::tempdir().expect("a scratch directory");
    std::fs::write(folder.path().join("pdf.wasm"), bomb()).expect("the folder is ours");
    std::fs::write(folder.path().join("html.wasm"), endless()).expect("the folder is ours");
    let limits = CompileLimits::new(Duration::from_secs(1), 1 << 30);
    let sandbox = sandbox(Duration::from_secs(1), 1 << 20);
    let extractors = open_with(limits, data.path(), folder.path(), sandbox).await;

    for (kind, reason) in
        [(FileKind::Pdf, "pdf.wasm cannot be used"), (FileKind::Html, "html.wasm cannot be used")]
    {
        let error = within("the extractor", extractors.extract(kind, Bytes::from("x"))).await;
        let error = error.expect_err("it is a bomb");
        assert!(error.reason.contains(reason), "{}", error.reason);
        assert_eq!(error.kind, FailureKind::NoExtractor);
    }
}

#[tokio::test]
async fn what_lies_in_the_folder_and_is_no_extractor_is_told_from_one_that_is_missing() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let data = tempfile::tempdir().expect("a scratch directory");
    let probe = crate::harness::guests::PROBE.path();
    std::fs::copy(probe, folder.path().join("pdf.wasm")).expect("the toolkit is there");
    std::fs::write(folder.path().join("html.wasm"), "no component").expect("the folder is ours");
    let extractors = open_in(data.path(), folder.path(), sandbox(Duration::from_secs(1), 1 << 20)).await;

    for (kind, reason) in
        [(FileKind::Pdf, "pdf.wasm cannot be used"), (FileKind::Html, "html.wasm cannot be used")]
    {
        let error = extractors.extract(kind, Bytes::from("x")).await.expect_err("it is none");
        assert!(error.reason.contains(reason), "{}", error.reason);
        assert_eq!(error.kind, FailureKind::NoExtractor);
    }
    std::fs::remove_file(folder.path().join("pdf.wasm")).expect("the folder is ours");
    let error = extractors.extract(FileKind::Pdf, Bytes::from("x")).await.expect_err("there is none");
    assert!(error.reason.starts_with("no extractor for application/pdf is installed"), "{}", error.reason);
}

/// Opens the extractors with the default limits.
pub(crate) async fn installed() -> Extractors {
    let settings = Settings::default();
    open(settings.bounds.extraction_time, settings.extraction_memory.bytes()).await
}

pub(crate) async fn open(time: Duration, memory: usize) -> Extractors {
    let data = CODE.get_or_init(compile).await;
    open_in(data.path(), &extractors::folder(), sandbox(time, memory)).await
}

async fn open_in(data: &Path, folder: &Path, sandbox: ExtractorSandbox) -> Extractors {
    open_with(kitbag::app::compile_limits(&Settings::default()), data, folder, sandbox).await
}

async fn open_with(
    limits: CompileLimits,
    data: &Path,
    folder: &Path,
    sandbox: ExtractorSandbox,
) -> Extractors {
    let compiler = Compiler::new(compiler_program(), limits, Disk::unwatched(), CancellationToken::new());
    let extractors = Extractors::open(data, folder.to_owned(), sandbox, compiler);
    extractors.await.expect("the folder is ours")
}

/// Compiles the extractors; returns the data directory with their machine code.
async fn compile() -> TempDir {
    let data = tempfile::tempdir().expect("a scratch directory");
    let first = open_in(data.path(), &extractors::folder(), sandbox(Duration::from_secs(1), 64 << 20)).await;
    for kind in FileKind::ALL {
        // The result is irrelevant: the call compiles the extractor.
        drop(first.extract(kind, Bytes::from("x")).await);
    }
    data
}

fn sandbox(time: Duration, memory: usize) -> ExtractorSandbox {
    let background = Background::start().expect("threads can be started");
    let limits = ExtractionLimits { time, memory, text: MAX_TEXT_BYTES };
    ExtractorSandbox::new(limits, background).expect("it starts")
}

/// Pseudorandom numbers from a fixed seed (Marsaglia, 2003).
pub(crate) struct Xorshift(pub(crate) u64);

impl Xorshift {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % limit.max(1)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).expect("a byte")
    }
}
