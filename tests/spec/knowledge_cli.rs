//! Knowledge base commands: `kitbag ingest`, `search`, `documents`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::capture::capturing;
use crate::harness::{CommandOutput, Kitbag, Terminal, archive, interrupt, kitbag, run, within};

/// Runs a command against the server that runs on `data`.
async fn command(data: &Path, arguments: &[&str]) -> CommandOutput {
    let mut command = kitbag(arguments);
    command.arg("--data").arg(data);
    run(command).await
}

/// Creates a temporary folder with the given files (name, content); returns it and its path.
fn folder(files: &[(&str, &[u8])]) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    let path = folder.path().to_str().expect("UTF-8").to_owned();
    (folder, path)
}

#[tokio::test]
async fn a_model_is_named_and_has_to_be_fetched_before_a_server_starts_with_it() {
    let (kept, path) = folder(&[("bge-small-en-v1.5/README.md", b"not a model")]);
    let data = kept.path().join("data");
    let serve = async |model: &str| {
        let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--model", model, "--data"]);
        command.arg(&data).current_dir(&path);
        run(command).await
    };

    serve("bge-small-en-v1.5").await.assert_failed("kitbag model fetch bge-small-en-v1.5");
    serve("./bge-small-en-v1.5").await.assert_failed("./bge-small-en-v1.5 cannot be used: config.json");

    let unknown = command(&data, &["model", "fetch", "bge-small"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("multilingual-e5-small"), "{unknown:?}");
    let absent = command(&data, &["model", "show", "bge-small"]).await;
    absent.assert_failed("multilingual-e5-small");
}

#[tokio::test]
async fn the_list_of_models_says_which_a_data_directory_has() {
    let (kept, _) =
        folder(&[("models/all-MiniLM-L6-v2/config.json", b"{}"), ("models/e5-small-v2/config.json", b"{}")]);
    let list = async || -> Value {
        let listed = command(kept.path(), &["model", "list", "--json"]).await.succeeded();
        serde_json::from_str(&listed).expect("JSON")
    };
    let fetched = |listed: &Value| -> Vec<String> {
        let models = listed.as_array().expect("a list").iter();
        let there = models.filter(|model| model["fetched"] == true);
        there.map(|model| model["name"].as_str().expect("text").to_owned()).collect()
    };

    assert_eq!(fetched(&list().await), ["all-MiniLM-L6-v2", "e5-small-v2"]);
    let removed = command(kept.path(), &["model", "remove"]).await.succeeded();
    assert!(removed.contains("is gone"), "{removed}");
    assert_eq!(fetched(&list().await), ["e5-small-v2"]);
    command(kept.path(), &["model", "remove", "e5-small-v2"]).await.succeeded();

    let text = command(kept.path(), &["model", "list"]).await.succeeded();
    assert!(text.lines().count() >= 4 && text.lines().all(|line| line.contains("not fetched")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("multilingual-e5-small") && line.contains("488 MB")));
}

#[tokio::test]
async fn what_is_ingested_is_found_listed_shown_and_deleted() {
    let server = Kitbag::start().await;
    let (_kept, path) =
        folder(&[("whales.md", b"---\nauthor: Ana\n---\n# On whales\n\nThe blue whale is large.\n")]);
    let file = format!("{path}/whales.md");

    let ingested = command(server.data(), &["ingest", &file, "--wait"]).await.succeeded();
    let found = command(server.data(), &["search", "blue", "whale"]).await;
    let listed = command(server.data(), &["documents"]).await.succeeded();

    let (id, summary) = ingested.trim().split_once('\n').expect("an id and a summary");
    assert_eq!(summary, "1 document: 1 new, 0 updated, 0 unchanged.");
    assert!(found.stderr.contains("words only") && found.stderr.contains("kitbag model fetch"), "{found:?}");
    let found = found.succeeded();
    for words in ["On whales  user · Ana\n", "The blue whale is large.", id] {
        assert!(found.contains(words), "no {words:?} in {found}");
    }
    assert!(listed.contains(id) && listed.contains("ready") && listed.contains("On whales"), "{listed}");
    let shown = command(server.data(), &["documents", "show", id]).await.succeeded();
    assert!(shown.contains("author   Ana") && shown.ends_with("The blue whale is large.\n\n"), "{shown}");
    assert!(!shown.contains("---"), "the front matter is no part of the text: {shown}");

    let again = command(server.data(), &["ingest", &file]).await.succeeded();
    assert_eq!(again, format!("{id}\n1 document: 0 new, 0 updated, 1 unchanged.\n"));

    command(server.data(), &["documents", "delete", id]).await.succeeded();
    command(server.data(), &["documents", "show", id]).await.assert_failed("you have no document");
    command(server.data(), &["documents", "delete", id]).await.assert_failed("you have no document");
    let nothing = command(server.data(), &["search", "whale"]).await.succeeded();
    assert!(nothing.contains("Nothing was found"), "{nothing}");
}

#[tokio::test]
async fn a_folder_goes_on_after_a_bad_file_and_says_so_at_the_end() {
    let server = Kitbag::start().await;
    let (_kept, path) = folder(&[
        ("a.md", b"# Apples\nred"),
        ("b/pears.txt", b"green"),
        ("empty.md", b""),
        ("front.md", b"---\ntitle: Only a title\n---\n"),
        (".hidden.md", b"hidden"),
        ("picture.xyz", b"\x00\x01"),
    ]);

    let ran = command(server.data(), &["ingest", &path]).await;

    ran.assert_failed("2 documents went wrong");
    ran.assert_failed("empty.md: is empty");
    ran.assert_failed("front.md: has no text");
    assert_eq!(ran.stdout, "2 documents: 2 new, 0 updated, 0 unchanged.\n");
    let listed = command(server.data(), &["documents", "list", "--json"]).await.succeeded();
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let titles: Vec<_> = listed.as_array().expect("a list").iter().map(|it| it["title"].clone()).collect();
    assert_eq!(titles, ["pears", "Apples"]);
}

#[tokio::test]
async fn documents_messages_and_source_code_of_a_folder_are_found() {
    let server = Kitbag::start_with(capturing).await;
    let names =
        ["report.docx", "tables.xlsx", "talk.pptx", "book.epub", "notes.odt", "currents.ods", "old.xls"];
    let documents: Vec<_> = names.map(|name| (name, archive::of_library(name))).into();
    let mut files: Vec<_> = documents.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    files.push(("secret.docx", b"PK\x03\x04 nothing that could be unpacked"));
    files.push(("letter.eml", b"From: ana@a.example\r\nSubject: Buoys\r\n\r\nThe lighthouse is dark.\r\n"));
    files.push(("src/model.py", b"# a comment\ndef amplitude(moon): ...\n"));
    let (_kept, path) = folder(&files);

    let ingested = command(server.data(), &["ingest", &path]).await.succeeded();
    server.all_settled().await;

    assert_eq!(ingested, "10 documents: 10 new, 0 updated, 0 unchanged.\n");
    for (words, title, shown) in [
        ("moon pulls", "report", "The moon pulls the sea"),
        ("malo", "tables", "Saint-Malo"),
        ("equinox", "talk", "equinox"),
        ("flood", "book", "The flood comes after."),
        ("coast", "Notes on tides", "along the coast"),
        ("gibraltar", "currents", "Gibraltar"),
        ("fundy", "old", "Fundy"),
        ("lighthouse", "Buoys", "The lighthouse is dark."),
        ("amplitude", "model.py", "def amplitude(moon)"),
        ("model.py", "model.py", "amplitude"),
    ] {
        let found = command(server.data(), &["search", words]).await.succeeded();
        let first = found.lines().next().unwrap_or_default();
        assert!(first.contains(title) && found.contains(shown), "{words}: {found}");
    }
    let failed = command(server.data(), &["documents", "--state", "failed"]).await.succeeded();
    assert!(failed.contains("secret") && failed.contains("the document is damaged"), "{failed}");
}

#[tokio::test]
async fn files_that_have_urls_are_updated_and_others_are_told_by_content() {
    let server = Kitbag::start().await;
    let (_kept, path) = folder(&[("plan.md", b"# Plan\none")]);
    let change = async |text: &str, arguments: &[&str]| {
        fs::write(format!("{path}/plan.md"), text).expect("a file");
        let ran = command(server.data(), &[&["ingest", &path], arguments].concat()).await.succeeded();
        ran.lines().last().expect("a summary").to_owned()
    };
    let known = ["--url-base", "https://wiki.example/docs"];

    assert_eq!(change("# Plan\none", &known).await, "1 document: 1 new, 0 updated, 0 unchanged.");
    assert_eq!(change("# Plan\ntwo", &known).await, "1 document: 0 new, 1 updated, 0 unchanged.");
    assert_eq!(change("# Plan\nthree", &[]).await, "1 document: 1 new, 0 updated, 0 unchanged.");
    assert_eq!(
        change("# Plan\nthree", &["--feed", "plans"]).await,
        "1 document: 1 new, 0 updated, 0 unchanged."
    );
    assert_eq!(
        change("# Plan\nthree", &["--feed", "plans"]).await,
        "1 document: 0 new, 0 updated, 1 unchanged."
    );

    let in_feed = command(server.data(), &["documents", "--feed", "plans", "--json"]).await.succeeded();
    let in_feed: Value = serde_json::from_str(&in_feed).expect("JSON");
    assert_eq!(in_feed.as_array().map(Vec::len), Some(1), "{in_feed}");
    assert_eq!(in_feed[0]["feed"], json!({ "key": "plans", "name": "plans", "label": null }));
}

#[tokio::test]
async fn documents_come_one_a_line_and_from_standard_input() {
    let server = Kitbag::start().await;
    let lines: String = (0..450)
        .map(|number| {
            format!("{{\"title\":\"Document {number}\",\"text\":\"text {number}\",\"author\":\"Ana\"}}\n")
        })
        .chain(["nothing\n".to_owned(), "{\"title\":\"\",\"text\":\"no title\"}\n".to_owned()])
        .collect();
    let (_kept, path) = folder(&[("in.jsonl", lines.as_bytes()), ("idea.txt", b"# An idea\nof mine")]);
    let from = async |file: &str, arguments: &[&str]| {
        let mut command = kitbag([&["ingest", "-"], arguments].concat());
        command.arg("--data").arg(server.data());
        command.stdin(fs::File::open(format!("{path}/{file}")).expect("a file"));
        run(command).await
    };

    let ran = from("in.jsonl", &["--jsonl", "-o", "jsonl"]).await;
    let idea = from("idea.txt", &[]).await.succeeded();

    ran.assert_failed("2 documents went wrong");
    let outcomes: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let of = |input: &str| outcomes.iter().find(|line| line["input"] == input).expect("each line has one");
    assert_eq!(outcomes.len(), 452);
    assert_eq!(of("-:450")["change"], "CREATED");
    assert!(of("-:451")["error"].as_str().is_some_and(|error| error.contains("is no document")));
    assert!(of("-:452")["error"].as_str().is_some_and(|error| error.contains("title: must not be empty")));
    assert!(idea.ends_with("1 document: 1 new, 0 updated, 0 unchanged.\n"), "{idea}");
    let listed = command(server.data(), &["documents", "--limit", "1000", "--json"]).await.succeeded();
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(451));
    assert_eq!(listed[0]["title"], "An idea");
}

