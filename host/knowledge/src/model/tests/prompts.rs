//! A fetched model runs as in training: with its prompts and its pooling.

use super::*;
use crate::Embedder;
use crate::embedding::{CONFIG, MODULES, SENTENCE_TRANSFORMERS, TOKENIZER, WEIGHTS, tiny_model};

/// Hub that serves the tiny model.
struct Hub {
    files: TempDir,
    _server: TestServer,
    origin: Origin,
}

impl Hub {
    async fn start() -> Self {
        let files = TempDir::new().expect("a scratch folder");
        tiny_model::write(files.path());
        let folder = files.path().to_owned();
        let server = TestServer::start(move |head| {
            let name = head.uri.path().trim_start_matches('/');
            let content = fs::read(folder.join(name)).unwrap_or_default();
            Response::new(Full::new(Bytes::from(content)))
        })
        .await;
        let origin = hub(&server, "");
        Self { files, _server: server, origin }
    }

    /// Catalogue entry with first-token pooling, and these prefixes of queries and documents.
    fn entry(&self, prompts: [&'static str; 2]) -> CatalogModel {
        let files = [CONFIG, TOKENIZER, WEIGHTS].map(|name| {
            let content = fs::read(self.files.path().join(name)).expect("it was written");
            let sha256 = hex::encode(Sha256::digest(&content)).leak();
            Pinned { name, size: content.len() as u64, sha256 }
        });
        CatalogModel {
            query_prompt: prompts[0],
            document_prompt: prompts[1],
            pooling: Pooling::FirstToken,
            ..model("tiny", Vec::from(files).leak(), None)
        }
    }

    async fn fetch(&self, prompts: [&'static str; 2]) -> (Attempt, Embedder) {
        let attempt = Attempt::of(self.entry(prompts));
        attempt.fetch(&self.origin).await.expect("it is served");
        let embedder = Embedder::open(&attempt.folder()).await.expect("it is whole");
        (attempt, embedder)
    }
}

async fn query(embedder: &Embedder, text: &str) -> Vec<f32> {
    embedder.query("ana", text.to_owned()).await.expect("the model runs")
}

async fn document(embedder: &Embedder, text: &str) -> Vec<f32> {
    embedder.documents(vec![text.to_owned()]).await.expect("the model runs").remove(0)
}

/// Largest difference between two numbers at the same position.
fn distance(one: &[f32], other: &[f32]) -> f32 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
}

const SAME: f32 = 1e-5;
const DIFFERENT: f32 = 1e-2;

#[tokio::test]
async fn prompts_stand_before_queries_and_documents() {
    let hub = Hub::start().await;
    let (_kept, prompted) = hub.fetch(["wing ", "heat layer "]).await;
    let (_kept, plain) = hub.fetch(["", ""]).await;

    let as_query = query(&prompted, "cat dog").await;
    let as_document = document(&prompted, "cat dog").await;

    assert!(distance(&as_query, &query(&plain, "wing cat dog").await) < SAME);
    assert!(distance(&as_document, &document(&plain, "heat layer cat dog").await) < SAME);
    assert!(distance(&as_query, &query(&plain, "cat dog").await) > DIFFERENT);
    assert!(distance(&as_document, &document(&plain, "cat dog").await) > DIFFERENT);
    assert!(distance(&as_query, &as_document) > DIFFERENT);
    assert_ne!(prompted.model(), plain.model());
}

#[tokio::test]
async fn a_prompt_for_queries_alone_leaves_documents_as_they_are() {
    let hub = Hub::start().await;
    let (_kept, prompted) = hub.fetch(["wing ", ""]).await;
    let (_kept, plain) = hub.fetch(["", ""]).await;

    assert!(distance(&query(&prompted, "cat").await, &query(&plain, "wing cat").await) < SAME);
    assert!(distance(&document(&prompted, "cat").await, &document(&plain, "cat").await) < SAME);
}

#[tokio::test]
async fn the_pooling_of_the_catalogue_is_used() {
    let hub = Hub::start().await;
    let (_kept, first_token) = hub.fetch(["", ""]).await;
    let mean = Embedder::open(hub.files.path()).await.expect("it is whole");

    assert!(distance(&query(&first_token, "cat dog").await, &query(&mean, "cat dog").await) > DIFFERENT);
    assert_ne!(first_token.model(), mean.model());
}

#[tokio::test]
async fn a_folder_that_lacks_what_says_how_the_model_is_used_is_not_whole() {
    let hub = Hub::start().await;
    for name in [MODULES, "1_Pooling/config.json", SENTENCE_TRANSFORMERS] {
        for change in [None, Some("{}")] {
            let (attempt, _) = hub.fetch(["wing ", ""]).await;
            assert_eq!(attempt.fetch(&hub.origin).await.expect("it is there"), Fetched::AlreadyThere);
            let path = attempt.folder().join(name);
            match change {
                None => fs::remove_file(path).expect("it was written"),
                Some(content) => fs::write(path, content).expect("it is ours"),
            }

            let error = attempt.fetch(&hub.origin).await.expect_err("it is not whole");

            assert!(matches!(error, FetchError::Occupied(_)), "{name} {change:?}: {error}");
        }
    }
}
