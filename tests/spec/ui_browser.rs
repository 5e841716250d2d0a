//! Pages in a real browser: runs `tests/browser`, one file per test.
//!
//! Each file starts its own servers, with the program and the components of these tests.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::harness::{AccountProvider, root};

/// Time limit for all tests of one file.
const FILE_TIMEOUT: Duration = Duration::from_mins(8);

#[tokio::test]
async fn a_person_connects_an_account_at_a_provider_and_ends_it() {
    let _turn = AccountProvider::turn().await;
    passes("account.test.mjs").await;
}

#[tokio::test]
async fn every_page_is_accessible_and_keeps_its_budget() {
    passes("every_page.test.mjs").await;
}

#[tokio::test]
async fn people_sign_in_and_lose_nothing_when_their_session_ends() {
    passes("sign_in.test.mjs").await;
}

#[tokio::test]
async fn a_toolkits_page_works_without_scripts_and_with_the_keyboard() {
    passes("toolkit.test.mjs").await;
}

#[tokio::test]
async fn a_secret_is_in_no_page_and_no_history() {
    passes("secrets.test.mjs").await;
}

#[tokio::test]
async fn strangers_text_stays_text() {
    passes("strangers_text.test.mjs").await;
}

#[tokio::test]
async fn pages_of_others_reach_nothing() {
    passes("other_pages.test.mjs").await;
}

#[tokio::test]
async fn operators_review_deploy_and_go_back() {
    passes("operate.test.mjs").await;
}

#[tokio::test]
async fn a_followed_log_is_live_and_lets_its_connection_go() {
    passes("log.test.mjs").await;
}

#[test]
fn every_file_of_browser_tests_is_run() {
    let source = include_str!("ui_browser.rs");
    let files = std::fs::read_dir(root().join("tests/browser")).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"));
    let tests: Vec<_> = names.filter(|name| name.ends_with(".test.mjs")).collect();

    assert!(!tests.is_empty());
    for name in tests {
        assert!(source.contains(&format!("passes(\"{name}\")")), "{name}");
    }
}

/// Runs the tests of a file; panics with their output unless all pass.
async fn passes(file: &str) {
    let folder = root().join("tests/browser");
    assert!(folder.join("node_modules").is_dir(), "run `just install`");
    let mut command = Command::new("node");
    command
        .args(["--test", file])
        .current_dir(folder)
        .env("TEST_KITBAG", env!("CARGO_BIN_EXE_kitbag"))
        .env("TEST_COMPONENTS", root().join("target-guests/components"))
        .stdin(Stdio::null())
        .kill_on_drop(true);

    let ran = timeout(FILE_TIMEOUT, command.output()).await.expect("the tests end").expect("there is node");

    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    println!("{said}");
}