#[tokio::test]
async fn a_file_that_is_no_text_goes_up_and_comes_down_as_it_is() {
    let server = Kitbag::start().await;
    let (_kept, path) = folder(&[("table.csv", b"name,kind\nOrca,whale\n"), ("out/.keep", b"")]);
    let file = format!("{path}/table.csv");

    let ingested =
        command(server.data(), &["ingest", &file, "--wait", "--title", "Who is who"]).await.succeeded();
    let found = command(server.data(), &["search", "orca"]).await.succeeded();

    let id = ingested.lines().next().expect("an id");
    assert!(found.contains("Who is who") && found.contains(id), "{found}");
    let download = async |arguments: &[&str]| {
        let mut command = kitbag([&["documents", "download", id], arguments].concat());
        command.arg("--data").arg(server.data()).current_dir(format!("{path}/out"));
        run(command).await
    };
    assert_eq!(download(&["-"]).await.succeeded(), "name,kind\nOrca,whale\n");
    let saved = download(&[]).await.succeeded();
    let name = saved.trim().strip_prefix("Saved as ").and_then(|name| name.strip_suffix('.')).expect(&saved);
    assert!(name.starts_with("Who_is_who"), "{name}");
    let bytes = |name: &str| fs::read(format!("{path}/out/{name}")).expect("it is saved");
    assert_eq!(bytes(name), fs::read(&file).expect("a file"));
    download(&[]).await.assert_failed("is there already");
    download(&["other.csv"]).await.succeeded();
    assert_eq!(bytes("other.csv"), bytes(name));
}

