//! Measures the three rankings on a collection in BEIR layout: `KITBAG_COLLECTION` names its folder,
//! `KITBAG_TEST_MODEL` that of a model. `just bench-search` does so through the API of a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use super::library::{Library, note};
use super::*;
use crate::knowledge::NewDocument;

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

fn entries(path: PathBuf) -> Vec<Entry> {
    let lines = fs::read_to_string(path).expect("a collection in BEIR layout");
    lines.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

fn ndcg(ranking: &[Candidate], relevant: &BTreeMap<i64, f64>) -> f64 {
    let gain = |(rank, gain): (i32, f64)| gain / f64::from(rank + 1).log2();
    let found =
        ranking.iter().take(10).map(|found| relevant.get(&found.document).copied().unwrap_or_default());
    let mut ideal: Vec<_> = relevant.values().copied().collect();
    ideal.sort_by(|one, other| other.total_cmp(one));
    let ideal: f64 = (1..).zip(ideal.into_iter().take(10)).map(gain).sum();
    (1..).zip(found).map(gain).sum::<f64>() / ideal
}

#[tokio::test]
#[ignore = "needs a collection and a model, and minutes"]
async fn the_fused_ranking_is_better_than_either() {
    let folder = PathBuf::from(std::env::var_os("KITBAG_COLLECTION").expect("KITBAG_COLLECTION is set"));
    let model = PathBuf::from(std::env::var_os("KITBAG_TEST_MODEL").expect("KITBAG_TEST_MODEL is set"));
    let library = Library::with(&model).await;
    let started = Instant::now();
    let mut documents = Vec::new();
    for Entry { id, title, text } in entries(folder.join("corpus.jsonl")) {
        // The name keeps apart what has the same text.
        documents.push(NewDocument {
            url: Some(format!("https://collection.example/{id}")),
            ..note(&title, &text)
        });
    }
    for documents in documents.chunks(100) {
        library.add_from("user", "ana", documents.to_vec()).await;
    }
    let numbers: Vec<(String, i64)> = sqlx::query_as("SELECT url, sequence FROM documents")
        .fetch_all(&library.database.readers)
        .await
        .expect("they are there");
    let sequences: BTreeMap<_, _> = numbers
        .into_iter()
        .filter_map(|(url, sequence)| Some((url.rsplit('/').next()?.to_owned(), sequence)))
        .collect();
    eprintln!("{} documents in {:?}", sequences.len(), started.elapsed());
    let mut relevant = BTreeMap::<String, BTreeMap<i64, f64>>::new();
    for line in fs::read_to_string(folder.join("qrels/test.tsv")).expect("judgements").lines().skip(1) {
        let fields: Vec<_> = line.split('\t').collect();
        let grade: f64 = fields[2].parse().expect("a number");
        if grade > 0.0 {
            let sequence = sequences.get(fields[1]).copied().unwrap_or(-1);
            relevant.entry(fields[0].to_owned()).or_default().insert(sequence, grade);
        }
    }

    let embedder = library.embedder.clone().expect("there is a model");
    let mut sums = [0.0; 3];
    let mut times = Vec::new();
    for Entry { id, text, .. } in entries(folder.join("queries.jsonl")) {
        let Some(relevant) = relevant.get(&id) else { continue };
        let entry = library.search().indexes.fresh("ana").await.expect("an index");
        let by_words = bm25::rank(&entry.read(), &words::of_query(&text), None, DEPTH);
        let vector = embedder.query(text.clone()).await.expect("the model runs");
        let by_meaning = library.search().by_meaning(&entry, vector, None).await;
        let fused: Vec<_> = fuse(&by_words, &by_meaning)
            .into_iter()
            .map(|found| Candidate { document: found.document, chunk: found.chunk, score: 0.0 })
            .collect();
        for (sum, ranking) in sums.iter_mut().zip([&by_words, &by_meaning, &fused]) {
            *sum += ndcg(ranking, relevant);
        }
        let started = Instant::now();
        library.find("ana", &text).await;
        times.push(started.elapsed());
    }

    times.sort_unstable();
    let [by_words, by_meaning, fused] =
        sums.map(|sum| sum / f64::from(u32::try_from(times.len()).expect("few")));
    eprintln!(
        "nDCG@10 of {} queries: words {by_words:.4}, meaning {by_meaning:.4}, fused {fused:.4}",
        times.len()
    );
    eprintln!("p50 {:?}", times[times.len() / 2]);
    assert!(fused > by_words && fused > by_meaning);
}
