//! Search while a model has read only some documents.

use std::ops::Range;

use super::*;

/// Documents about one subject in different words, oldest first; the last two do not have its words.
const TEXTS: [&str; 8] = [
    "pump failure report, with the pump and its failure",
    "failure of a pump, among many other things that fill the text with words",
    "heat and flow in a pump",
    "wing layer shock wing",
    "the failure of a layer",
    "pump pump pump",
    "cat dog moon",
    "moon wing cat",
];

const QUERY: &str = "pump failure";

/// Ingests the documents, each with its number as title.
async fn filled(library: Library) -> Library {
    let notes = TEXTS.iter().enumerate().map(|(number, text)| note(&format!("{number}"), text));
    library.add_from("user", "ana", notes.collect()).await;
    library
}

/// Library whose model has read the documents with these numbers.
async fn with_read(numbers: &Range<usize>) -> Library {
    let library = filled(Library::with_model().await).await;
    for text in TEXTS.iter().enumerate().filter(|(number, _)| !numbers.contains(number)).map(|(_, it)| it) {
        let forget = sql("UPDATE chunks SET vector = NULL, model = NULL
             WHERE document = (SELECT sequence FROM documents WHERE text = $1)");
        library.database.write(forget.bind(*text)).await;
    }
    library
}

#[tokio::test]
async fn documents_that_were_not_read_yet_are_where_their_words_put_them() {
    let by_words = filled(Library::without_model().await).await.find("ana", QUERY).await;
    assert_eq!(by_words.len(), 5);

    let newest_first = (0..=TEXTS.len()).map(|count| TEXTS.len() - count..TEXTS.len());
    let oldest_first = (0..=TEXTS.len()).map(|count| 0..count);
    for read in newest_first.chain(oldest_first) {
        let found = with_read(&read).await.found("ana", &query(QUERY)).await;

        let titles = titles(&found);
        let is_read = |title: &String| read.contains(&title.parse().expect("a number"));
        for (place, title) in by_words.iter().enumerate().filter(|(_, title)| !is_read(title)) {
            assert_eq!(titles.get(place), Some(title), "{read:?} were read: {titles:?}");
        }
        assert!(titles.iter().all(|title| by_words.contains(title) || is_read(title)), "{titles:?}");
        assert_eq!(found.coverage, Some(Coverage { embedded: read.len(), documents: TEXTS.len() }));
    }
}

#[tokio::test]
async fn a_document_counts_as_read_once_all_its_passages_were() {
    let library = Library::with_model().await;
    let long = format!("{} moon", "wing flow heat. ".repeat(200));
    library.add("ana", [note("Long", &long), note("Short", "pump")]).await;
    let forget = sql("UPDATE chunks SET vector = NULL, model = NULL
         WHERE id = (SELECT MAX(c.id) FROM chunks c JOIN documents d ON d.sequence = c.document
             WHERE d.title = $1)");
    library.database.write(forget.bind("Long")).await;

    let found = library.found("ana", &query("pump")).await;

    assert_eq!(found.coverage, Some(Coverage { embedded: 1, documents: 2 }));
    assert_eq!(titles(&found), ["Short"]);
}

#[test]
fn the_note_says_how_much_is_known_until_all_is() {
    let note = |embedded| Coverage { embedded, documents: 436 }.note();

    let part = "The meaning of 141 of 436 documents is known so far; the others are found by their words.";
    assert_eq!(note(141).as_deref(), Some(part));
    assert_eq!(note(436), None);
}