#[tokio::test]
async fn what_was_detected_of_a_file_is_shown() {
    let server = Kitbag::start().await;
    let text = b"L'aile produit de la portance parce que l'air s'\xe9coule autour d'elle.";
    let (_kept, path) = folder(&[("aile.txt", text)]);

    let ingested =
        command(server.data(), &["ingest", &format!("{path}/aile.txt"), "--wait"]).await.succeeded();

    let id = ingested.lines().next().expect("an id");
    let shown = command(server.data(), &["documents", "show", id]).await.succeeded();
    for line in ["title    the name of the file\n", "language French\n", "encoding windows-1252\n"] {
        assert!(shown.contains(line), "no {line:?} in {shown}");
    }
    let shown = command(server.data(), &["documents", "show", id, "--json"]).await.succeeded();
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["language"], "fra");
}

#[tokio::test]
async fn what_could_not_be_read_is_told_by_the_next_ingest_and_is_no_update() {
    let server = Kitbag::start().await;
    let (_kept, path) = folder(&[("blank.txt", b"\xff\xfe \0\n\0"), ("good\u{202e}txt.md", b"# Good")]);
    command(server.data(), &["ingest", &path, "--wait"]).await.assert_failed("holds no text but blanks");

    let again = command(server.data(), &["ingest", &path]).await;

    assert_eq!(again.stdout, "2 documents: 0 new, 0 updated, 2 unchanged.\n");
    let is_told = ["holds no text but blanks", "still being read: 1; `kitbag documents list --state failed`"];
    assert!(is_told.iter().any(|words| again.stderr.contains(words)), "{again:?}");
    let listed = command(server.data(), &["documents"]).await.succeeded();
    assert!(listed.contains("Good") && !listed.contains('\u{202e}'), "{listed}");
}

