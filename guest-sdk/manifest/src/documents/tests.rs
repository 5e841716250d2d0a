use super::*;
use crate::Problem;

fn note(title: &str, text: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), text: Some(text.to_owned()), ..NewDocument::default() }
}

fn file(title: &str, url: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), file_url: Some(url.to_owned()), ..NewDocument::default() }
}

fn feed(key: &str, name: &str) -> NewFeed {
    NewFeed { key: key.to_owned(), name: name.to_owned(), label: None }
}

fn checked(document: NewDocument) -> CheckedDocument {
    check(vec![document]).expect("it keeps the rules").remove(0)
}

/// Returns each problem as `path: message`, without the leading `documents[0].`.
#[track_caller]
fn problems_of(document: NewDocument) -> Vec<String> {
    let problems = check(vec![document]).expect_err("it breaks a rule");
    let one = |problem: &Problem| {
        let path = problem.path.strip_prefix("documents[0].").expect("it is about the document");
        format!("{path}: {}", problem.message)
    };
    problems.0.iter().map(one).collect()
}

#[test]
fn all_problems_of_all_documents_are_reported_each_with_its_path() {
    let problems = check(vec![
        note("A", "a"),
        NewDocument { url: Some("nowhere".into()), feed: Some(feed(" ", "")), ..note(" \n", " ") },
        NewDocument { author: Some("x".repeat(501)), ..file("B", "ftp://b.example/") },
    ])
    .expect_err("rules are broken");

    let paths: Vec<_> = problems.0.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "documents[1].title",
            "documents[1].url",
            "documents[1].text",
            "documents[1].feed.key",
            "documents[1].feed.name",
            "documents[2].author",
            "documents[2].fileUrl",
        ]
    );
}

#[test]
fn text_may_be_absent_only_where_there_is_a_file() {
    for text in [None, Some(String::new()), Some(" \n\t".to_owned()), Some("\0".to_owned())] {
        let problems = problems_of(NewDocument { text: text.clone(), ..note("A", "") });
        assert_eq!(problems, ["text: is required where there is neither fileUrl nor audioUrl"]);

        assert_eq!(checked(NewDocument { text, ..file("A", "https://a.example/a.pdf") }).text, "");
    }
}

