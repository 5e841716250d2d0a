use std::fs;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use kitbag_base::sha256::Sha256;
use kitbag_net::egress::test_server::TestServer;
use kitbag_net::egress::{Egress, EgressSettings};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a scratch folder");
    tiny_model::write(folder.path());
    folder
}

/// Model folder with these prompts.
fn folder_with(prompts: &Value) -> TempDir {
    let folder = folder();
    let config =
        json!({ "__version__": { "pytorch": "2" }, "prompts": prompts, "default_prompt_name": null });
    fs::write(folder.path().join(SENTENCE_TRANSFORMERS), config.to_string()).expect("it is ours");
    folder
}

fn id(folder: &TempDir) -> String {
    Local::open(folder.path()).expect("it is whole").bert.id.clone()
}

async fn local() -> Embedder {
    Embedder::open(folder().path()).await.expect("the model is whole")
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

#[track_caller]
fn assert_near(one: &[f32], other: &[f32]) {
    assert_eq!(one.len(), other.len());
    assert!(one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-5), "{one:?}\n{other:?}");
}

#[tokio::test]
async fn every_vector_has_the_length_one_and_is_the_same_in_any_company() {
    let embedder = local().await;
    let long = "heat ".repeat(200);
    let all = texts(["wing flow", &long, "cat", "", "moon dog layer shock"]);

    let together = embedder.documents(all.clone()).await.expect("the model runs");

    assert_eq!(together.len(), all.len());
    for (text, vector) in all.into_iter().zip(&together) {
        assert_eq!(vector.len(), tiny_model::DIMENSIONS);
        assert!((vector.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-5, "{text}");
        assert_near(vector, &embedder.query("ana", text).await.expect("the model runs"));
    }
}

#[tokio::test]
async fn the_model_reads_256_tokens_whatever_its_file_says() {
    let embedder = local().await;
    // Two tokens are special tokens of the model.
    let fits = format!("{} cat", "wing ".repeat(253));
    let [one, other] = [format!("{fits} dog"), format!("{fits} moon heat")];

    let vectors =
        embedder.documents(vec![fits, one, other, "wing ".repeat(130)]).await.expect("the model runs");

    assert_near(&vectors[0], &vectors[1]);
    assert_near(&vectors[1], &vectors[2]);
    // Truncation to 128 tokens would give the same beginning.
    assert!(vectors[0].iter().zip(&vectors[3]).any(|(one, other)| (one - other).abs() > 1e-4));
}

#[tokio::test]
async fn the_name_of_a_model_is_made_of_what_it_computes() {
    let one = folder();
    let same = folder();
    let other = folder();
    let config = fs::read_to_string(other.path().join("config.json")).expect("it was written");
    fs::write(other.path().join("config.json"), config.replace("\"gelu\"", "\"relu\"")).expect("it is ours");

    let [one, same, other] =
        [one, same, other].map(|folder| Local::open(folder.path()).expect("it is whole").bert);

    assert!(one.id.starts_with("local:") && one.id.len() == 22, "{}", one.id);
    assert_eq!(one.id, same.id);
    assert_ne!(one.id, other.id);
}

#[test]
fn only_prompts_change_the_name_that_a_model_had_before_there_were_any() {
    let plain = folder();
    let read = |name: &str| fs::read(plain.path().join(name)).expect("it was written");
    let parts = [b"2".to_vec(), b"Mean 256".to_vec(), read(CONFIG), read(TOKENIZER), read(WEIGHTS)];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let before = format!("local:{}", hex::encode(&hash.finish()[..8]));

    assert_eq!(id(&plain), before);
    for none in
        [Value::Null, json!({}), json!({ "query": "", "document": "" }), json!({ "clustering": "cat " })]
    {
        assert_eq!(id(&folder_with(&none)), before, "{none}");
    }
    let mut ids = vec![before];
    for prompts in [
        json!({ "query": "cat " }),
        json!({ "document": "cat " }),
        json!({ "query": "cat ", "document": "cat " }),
        json!({ "query": "cat cat " }),
    ] {
        ids.push(id(&folder_with(&prompts)));
        assert!(!ids[..ids.len() - 1].contains(&ids[ids.len() - 1]), "{prompts}: {ids:?}");
    }
}

#[tokio::test]
async fn the_prompt_for_documents_has_one_of_three_names() {
    let plain = local().await;
    for (prompts, expected) in [
        (json!({ "corpus": "cat ", "passage": "cat ", "document": "heat " }), "heat wing"),
        (json!({ "corpus": "cat ", "passage": "heat " }), "heat wing"),
        (json!({ "corpus": "heat " }), "heat wing"),
        (json!({ "query": "cat " }), "wing"),
    ] {
        let prompted = Embedder::open(folder_with(&prompts).path()).await.expect("it is whole");

        let vectors = prompted.documents(texts(["wing"])).await.expect("the model runs");

        let expected = plain.documents(texts([expected])).await.expect("the model runs");
        assert_near(&vectors[0], &expected[0]);
    }
}

#[test]
fn prompts_that_are_too_long_or_cannot_be_left_out_are_refused() {
    let refused = |folder: &TempDir| Local::open(folder.path()).err().map(|error| error.to_string());
    for (prompts, expected) in [
        (json!({ "query": "x".repeat(1024), "document": "wing ".repeat(192) }), None),
        (json!({ "query": "x".repeat(1025) }), Some("\"query\" has 1025 bytes")),
        (json!({ "passage": "é".repeat(513) }), Some("\"passage\" has 1026 bytes")),
        (json!({ "document": "wing ".repeat(193) }), Some("193 tokens")),
        (json!({ "query": "wing ".repeat(193) }), Some("193 tokens")),
        (json!(["query"]), Some("invalid type")),
    ] {
        let error = refused(&folder_with(&prompts));

        assert_eq!(error.is_some(), expected.is_some(), "{error:?}");
        if let (Some(error), Some(expected)) = (error, expected) {
            assert!(error.contains(SENTENCE_TRANSFORMERS) && error.contains(expected), "{error}");
        }
    }
    for (prompts, is_refused) in [(json!({}), false), (json!({ "query": "cat " }), true)] {
        let folder = folder_with(&prompts);
        fs::create_dir(folder.path().join("1_Pooling")).expect("it is ours");
        let modules = json!([{ "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" }]);
        let pooling = json!({ "pooling_mode_mean_tokens": true, "include_prompt": false });
        fs::write(folder.path().join(MODULES), modules.to_string()).expect("it is ours");
        fs::write(folder.path().join("1_Pooling/config.json"), pooling.to_string()).expect("it is ours");

        assert_eq!(refused(&folder).is_some(), is_refused, "{prompts}");
    }
}

#[test]
fn a_broken_folder_is_refused_with_the_name_of_the_file() {
    let cases: [(&str, Option<&str>, &str); 9] = [
        ("config.json", None, "there is no such file"),
        ("config.json", Some("{"), "EOF"),
        ("config.json", Some(r#"{"model_type":"roberta"}"#), "missing field"),
        ("tokenizer.json", None, "there is no such file"),
        ("tokenizer.json", Some("{}"), ""),
        ("model.safetensors", None, "there is no such file"),
        ("model.safetensors", Some("version https://git-lfs.github.com/spec/v1"), ""),
        ("config_sentence_transformers.json", Some("{"), "EOF"),
        (
            "modules.json",
            Some(r#"[{"path":"2_Dense","type":"sentence_transformers.models.Dense"}]"#),
            "Dense",
        ),
    ];
    for (file, content, expected) in cases {
        let folder = folder();
        let path = folder.path().join(file);
        match content {
            Some(content) => fs::write(&path, content).expect("it is ours"),
            None => fs::remove_file(&path).expect("it was written"),
        }

        let error = Local::open(folder.path()).err().expect("it is broken").to_string();

        assert!(error.contains(file) && error.contains(expected), "{file}: {error}");
    }
}

#[test]
fn a_model_whose_weights_are_cut_short_or_of_another_model_is_refused() {
    let cut = folder();
    let weights = fs::read(cut.path().join(folder::WEIGHTS)).expect("it was written");
    fs::write(cut.path().join(folder::WEIGHTS), &weights[..weights.len() / 2]).expect("it is ours");
    let other = folder();
    let mut config = tiny_model::config();
    config["hidden_size"] = json!(64);
    fs::write(other.path().join(folder::CONFIG), config.to_string()).expect("it is ours");

    for folder in [cut, other] {
        let error = Local::open(folder.path()).err().expect("it is broken").to_string();

        assert!(error.contains(folder::WEIGHTS), "{error}");
    }
}

#[tokio::test]
async fn a_query_does_not_wait_for_documents() {
    let embedder = local().await;
    let documents = tokio::spawn({
        let embedder = embedder.clone();
        async move { embedder.documents(vec!["wing ".repeat(254); 20_000]).await.map(|vectors| vectors.len()) }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let started = Instant::now();

    embedder.query("ana", "cat".to_owned()).await.expect("the model runs");

    let took = started.elapsed();
    assert!(!documents.is_finished(), "the documents were too few to be in the way");
    assert!(took < Duration::from_secs(5), "{took:?}");
    documents.abort();
}

/// Service that always responds with `answer`; the server records the requests.
async fn service(status: StatusCode, answer: Value) -> (TestServer, Embedder) {
    let server = TestServer::start(move |_| {
        let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
        *response.status_mut() = status;
        response
    })
    .await;
    let endpoint = Endpoint {
        url: format!("{}/v1/embeddings", server.origin()).parse().expect("a URL"),
        model: "small".to_owned(),
        key: Some(SecretString::from("sk-hunter2")),
    };
    assert!(!format!("{endpoint:?}").contains("hunter2"));
    (server, Embedder::remote(Egress::new(EgressSettings::default()), endpoint))
}

fn embeddings(items: &[(usize, &[f32])]) -> Value {
    let data: Vec<_> =
        items.iter().map(|(index, embedding)| json!({ "index": index, "embedding": embedding })).collect();
    json!({ "object": "list", "data": data, "model": "small" })
}

#[tokio::test]
async fn a_service_is_asked_as_openai_is_and_its_vectors_are_put_in_order() {
    let answer = embeddings(&[(1, &[0.0, 5.0]), (0, &[3.0, 4.0])]);
    let (server, embedder) = service(StatusCode::OK, answer).await;

    let vectors = embedder.documents(texts(["one", "two"])).await.expect("it answers");

    assert_near(&vectors[0], &[0.6, 0.8]);
    assert_near(&vectors[1], &[0.0, 1.0]);
    assert_eq!(embedder.model(), "remote:small");
    let (head, body) = server.received().pop().expect("it was asked");
    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/v1/embeddings"));
    assert_eq!(head.headers["authorization"], "Bearer sk-hunter2");
    let body: Value = serde_json::from_slice(&body).expect("it is JSON");
    assert_eq!(body, json!({ "model": "small", "input": ["one", "two"], "encoding_format": "float" }));
}

#[tokio::test]
async fn many_documents_are_several_requests() {
    let numbers = (0..32).map(|index| (index, [1.0_f32].as_slice())).collect::<Vec<_>>();
    let (server, embedder) = service(StatusCode::OK, embeddings(&numbers)).await;

    let vectors = embedder.documents(vec!["text".to_owned(); 64]).await.expect("it answers");

    assert_eq!((vectors.len(), server.received().len()), (64, 2));
}

#[tokio::test]
async fn a_wrong_answer_is_an_error_and_no_vector() {
    for answer in [
        embeddings(&[]),
        embeddings(&[(0, &[1.0]), (1, &[1.0])]),
        embeddings(&[(1, &[1.0])]),
        embeddings(&[(0, &[])]),
        embeddings(&[(0, &[0.0, 0.0])]),
        embeddings(&[(0, &vec![1.0; 8193])]),
        json!({ "data": [{ "index": 0, "embedding": [1e39] }] }),
        json!({ "data": [{ "index": 0, "embedding": "AAAA" }] }),
        json!("sk-hunter2"),
    ] {
        let what = answer.to_string();
        let (_server, embedder) = service(StatusCode::OK, answer).await;

        let error = embedder.query("ana", "text".to_owned()).await.expect_err(&what);

        assert!(matches!(error, EmbedError::Answer(_)) && !error.is_transient(), "{what}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn the_size_of_vectors_does_not_change() {
    let answer = embeddings(&[(0, &[1.0, 0.0]), (1, &[1.0])]);
    let (_server, embedder) = service(StatusCode::OK, answer).await;

    let error = embedder.documents(texts(["one", "two"])).await.expect_err("they cannot be compared");

    assert!(error.to_string().contains("2 numbers"), "{error}");
}

#[tokio::test]
async fn only_errors_that_pass_are_worth_another_try() {
    for (status, is_transient) in [
        (StatusCode::TOO_MANY_REQUESTS, true),
        (StatusCode::SERVICE_UNAVAILABLE, true),
        (StatusCode::UNAUTHORIZED, false),
        (StatusCode::BAD_REQUEST, false),
        (StatusCode::FOUND, false),
    ] {
        let (_server, embedder) = service(status, json!({ "error": "sk-hunter2 is wrong" })).await;

        let error = embedder.query("ana", "text".to_owned()).await.expect_err("an error");

        assert_eq!(error.is_transient(), is_transient, "{error}");
        assert_eq!(error.is_configuration(), status == StatusCode::UNAUTHORIZED, "{error}");
        assert!(
            error.to_string().contains(status.as_str()) && !error.to_string().contains("hunter2"),
            "{error}"
        );
    }
    let (server, embedder) = service(StatusCode::OK, Value::Null).await;
    drop(server);
    assert!(embedder.query("ana", "text".to_owned()).await.expect_err("nobody answers").is_transient());
}