#[tokio::test]
async fn an_interrupted_ingest_says_how_far_it_came() {
    const BATCH: usize = 200;

    let server = Kitbag::start().await;
    let mut command = kitbag(["ingest", "-", "--jsonl", "--output", "jsonl", "--data"]);
    command.arg(server.data()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let line = |n| format!("{{\"title\":\"{n}\",\"text\":\"{n}\"}}\n");
    let documents = (0..=BATCH).map(line).collect::<Vec<_>>().concat();
    // Standard input stays open, so the command waits for more documents.
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(documents.as_bytes()).await.expect("it is read");
    let mut outcomes = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    for _ in 0..BATCH {
        within("an outcome", outcomes.next_line()).await.expect("it is text").expect("it is told");
    }

    interrupt(&child).await;

    let ended = CommandOutput::from(within("the end", child.wait_with_output()).await.expect("it runs"));
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("interrupted: 200 of 200 documents were sent"), "{ended:?}");
}

#[tokio::test]
async fn a_page_that_cannot_be_fetched_fails_with_a_reason() {
    let server = Kitbag::start().await;

    let ran = command(server.data(), &["ingest", "http://127.0.0.1:9/page", "--wait"]).await;

    ran.assert_failed("1 document went wrong");
    ran.assert_failed("http://127.0.0.1:9/page: ");
    let failed = command(server.data(), &["documents", "--state", "failed"]).await.succeeded();
    assert!(failed.contains("http://127.0.0.1:9/page") && failed.contains("failed"), "{failed}");
}

