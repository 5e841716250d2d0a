mod catalog;
mod prompts;

use std::fs;
use std::fs::File;
use std::io::{Cursor, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use kitbag_base::sha256::Sha256;
use kitbag_embedding::bert::Pooling;
use kitbag_net::egress::test_server::TestServer;
use kitbag_net::egress::{Egress, EgressSettings};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::catalog::{Pinned, Wheel};
use super::*;

const CONFIG: &[u8] = b"{}";
const WEIGHTS: &[u8] = b"0123456789";

/// Files with the contents `{}` and `0123456789`.
const SMALL: [Pinned; 2] = [
    Pinned {
        name: "config.json",
        size: 2,
        sha256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    },
    Pinned {
        name: "model.safetensors",
        size: 10,
        sha256: "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882",
    },
];

const FOLDER_IN_WHEEL: &str = "small/model";

fn wheel(weights: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("config.json", CONFIG), ("model.safetensors", weights), ("../evil", b"evil")] {
        let name = format!("{FOLDER_IN_WHEEL}/{name}");
        zip.start_file(name, SimpleFileOptions::default()).expect("memory takes it");
        zip.write_all(content).expect("memory takes it");
    }
    zip.finish().expect("memory takes it").into_inner()
}

/// Pinned wheel with this content.
fn pinned(archive: &[u8]) -> Wheel {
    let sha256 = hex::encode(Sha256::digest(archive)).leak();
    Wheel { url: "https://wheels.example/m.whl", folder: FOLDER_IN_WHEEL, size: archive.len() as u64, sha256 }
}

/// Model with these files, without settings.
fn model(name: &'static str, files: &'static [Pinned], wheel: Option<Wheel>) -> CatalogModel {
    CatalogModel {
        name,
        repository: "somebody/small",
        revision: "0",
        license: "MIT",
        dimensions: 16,
        languages: "English",
        query_prompt: "",
        document_prompt: "",
        pooling: Pooling::Mean,
        files,
        wheel,
    }
}

struct Attempt {
    data: TempDir,
    model: &'static CatalogModel,
}

impl Attempt {
    fn of(model: CatalogModel) -> Self {
        let data = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir();
        Self { data: data.expect("a scratch folder"), model: Box::leak(Box::new(model)) }
    }

    fn at(wheel: Wheel) -> Self {
        Self::of(model("small", &SMALL, Some(wheel)))
    }

    async fn fetch(&self, origin: &Origin) -> Result<Fetched, FetchError> {
        let egress = Egress::new(EgressSettings::default());
        fetch(&egress, self.data.path(), self.model, origin, |_, _| {}).await
    }

    fn folder(&self) -> PathBuf {
        folder(self.data.path(), self.model)
    }

    fn is_installed(&self) -> bool {
        let read = |name| fs::read(self.folder().join(name)).unwrap_or_default();
        read("config.json") == CONFIG && read("model.safetensors") == WEIGHTS
    }

    fn is_untouched(&self) -> bool {
        !self.folder().exists()
    }
}

