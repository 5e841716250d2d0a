//! Extractors, without a server around them: whatever a file does to its reader ends in the sandbox.

use std::time::{Duration, Instant};

use bytes::Bytes;
use kitbag::egress::{Egress, EgressSettings};
use kitbag::extractors::Extractors;
use kitbag::knowledge::{ExtractError, Extracted, FailureKind, FileKind, LONGEST_TEXT};
use kitbag::sandbox::{ExtractionLimits, Sandbox};
use kitbag::settings::Settings;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::harness::{extractors, pdf};

/// Compiled once for all tests of this file.
static CODE: OnceCell<TempDir> = OnceCell::const_new();

/// Extractors with the default limits.
async fn installed() -> Extractors {
    open(Settings::default().extraction_time.get(), Settings::default().extraction_memory.bytes()).await
}

async fn open(time: Duration, memory: usize) -> Extractors {
    let data = CODE.get_or_init(async || tempfile::tempdir().expect("a scratch directory")).await;
    let settings = Settings { concurrent_calls: 4, ..Settings::default() };
    let egress = Egress::new(EgressSettings::default());
    let sandbox = Sandbox::new(kitbag::app::limits(&settings), egress).expect("it starts");
    let limits = ExtractionLimits { time, memory, text: LONGEST_TEXT };
    let sandbox = sandbox.for_extractors(limits).expect("it starts");
    Extractors::open(data.path(), extractors::folder(), sandbox).await.expect("the folder is ours")
}

async fn read(kind: FileKind, file: impl Into<Bytes>) -> Result<Extracted, ExtractError> {
    let started = Instant::now();
    let outcome = installed().await.extract(kind, file.into()).await;
    println!("{:?}: {:.200}", started.elapsed(), format!("{outcome:?}"));
    outcome
}

#[tokio::test]
async fn try_all() {
    let good = pdf::with_pages("On Tides", &["The moon pulls the sea.\nTwice a day.", "The second page."]);
    for _ in 0..2 {
        let _ = read(FileKind::Pdf, good.clone()).await;
    }
    for (name, file) in [
        ("flate", pdf::flate_bomb(4_000_000)),
        ("bombs", pdf::bomb_of_bombs()),
        ("pages", pdf::self_referencing_pages()),
        ("table", pdf::self_referencing_table()),
        ("streams", pdf::self_referencing_streams()),
        ("deep", pdf::deep(100_000)),
        ("deep2", pdf::deep(2_000_000)),
        ("encrypted", pdf::encrypted()),
        ("truncated", good[..good.len() / 2].to_vec()),
        ("truncated", good[..good.len() / 3].to_vec()),
        ("head", good[..9].to_vec()),
    ] {
        println!("{name} {}", file.len());
        let _ = read(FileKind::Pdf, file).await;
    }
    let article = format!("<html><head><title>The Title - Site</title><script>evil()</script></head><body><nav>Menu</nav><article><h1>Tides</h1>{}</article></body></html>", "<p>The moon pulls the sea, and the sea follows it around the earth, twice a day, for ever and ever.</p>".repeat(20));
    let _ = read(FileKind::Html, article).await;
    for tag in ["div", "b", "p", "table", "span a=1", "ul><li", "svg"] {
        println!("{tag}");
        let _ = read(
            FileKind::Html,
            format!("<title>T</title><script>x</script>{} inside", format!("<{tag}>").repeat(100_000)),
        )
        .await;
    }
    let _ = read(FileKind::Html, "a <b>short</b> page<script>no</script>").await;
    let _ = read(FileKind::Html, "<p>many</p>".repeat(300_000)).await;
    let _ = read(FileKind::Html, (0..300_000).map(|i| format!("<p><b x={i}>many")).collect::<String>()).await;
}
