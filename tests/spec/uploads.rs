//! Uploads that are not valid toolkits: refused with all reasons, and no files are left behind.

use serde_json::json;

use crate::harness::wat::versioned;
use crate::harness::{Answer, Guest, Kitbag, Wat, eventually, guests, send_raw};

/// Asserts that earlier uploads left no files behind, and that a toolkit can be deployed and called.
async fn assert_unharmed(kitbag: &Kitbag) {
    eventually("no upload is left", async || kitbag.files("uploads").is_empty()).await;
    assert_eq!(kitbag.files("components"), [""; 0], "a refused component was kept");
    assert_eq!(kitbag.files("code"), [""; 0], "machine code of a refused component was kept");

    kitbag.deploy(guests::HINTS).await;
    let served = kitbag.as_user("ana").call("hints__plain", json!({})).await;
    assert_eq!(served.text(), "plain");
}

/// Uploads `guest`, which must be refused, and returns the problems.
async fn refused(kitbag: &Kitbag, guest: Guest) -> Vec<(String, String)> {
    let answer = kitbag.as_operator().deploy(guest.bytes()).await;
    answer.assert_problem(422, "refused").problems()
}

#[track_caller]
fn assert_only_problem(answer: &Answer, path: &str, words: &str) {
    let problems = answer.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, path);
    assert!(problems[0].1.contains(words), "{problems:?}");
}

