use kitbag_toolkit::prelude::*;

use super::toolkit;

fn page(id: &str, site: &str, text: &str) -> Document {
    Document {
        summary: DocumentSummary {
            id: id.to_owned(),
            title: format!("Page {id}"),
            url: Some(format!("https://{site}/{id}")),
            source: "clipper".to_owned(),
            feed: Some(site.to_owned()),
            ..DocumentSummary::default()
        },
        text: text.to_owned(),
    }
}

#[test]
fn the_declaration_keeps_every_rule() {
    toolkit().check().expect("the declaration is valid");
}

#[test]
fn a_page_is_handed_over_by_its_url_in_the_feed_of_its_site() {
    let call = Call::new("clip").args(json!({ "url": "https://www.Example.com/a#b", "title": "A" }));

    let outcome = dispatch(&toolkit(), call);

    assert_eq!(outcome.structured(), &json!({ "url": "https://www.Example.com/a#b", "site": "example.com" }));
    assert!(outcome.requests().is_empty(), "the toolkit itself fetches nothing");
    let [page] = outcome.ingested() else { panic!("one page was clipped") };
    assert_eq!(page.file_url.as_deref(), Some("https://www.Example.com/a#b"));
    assert_eq!((page.title.as_str(), &page.url, &page.text), ("A", &page.file_url, &None));
    let feed = page.feed.as_ref().expect("it has a feed");
    assert_eq!((feed.key.as_str(), feed.label.as_deref()), ("example.com", Some("site")));
}

#[test]
fn what_is_no_page_is_refused_in_words_for_the_model() {
    for url in ["example.com/page", "ftp://example.com/", "file:///etc/passwd"] {
        let outcome = dispatch(&toolkit(), Call::new("clip").args(json!({ "url": url })));

        assert!(outcome.failure().error.contains("is not the URL of a web page"), "{url}");
        assert!(outcome.ingested().is_empty());
    }
}

#[test]
fn pages_are_found_again_of_all_sites_or_of_one_and_documents_of_others_are_not() {
    let clipped = |arguments: Value| {
        let note = Document {
            summary: DocumentSummary { id: "n".into(), source: "notes".into(), ..DocumentSummary::default() },
            text: "whales".into(),
        };
        let call = Call::new("clipped")
            .document(page("a", "sea.example", "whales and dolphins"))
            .document(page("b", "land.example", "whales on land"))
            .document(note)
            .args(arguments);
        let outcome = dispatch(&toolkit(), call);
        let pages = outcome.structured()["pages"].as_array().expect("a list").clone();
        (pages.into_iter().map(|page| page["document"]["id"].clone()).collect::<Vec<_>>(), outcome)
    };

    assert_eq!(clipped(json!({ "query": "whales" })).0, ["a", "b"]);
    assert_eq!(clipped(json!({ "query": "whales", "limit": 1 })).0, ["a"]);
    let (ids, outcome) = clipped(json!({ "query": "whales", "site": "www.land.example", "limit": 1 }));
    assert_eq!(ids, ["b"]);
    assert_eq!(outcome.text(), "Page b\nhttps://land.example/b\nwhales on land");
    assert_eq!(clipped(json!({ "query": "trees" })).1.text(), "No clipped page was found.");
}