#[tokio::test]
async fn a_search_prints_json_for_scripts_and_narrows() {
    let server = Kitbag::start().await;
    let ana = server.as_operator();
    let of = |author: &str, text: &str| json!({ "title": text, "text": text, "author": author });
    ana.ingest(json!([of("Ana", "a whale"), of("Ben", "the whale"), of("Ben", "no whale")])).await;
    let search = async |arguments: &[&str]| -> Value {
        let ran = command(server.data(), &[&["search", "whale", "--json"], arguments].concat()).await;
        serde_json::from_str(&ran.succeeded()).expect("JSON")
    };
    let count = |found: &Value| found["results"].as_array().expect("a list").len();

    let first = search(&["--author", "ben", "--limit", "1"]).await;
    let next = first["pageInfo"]["endCursor"].as_str().expect("a cursor").to_owned();
    let second = search(&["--author", "ben", "--limit", "1", "--after", &next]).await;

    assert_eq!((count(&first), count(&second)), (1, 1));
    assert_ne!(first["results"][0]["document"]["id"], second["results"][0]["document"]["id"]);
    assert_eq!(second["pageInfo"]["hasNextPage"], false);
    assert_eq!(first["mode"], "FULL_TEXT");
    assert_eq!(count(&search(&["--source", "user"]).await), 3);
    assert_eq!(count(&search(&["\"the whale\""]).await), 1);
    assert_eq!(count(&search(&[" -\"the whale\""]).await), 2);
    assert_eq!(count(&search(&["--source", "nowhere"]).await), 0);
    let refused = command(server.data(), &["search", "whale", "--limit", "51"]).await;
    assert_eq!(refused.code, Some(2));
}

#[tokio::test]
async fn whoever_has_signed_in_sees_their_own_documents() {
    let server = Kitbag::start().await;
    server.as_operator().ingest(json!([{ "title": "Of the operator", "text": "whale" }])).await;
    let (_kept, path) = folder(&[("mine.txt", b"my whale")]);
    let terminal = Terminal::at(server.base_url().as_str());
    terminal.login("local").await;

    terminal.run(&["ingest", &path, "--wait"]).await.succeeded();
    let found = terminal.run(&["search", "whale"]).await.succeeded();
    assert!(found.contains("mine") && found.contains("Of the operator"), "{found}");

    let mut of_ben = kitbag(["search", "whale", "--data"]);
    of_ben.arg(server.data()).env("KITBAG_TOKEN", server.as_user("ben").token());
    let found = run(of_ben).await.succeeded();
    assert!(found.contains("Nothing was found"), "{found}");
}

#[tokio::test]
async fn what_cannot_work_is_said_at_once() {
    let server = Kitbag::start().await;
    let stopped_data = tempfile::tempdir().expect("a scratch directory");

    command(server.data(), &["ingest", "absent.md"]).await.assert_failed("cannot read absent.md");
    command(server.data(), &["ingest", "a.md", "b.md", "--title", "A"])
        .await
        .assert_failed("cannot read a.md");
    command(server.data(), &["documents", "download", "absent"]).await.assert_failed("no such document");
    command(server.data(), &["documents", "show", "../toolkits"]).await.assert_failed("you have no document");
    command(stopped_data.path(), &["search", "a"]).await.assert_failed("there is no server to talk to");
    let help = command(server.data(), &["ingest", "--help"]).await.succeeded();
    assert!(help.contains("Examples:") && help.contains("--jsonl --wait"), "{help}");
}