#[test]
fn a_document_has_one_file_and_what_is_said_of_it_needs_it() {
    let audio = |url: &str| NewDocument { audio_url: Some(url.to_owned()), ..note("A", "a") };
    let typed = |mime: &str, it: NewDocument| NewDocument { mime_type: Some(mime.to_owned()), ..it };

    for (document, problem) in [
        (
            NewDocument { audio_url: Some("https://a.example/".into()), ..file("A", "https://a.example/") },
            "audioUrl: must not stand beside fileUrl",
        ),
        (typed("text/plain", note("A", "a")), "mimeType: needs fileUrl"),
        (typed("pdf", file("A", "https://a.example/")), "mimeType: must be a media type"),
        (typed("a/b/c", file("A", "https://a.example/")), "mimeType: must be a media type"),
        (typed("", file("A", "https://a.example/")), "mimeType: must be a media type"),
        (typed("text/plain; a=\u{7}", file("A", "https://a.example/")), "mimeType: must be a media type"),
        (typed("text/html", audio("https://a.example/")), "mimeType: must be a type of audio"),
        (NewDocument { capture_only: true, ..note("A", "a") }, "captureOnly: needs fileUrl"),
        (audio("a.mp3"), "audioUrl: must be an absolute"),
    ] {
        let problems = problems_of(document);
        assert!(problems.len() == 1 && problems[0].starts_with(problem), "{problems:?}");
    }
    let claimed = |document| checked(document).claimed_type;
    assert_eq!(claimed(audio("https://a.example/")).as_deref(), Some("audio/mpeg"));
    assert_eq!(claimed(typed("audio/ogg", audio("https://a.example/"))).as_deref(), Some("audio/ogg"));
    let html = typed("text/html; charset=utf-8", file("A", "https://a.example/"));
    assert_eq!(claimed(html).as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!(claimed(file("A", "https://a.example/")), None);
}

#[test]
fn what_is_too_long_is_refused_and_what_just_fits_is_not() {
    let long = |length: usize| "ä".repeat(length);
    let url = |length: usize| format!("https://a.example/{}", "a".repeat(length - 18));
    let with_feed = |key: String, name: String, label: String| {
        let feed = Some(NewFeed { key, name, label: Some(label) });
        NewDocument { feed, ..note("A", "a") }
    };
    for (fits, too_long, path) in [
        (note(&long(1000), "a"), note(&long(1001), "a"), "title"),
        (note("A", &"a".repeat(4 << 20)), note("A", &"a".repeat((4 << 20) + 1)), "text"),
        (file("A", &url(2048)), file("A", &url(2049)), "fileUrl"),
        (with_feed(long(500), long(500), long(100)), with_feed(long(501), long(500), long(100)), "feed.key"),
        (with_feed(long(500), long(500), long(100)), with_feed(long(500), long(501), long(100)), "feed.name"),
        (
            with_feed(long(500), long(500), long(100)),
            with_feed(long(500), long(500), long(101)),
            "feed.label",
        ),
    ] {
        checked(fits);
        let problems = problems_of(too_long);
        assert!(
            problems.len() == 1 && problems[0].starts_with(&format!("{path}: may have ")),
            "{problems:?}"
        );
    }
    // Percent-encoding makes the stored URL longer than the given one.
    let problems =
        problems_of(NewDocument { url: Some(format!("https://a.example/{}", long(1000))), ..note("A", "a") });
    assert!(problems[0].starts_with("url: may have 2048 bytes; written out it has 60"), "{problems:?}");
}

#[test]
fn a_batch_is_bounded_in_number_and_in_text() {
    let refusal = |documents| check(documents).expect_err("it is too much").to_string();

    let too_many = refusal(vec![note("", ""); 1001]);
    let too_much = refusal(vec![note("A", &"a".repeat(4 << 20)); 9]);

    assert_eq!(too_many, "documents: at most 1000 at a time; these are 1001");
    assert!(too_much.starts_with("documents: together at most 33554432 bytes"), "{too_much}");
}

#[test]
fn control_characters_go_away_from_lines_and_nul_from_text() {
    let document = NewDocument {
        author: Some(" \u{0} ".into()),
        feed: Some(NewFeed { key: " k ".into(), name: "The\nFeed".into(), label: Some(String::new()) }),
        ..note(" A\r\n  long\u{0}title\t", " a\0\n b ")
    };

    let document = checked(document);

    assert_eq!((document.title.as_str(), document.text.as_str()), ("A long title", " a\n b "));
    assert_eq!(document.author, None);
    assert_eq!(document.feed, Some(NewFeed { key: " k ".into(), name: "The Feed".into(), label: None }));
    let problems = problems_of(NewDocument { feed: Some(feed("a\0", "A")), ..note("A", "a") });
    assert_eq!(problems, ["feed.key: must not hold control characters"]);
}

#[test]
fn an_uploaded_document_has_no_other_file_and_its_problems_have_no_index() {
    let with_file =
        NewDocument { mime_type: Some("application/pdf".into()), ..file("A", "https://a.example/") };

    let problems = check_upload(with_file).expect_err("it has two files").to_string();
    let bare = check_upload(NewDocument { text: None, ..note("A", "") }).expect("the file is its body");

    assert_eq!(problems, "fileUrl: must not stand beside an uploaded file: a document has one file");
    assert_eq!(bare.text, "");
}

#[test]
fn the_page_comes_before_the_file_and_the_file_before_the_text() {
    let page = NewDocument { url: Some("https://a.example".into()), ..file("A", "https://b.example/#top") };

    assert_eq!(checked(page.clone()).identity(), Identity::Url("https://a.example/"));
    assert_eq!(checked(NewDocument { url: None, ..page }).identity(), Identity::File("https://b.example/"));
    assert_eq!(checked(note("A", "abc")).identity(), Identity::Text("abc"));
}

#[test]
fn a_document_is_read_from_the_json_of_the_typescript_sdk() {
    let json = r#"{"title":"A","fileUrl":"https://a.example/","captureOnly":true,"author":null,"feed":{"key":"k","name":"N"}}"#;

    let document: NewDocument = serde_json::from_str(json).expect("it is valid");

    let feed = Some(feed("k", "N"));
    assert_eq!(
        document,
        NewDocument { text: None, capture_only: true, feed, ..file("A", "https://a.example/") }
    );
}
