use kitbag_toolkit::prelude::*;

use super::toolkit;

/// Returns a note as the knowledge base stores it.
fn note(id: &str, title: &str, notebook: Option<&str>, text: &str) -> Document {
    Document {
        summary: DocumentSummary {
            id: id.to_owned(),
            title: format!("Note: {title}"),
            source: "notes".to_owned(),
            feed: notebook.map(str::to_owned),
            ..DocumentSummary::default()
        },
        text: text.to_owned(),
    }
}

fn call(tool: &str, arguments: Value) -> Outcome {
    let page = Document {
        summary: DocumentSummary {
            title: "Note: not ours".into(),
            source: "clipper".into(),
            ..Default::default()
        },
        text: "milk".into(),
    };
    let call = Call::new(tool)
        .document(note("1", "Shopping", Some("Home"), "milk and bread"))
        .document(note("2", "Cows", Some("Farm"), "they give milk"))
        .document(note("3", "apples", None, "red ones"))
        .document(page)
        .args(arguments);
    dispatch(&toolkit(), call)
}

fn titles(outcome: &Outcome) -> Vec<&str> {
    let notes = outcome.structured()["notes"].as_array().expect("a list");
    notes.iter().map(|note| note["title"].as_str().expect("a title")).collect()
}

#[test]
fn the_declaration_keeps_every_rule() {
    toolkit().check().expect("the declaration is valid");
}

#[test]
fn a_note_becomes_a_document_of_its_notebook() {
    let outcome = call("add", json!({ "text": "Buy milk\nand bread", "notebook": " Home " }));

    assert_eq!(outcome.structured(), &json!({ "title": "Buy milk", "notebook": " Home " }));
    let [note] = outcome.ingested() else { panic!("one note was added") };
    assert_eq!((note.title.as_str(), note.text.as_deref()), ("Note: Buy milk", Some("Buy milk\nand bread")));
    let feed = note.feed.as_ref().expect("it has a notebook");
    assert_eq!(
        (feed.key.as_str(), feed.name.as_str(), feed.label.as_deref()),
        ("home", "Home", Some("notebook"))
    );
}

#[test]
fn a_long_first_line_is_cut_and_nothing_is_no_note() {
    let long = call("add", json!({ "text": "word ".repeat(100) }));
    let title = long.structured()["title"].as_str().expect("a title");
    assert!(title.chars().count() <= 80 && title.ends_with("word…"), "{title}");

    for arguments in [json!({ "text": " \n" }), json!({ "text": "a", "notebook": " " })] {
        let refused = call("add", arguments);
        assert!(!refused.failure().retryable && refused.ingested().is_empty());
    }
}

#[test]
fn notes_are_found_by_what_they_say_in_all_notebooks_or_in_one() {
    assert_eq!(titles(&call("find", json!({ "query": "milk" }))), ["Shopping", "Cows"]);
    assert_eq!(titles(&call("find", json!({ "query": "milk", "limit": 1 }))), ["Shopping"]);
    let on_the_farm = call("find", json!({ "query": "milk", "notebook": "farm", "limit": 1 }));
    assert_eq!(on_the_farm.text(), "Cows (Farm)\nthey give milk");
    assert_eq!(call("find", json!({ "query": "cars" })).text(), "There are no such notes.");
}

#[test]
fn all_notes_are_listed_and_documents_of_others_are_not() {
    let listed = call("list", json!({}));

    assert_eq!(titles(&listed), ["apples", "Cows", "Shopping"]);
    assert_eq!(listed.text(), "apples\nCows (Farm)\nShopping (Home)");
    assert_eq!(titles(&call("list", json!({ "notebook": "HOME" }))), ["Shopping"]);
}
