use std::time::{Duration, Instant};

use super::*;
use crate::embedding::{SENTENCE_TRANSFORMERS, tiny_model};

fn splitter() -> Splitter {
    Splitter::new(None)
}

#[test]
fn a_short_document_is_one_passage() {
    let passages = splitter().split("Wings", "A wing in a slipstream.");

    assert_eq!(passages.len(), 1);
    assert_eq!(passages[0].text, "A wing in a slipstream.");
    assert_eq!(passages[0].terms, words::count(Language::English, "Wings", "A wing in a slipstream."));
}

#[test]
fn a_document_without_text_is_found_by_its_title() {
    for text in ["", " \n\t "] {
        let passages = splitter().split("Wings", text);

        assert_eq!(
            passages,
            [Passage { text: String::new(), terms: words::count(Language::English, "Wings", "") }]
        );
    }
}

#[test]
fn a_long_document_is_cut_at_sentences_and_nothing_is_lost() {
    let text: String =
        (0..2_000).map(|n| format!("Sentence number {n} tells of wing {n}. ")).collect::<Vec<_>>().concat();

    let passages = splitter().split("Wings", &text);

    assert!(passages.len() > 40, "{}", passages.len());
    let all: String = passages.iter().map(|passage| passage.text.as_str()).collect();
    for n in 0..2_000 {
        assert!(all.contains(&format!("tells of wing {n}.")), "{n}");
    }
    for passage in &passages {
        assert!(passage.text.ends_with('.') && passage.text.len() <= WINDOW * BYTES_PER_TOKEN, "{passage:?}");
    }
}

#[test]
fn neighbours_overlap() {
    let text = (0..1_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");

    let passages = splitter().split("", &text);

    let last = passages[0].text.rsplit(' ').next().expect("a word");
    assert!(passages[1].text.split(' ').any(|word| word == last), "{last}: {:?}", passages[1]);
}

#[test]
fn a_long_title_leaves_room_for_the_text() {
    let title = "title ".repeat(10_000);

    let passages = splitter().split(&title, &"word ".repeat(300));

    assert!(passages.len() < 10, "{}", passages.len());
    assert!(embedded(&title, "text").len() <= TITLE + "\ntext".len());
    assert_eq!(embedded("", "text"), "text");
    assert_eq!(embedded("Title", ""), "Title");
}

#[tokio::test]
async fn passages_leave_room_for_the_prompt_of_the_model() {
    const PROMPT_TOKENS: usize = 100;
    let folder = tempfile::tempdir().expect("a scratch folder");
    tiny_model::write(folder.path());
    let plain = Embedder::open(folder.path()).await.expect("it is whole");
    let prompts = serde_json::json!({ "prompts": { "document": "cat ".repeat(PROMPT_TOKENS) } });
    std::fs::write(folder.path().join(SENTENCE_TRANSFORMERS), prompts.to_string()).expect("it is ours");
    let prompted = Embedder::open(folder.path()).await.expect("it is whole");
    let text = "A wing in the flow. ".repeat(500);
    let longest = |embedder: &Embedder| {
        let (tokenizer, _) = embedder.tokenizer().expect("the model is here");
        let tokens = |passage: Passage| {
            let encoding = tokenizer.encode_fast(embedded("Wings", &passage.text), true);
            encoding.expect("it is text").get_ids().len()
        };
        Splitter::new(Some(embedder)).split("Wings", &text).into_iter().map(tokens).max()
    };

    let without = longest(&plain).expect("there are some");
    let with = longest(&prompted).expect("there are some");

    // A sentence has six tokens.
    assert!((WINDOW - 10..=WINDOW).contains(&without), "{without}");
    assert!((WINDOW - PROMPT_TOKENS - 10..=WINDOW - PROMPT_TOKENS).contains(&with), "{with}");
}

#[test]
fn hostile_text_takes_time_in_proportion_and_gives_passages_of_bounded_size() {
    const SIZE: usize = 4 << 20;

    for text in [
        "a".repeat(SIZE),
        "\n".repeat(SIZE),
        "\r\n".repeat(SIZE / 2),
        "a\n".repeat(SIZE / 2),
        "a\n\n".repeat(SIZE / 3),
        ". ".repeat(SIZE / 2),
        "東".repeat(SIZE / 3),
        "e\u{301}".repeat(SIZE / 3),
        "\u{301}".repeat(SIZE / 2),
    ] {
        let what: String = text.chars().take(3).collect();
        let started = Instant::now();

        let passages = splitter().split("Title", &text);

        let took = started.elapsed();
        assert!(took < Duration::from_mins(1), "{what:?}: {took:?}");
        eprintln!("{what:?}: {took:?}, {} passages", passages.len());
        assert!(passages.iter().all(|passage| passage.text.len() <= WINDOW * BYTES_PER_TOKEN), "{what:?}");
    }
}

#[test]
fn a_long_title_is_counted_whole_once_and_not_in_every_passage() {
    let title: String = (0..1_000).map(|at| char::from_u32(0x4e00 + at).expect("a letter")).collect();

    let passages = Splitter::new(None).split(&title, &"a b c d ".repeat(2_000));

    let sizes: Vec<_> = passages.iter().map(|passage| passage.terms.len()).collect();
    assert!(sizes.len() > 10 && sizes[1..].iter().all(|size| *size < sizes[0] / 3), "{sizes:?}");
}