async fn serving(archive: Vec<u8>) -> (TestServer, Origin) {
    let server = TestServer::start(move |head| {
        let mut response = Response::new(Full::new(match head.uri.path() {
            "/m.whl" => Bytes::from(archive.clone()),
            "/hub/config.json" | "/cut/config.json" => Bytes::from_static(CONFIG),
            "/cut/model.safetensors" => Bytes::from_static(&WEIGHTS[..5]),
            "/elsewhere" => Bytes::from_static(WEIGHTS),
            _ => Bytes::new(),
        }));
        if head.uri.path() == "/hub/model.safetensors" {
            *response.status_mut() = StatusCode::FOUND;
            response.headers_mut().insert(header::LOCATION, "/elsewhere".parse().expect("a URL"));
        } else if head.uri.path().starts_with("/gone") {
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        response
    })
    .await;
    let origin = Origin::Wheel(format!("{}/m.whl", server.origin()).parse().expect("a URL"));
    (server, origin)
}

/// Origin with the files under a path of the server.
fn hub(server: &TestServer, path: &str) -> Origin {
    Origin::Hub(format!("{}{path}", server.origin()).parse().expect("a URL"))
}

#[tokio::test]
async fn the_model_is_fetched_once() {
    let archive = wheel(WEIGHTS);
    let attempt = Attempt::at(pinned(&archive));
    let (server, origin) = serving(archive).await;

    let first = attempt.fetch(&origin).await.expect("it is served");
    let second = attempt.fetch(&origin).await.expect("it is there");

    assert_eq!((first, second), (Fetched::New, Fetched::AlreadyThere));
    assert!(attempt.is_installed());
    assert_eq!(attempt.folder(), attempt.data.path().join("models/small"));
    assert_eq!(server.hits("/m.whl"), 1);
    let files = fs::read_dir(attempt.folder()).expect("it is there").count();
    assert_eq!(files, 2, "nothing but the named files is unpacked");
    assert!(remove(attempt.data.path(), attempt.model).expect("it is ours") && attempt.is_untouched());
}

#[tokio::test]
async fn a_file_and_a_hub_that_redirects_are_as_good() {
    let archive = wheel(WEIGHTS);
    let (server, _) = serving(archive.clone()).await;
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    fs::write(file.path(), &archive).expect("it is ours");

    for origin in [Origin::WheelFile(file.path().to_owned()), hub(&server, "/hub/")] {
        let attempt = Attempt::at(pinned(&archive));

        attempt.fetch(&origin).await.expect("it is there");

        assert!(attempt.is_installed(), "{origin:?}");
    }
}

#[tokio::test]
async fn what_is_not_the_model_is_never_installed() {
    let good = wheel(WEIGHTS);
    let evil = wheel(b"9876543210");
    let bomb = wheel(&vec![0; 1 << 20]);
    let mut cut = good.clone();
    cut.truncate(good.len() / 2);
    let mut longer = good.clone();
    longer.push(0);
    for (served, pin, expected) in [
        (evil.clone(), pinned(&good), "SHA-256"),
        (cut.clone(), pinned(&good), "broke off"),
        (longer, pinned(&good), "larger"),
        (evil.clone(), pinned(&evil), "SHA-256"),
        (bomb.clone(), pinned(&bomb), "has more than 10 bytes"),
        (cut.clone(), pinned(&cut), "archive"),
    ] {
        let attempt = Attempt::at(pin);
        let (_server, origin) = serving(served).await;

        let error = attempt.fetch(&origin).await.expect_err(expected).to_string();

        assert!(error.contains(expected), "{expected}: {error}");
        assert!(attempt.is_untouched(), "{expected}");
    }
}

#[tokio::test]
async fn a_file_of_a_hub_that_ends_early_is_not_installed_and_its_size_is_told() {
    let attempt = Attempt::of(model("small", &SMALL, None));
    let (server, _) = serving(Vec::new()).await;

    let error = attempt.fetch(&hub(&server, "/cut")).await.expect_err("it ends early").to_string();

    assert!(error.contains("model.safetensors") && error.contains("has 5 bytes, of at most 10"), "{error}");
    assert!(attempt.is_untouched());
}

#[tokio::test]
async fn a_model_that_is_in_no_wheel_is_taken_from_none() {
    let archive = wheel(WEIGHTS);
    let attempt = Attempt::of(model("small", &SMALL, None));
    let (server, origin) = serving(archive).await;

    let error = attempt.fetch(&origin).await.expect_err("its hash is not known");

    assert!(matches!(error, FetchError::NoWheel("small")), "{error}");
    assert!(attempt.is_untouched() && server.received().is_empty());
}

#[tokio::test]
async fn a_server_without_the_file_is_told_of() {
    let attempt = Attempt::at(pinned(b""));
    let (server, _) = serving(Vec::new()).await;

    let error = attempt.fetch(&hub(&server, "/gone")).await.expect_err("it is not there").to_string();

    assert!(error.contains("404") && error.contains("/gone/config.json"), "{error}");
}

#[tokio::test]
async fn what_a_fetch_that_was_killed_has_left_is_in_nobodys_way() {
    let archive = wheel(WEIGHTS);
    let attempt = Attempt::at(pinned(&archive));
    let part = attempt.data.path().join("model.part");
    fs::create_dir(&part).expect("it is ours");
    fs::write(part.join("config.json"), b"half").expect("it is ours");
    let (_server, origin) = serving(archive).await;

    attempt.fetch(&origin).await.expect("it is served");

    assert!(attempt.is_installed() && !part.exists());
}

#[tokio::test]
async fn another_model_is_not_overwritten() {
    let archive = wheel(WEIGHTS);
    let attempt = Attempt::at(pinned(&archive));
    let place = attempt.folder();
    fs::create_dir_all(&place).expect("it is ours");
    fs::write(place.join("config.json"), b"mine").expect("it is ours");
    let (server, origin) = serving(archive).await;

    let error = attempt.fetch(&origin).await.expect_err("it is another");

    assert!(matches!(error, FetchError::Occupied(_)));
    assert_eq!(fs::read(place.join("config.json")).expect("it is there"), b"mine");
    assert_eq!(server.received().len(), 0);
}

#[tokio::test]
async fn two_do_not_fetch_at_once() {
    let archive = wheel(WEIGHTS);
    let attempt = Attempt::at(pinned(&archive));
    let lock = File::create(attempt.data.path().join("model.lock")).expect("it is ours");
    lock.lock().expect("nobody has it");
    let (_server, origin) = serving(archive).await;

    assert!(matches!(attempt.fetch(&origin).await, Err(FetchError::UnderWay(_))));
    drop(lock);
    assert!(attempt.fetch(&origin).await.is_ok());
}

#[tokio::test]
async fn progress_is_told() {
    let archive = wheel(WEIGHTS);
    let attempt = Attempt::at(pinned(&archive));
    let (_server, origin) = serving(archive.clone()).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let egress = Egress::new(EgressSettings::default());
    let mut last = (0, 0);

    let told = calls.clone();
    let progress = |done, total| {
        told.fetch_add(1, Ordering::Relaxed);
        last = (done, total);
    };
    fetch(&egress, attempt.data.path(), attempt.model, &origin, progress).await.expect("it is served");

    let size = archive.len() as u64;
    assert_eq!(last, (size, size));
    assert!(calls.load(Ordering::Relaxed) >= 2);
}
