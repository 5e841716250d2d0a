use clap::Parser;

use super::*;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    ingest: Ingest,
}

/// Parses the command with these arguments.
fn ingest(arguments: &[&str]) -> Ingest {
    Program::parse_from([&["ingest"], arguments].concat()).ingest
}

/// Creates a folder with files of these names and contents.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch directory");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    folder
}

/// Formats each input as `title`, `file title` or `error`.
fn seen(command: &Ingest) -> Vec<String> {
    let inputs = Inputs::of(command).expect("all is there");
    let one = |(_, input): Named| match input {
        Ok(Input::Document(document)) => document.title,
        Ok(Input::File(file)) => format!("file {}", file.about.title),
        Err(reason) => format!("error {reason}"),
    };
    inputs.map(one).collect()
}

#[test]
fn a_folder_is_walked_in_order_without_what_is_hidden_unknown_or_a_link() {
    let folder = folder(&[
        ("b.md", b"# Bee\n"),
        ("a/deep/one.txt", b"one"),
        ("a/page.html", b"<p>"),
        ("c.exe", b"MZ"),
        (".git/config.txt", b"hidden"),
        ("d.txt", b"\xff\xfe not text"),
        ("e.txt", b""),
    ]);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("circle")).expect("a link");
    let path = folder.path().to_str().expect("UTF-8");

    assert_eq!(seen(&ingest(&[path])), ["one", "file page", "Bee", "file d", "error is empty"]);
    assert_eq!(seen(&ingest(&[path, "--only", "md,.EXE"])), ["Bee", "c"]);
}

#[test]
fn source_code_is_called_as_its_file_and_a_document_is_sent_with_its_type() {
    let folder = folder(&[
        ("main.py", b"---\ntitle: no front matter\n---\n# no heading\n"),
        ("plan.docx", b"PK\x03\x04"),
        ("~$plan.docx", b"a lock"),
    ]);
    let command = ingest(&[folder.path().to_str().expect("UTF-8")]);

    assert_eq!(seen(&command), ["main.py", "file plan"]);
    for (_, input) in Inputs::of(&command).expect("all is there") {
        match input.expect("it is read") {
            Input::Document(code) => assert!(code.text.is_some_and(|text| text.starts_with("---\ntitle:"))),
            Input::File(file) => {
                let media_type = file.about.mime_type.expect("a type");
                assert!(media_type.ends_with("wordprocessingml.document"), "{media_type}");
            }
        }
    }
}

#[test]
fn a_url_base_gives_files_an_identity_that_lasts() {
    let folder = folder(&[("a b/ü.md", b"text"), ("own.md", b"---\nurl: https://own.example/\n---\ntext")]);
    let command =
        ingest(&[folder.path().to_str().expect("UTF-8"), "--url-base", "https://wiki.example/docs/"]);

    let urls: Vec<_> = Inputs::of(&command)
        .expect("all is there")
        .map(|(_, input)| match input {
            Ok(Input::Document(document)) => document.url.expect("it has a URL"),
            _ => panic!("it is text"),
        })
        .collect();

    assert_eq!(urls, ["https://wiki.example/docs/a%20b/%C3%BC.md", "https://own.example/"]);
}

#[test]
fn what_is_said_of_all_documents_yields_to_what_they_say_themselves() {
    let folder = folder(&[(
        "a.jsonl",
        b"{\"title\":\"A\",\"text\":\"a\",\"author\":\"Ben\"}\n{\"title\":\"B\",\"text\":\"b\"}\n",
    )]);
    let file = folder.path().join("a.jsonl");
    let command = ingest(&[
        file.to_str().expect("UTF-8"),
        "--jsonl",
        "--author",
        "Ana",
        "--feed",
        "k",
        "--capture-only",
    ]);

    let documents: Vec<_> = Inputs::of(&command)
        .expect("all is there")
        .map(|(name, input)| match input {
            Ok(Input::Document(document)) => (name, document),
            _ => panic!("each line is a document"),
        })
        .collect();

    let authors: Vec<_> = documents.iter().map(|(_, document)| document.author.as_deref()).collect();
    assert_eq!(authors, [Some("Ben"), Some("Ana")]);
    assert!(documents.iter().all(|(_, document)| !document.capture_only), "a text is no file");
    assert_eq!(documents[1].1.feed.as_ref().map(|feed| feed.name.as_str()), Some("k"));
    assert!(documents[1].0.ends_with("a.jsonl:2"), "{}", documents[1].0);
}

#[test]
fn what_is_not_there_is_said_before_anything_is_sent() {
    for (arguments, words) in [
        (&["absent.md"][..], "cannot read absent.md"),
        (&["-", "-"], "once only"),
        (&["-", "https://a.example/", "--title", "A"], "--title is for one document"),
        (&["https://"], "is no URL"),
    ] {
        let refused = Inputs::of(&ingest(arguments)).map(drop).expect_err("it must be refused");
        assert!(refused.to_string().contains(words), "{refused}");
    }
}