#[tokio::test]
async fn bytes_that_are_no_component_are_refused() {
    let kitbag = Kitbag::start().await;
    let core_module = b"\0asm\x01\0\0\0".to_vec();
    let mut damaged = guests::TEXT.bytes();
    damaged[64..512].fill(0xff);
    let mut cut = guests::TEXT.bytes();
    cut.truncate(cut.len() / 2);

    for (bytes, words) in [
        (Vec::new(), "not a valid WebAssembly component"),
        (b"<html>".to_vec(), "not a valid WebAssembly component"),
        (core_module, "core WebAssembly module"),
        (damaged, "not a valid WebAssembly component"),
        (cut, "not a valid WebAssembly component"),
    ] {
        let answer = kitbag.as_operator().deploy(bytes).await.assert_problem(422, "refused");
        assert_only_problem(&answer, "component", words);
    }

    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_component_of_another_world_is_refused() {
    let kitbag = Kitbag::start().await;

    let answer =
        kitbag.as_operator().deploy(guests::OTHER_WORLD.bytes()).await.assert_problem(422, "refused");

    assert_only_problem(&answer, "component", "but greet; build it for the world toolkit");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn an_interface_in_a_version_that_does_not_exist_is_refused_and_not_found_out_by_the_first_call() {
    let kitbag = Kitbag::start().await;
    let (real, invented) = (versioned("secrets"), "kitbag:toolkit/secrets@9.9.9");
    assert_eq!(real.len(), invented.len(), "the versions are as long as one another");
    let mut bytes = guests::PROBE.bytes();
    for place in 0..bytes.len() - real.len() {
        if bytes[place..].starts_with(real.as_bytes()) {
            bytes[place..place + invented.len()].copy_from_slice(invented.as_bytes());
        }
    }

    let answer = kitbag.as_operator().deploy(bytes).await.assert_problem(422, "refused");

    assert_only_problem(&answer, "imports", "does not fit the contract");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn an_interface_that_no_toolkit_may_use_is_refused_by_name() {
    let kitbag = Kitbag::start().await;
    let world = format!(
        "package test:wat;
        world wat {{ import wasi:keyvalue/store@0.2.0; export {tools}; }}
        package wasi:keyvalue@0.2.0 {{ interface store {{ open: func(); }} }}",
        tools = versioned("tools"),
    );
    let imports = r#"(import "wasi:keyvalue/store@0.2.0" "open" (func))"#;
    let component = Wat { world: &world, imports, ..Wat::default() }.component();

    let answer = kitbag.as_operator().deploy(component).await.assert_problem(422, "refused");

    assert_only_problem(
        &answer,
        "imports.wasi:keyvalue/store",
        "build it for a world that does not import it",
    );
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_component_that_imports_more_than_it_declares_learns_what_to_declare() {
    let kitbag = Kitbag::start().await;

    let problems = refused(&kitbag, guests::OVERREACH).await;

    let found = |path: &str, words: &str| problems.iter().any(|(at, why)| at == path && why.contains(words));
    assert!(found("imports.kitbag:toolkit/secrets", "a name in secrets"), "{problems:?}");
    assert!(found("imports.wasi:http/outgoing-handler", "a host in egress"), "{problems:?}");
    assert!(found("imports.kitbag:toolkit/search", "the scope svc:search"), "{problems:?}");
    assert!(found("imports.kitbag:toolkit/ingest", "the scope svc:ingest"), "{problems:?}");
    assert_eq!(problems.len(), 4, "{problems:?}");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn all_mistakes_of_a_declaration_are_reported_at_once_each_with_its_path() {
    let kitbag = Kitbag::start().await;

    let problems = refused(&kitbag, guests::TEN_MISTAKES).await;

    for path in [
        "id",
        "name",
        "description",
        "icon",
        "version",
        "author",
        "tools[0].name",
        "tools[0].input",
        "tools[1].output",
        "tools[2].name",
        "tools[2].title",
        "tools[2].description",
        "secrets[0]",
        "secrets[2]",
        "egress[0]",
        "egress[1]",
        "egress[2]",
        "scopes[0]",
        "config.no-identifier",
        "config.nothing_to_choose",
        "config.wrong_default",
        "auth.tokenUrl",
        "auth.clientIdSecret",
        "auth.clientSecretSecret",
        "auth.apiHost",
    ] {
        assert!(problems.iter().any(|(at, _)| at.starts_with(path)), "nothing about {path} in {problems:#?}");
    }
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_declaration_that_takes_for_ever_is_given_up() {
    let kitbag = Kitbag::start().await;

    let problems = refused(&kitbag, guests::DESCRIBE_SPINS).await;

    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, "describe");
    assert!(problems[0].1.contains("did not answer within"), "{problems:?}");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_component_that_uses_a_capability_to_describe_itself_is_refused() {
    let kitbag = Kitbag::start().await;

    let problems = refused(&kitbag, guests::DESCRIBE_USES_SECRET).await;

    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, "describe");
    assert!(problems[0].1.contains("kitbag:toolkit/secrets"), "{problems:?}");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let kitbag = Kitbag::start().await;
    let component = guests::TEXT.bytes();
    let authorization = kitbag.as_operator().headers()["authorization"].to_str().expect("ASCII").to_owned();
    let head = format!(
        "POST /toolkits HTTP/1.1\r\nHost: {}\r\nAuthorization: {authorization}\r\n\
         Content-Type: application/wasm\r\nContent-Length: {}\r\n\r\n",
        kitbag.base_url().authority(),
        component.len()
    );
    let begun = [head.as_bytes(), &component[..component.len() / 2]].concat();

    let answer = send_raw(kitbag.base_url(), &begun).await;

    assert!(!answer.contains("201"), "half a component was deployed: {answer}");
    assert_eq!(kitbag.as_operator().get("/toolkits").await.json(), json!([]));
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn an_upload_may_be_as_large_as_the_setting_and_no_larger() {
    let hints = guests::HINTS.bytes();
    let text = guests::TEXT.bytes();
    assert!(hints.len() < text.len(), "the test needs a smaller and a larger component");
    let limit = hints.len();
    let kitbag = Kitbag::start_with(|settings| {
        settings.component_size = limit.to_string().parse().expect("a size");
    })
    .await;

    let answer = kitbag.as_operator().deploy(text).await;

    answer.assert_problem(413, &format!("larger than {limit} bytes"));
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn an_upload_says_that_it_is_a_component() {
    let kitbag = Kitbag::start().await;

    let answer = kitbag.as_operator().upload("application/octet-stream", guests::TEXT.bytes()).await;

    answer.assert_problem(415, "application/wasm");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_uploading() {
    // Far more than the buffers of a connection.
    let large = vec![0; 16 << 20];
    let kitbag =
        Kitbag::start_with(|settings| settings.component_size = "12MiB".parse().expect("a size")).await;

    let anonymous = kitbag.with_token("nonsense").deploy(large.clone()).await;
    let user = kitbag.as_user("ana").deploy(large.clone()).await;
    let mislabelled = kitbag.as_operator().upload("text/html", large.clone()).await;
    let too_large = kitbag.as_operator().deploy(large).await;

    let answers = [anonymous, user, mislabelled, too_large].map(|answer| answer.status.as_u16());
    assert_eq!(answers, [401, 403, 415, 413]);
}
