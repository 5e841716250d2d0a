//! `scim2-tester`, which checks a server against RFC 7643 and RFC 7644.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::{provider, server};
use crate::harness::clients;

#[tokio::test]
async fn scim2_tester_finds_nothing_wrong() {
    let server = server().await;
    let provider = provider(&server).await;
    let folder = clients().join("scim");
    let python = folder.join(".venv/bin/python");
    assert!(python.exists(), "scripts/install-python-packages clients");

    let url = format!("{}scim/v2", server.base_url());
    let command = Command::new(python)
        .args(["check.py", &url, provider.token()])
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(Duration::from_mins(2), command).await.expect("it ends").expect("it runs");

    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // What it checks, so that a checker that skips everything is noticed.
    assert!(said.lines().filter(|line| line.starts_with("SUCCESS")).count() >= 40, "{said}");
}
