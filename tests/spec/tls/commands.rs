//! Commands against a TLS server with a certificate of a private authority.

use std::path::Path;

use tokio::process::Command;

use super::Certified;
use crate::harness::{guests, kitbag, run};

/// Command for the server of a data directory, which trusts the certificates in the file `authorities`.
fn command(data: &Path, authorities: Option<&Path>, arguments: &[&str]) -> Command {
    let mut command = kitbag(arguments);
    command.arg("--data").arg(data);
    command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
    command.envs(authorities.map(|file| ("SSL_CERT_FILE", file)));
    command
}

#[tokio::test]
async fn commands_reach_it_by_its_data_directory_and_by_its_url() {
    let (certified, data) = (Certified::new(), tempfile::tempdir().expect("a scratch directory"));
    let server = certified.process(data.path()).await;
    assert_eq!(server.base_url().scheme(), "https");
    let folder = tempfile::tempdir().expect("a scratch directory");
    let trusted = folder.path().join("authority.pem");
    std::fs::write(&trusted, certified.authority.pem()).expect("a file");
    let component = guests::HINTS.path();
    let component = component.to_str().expect("UTF-8");

    let deployed = run(command(data.path(), Some(&trusted), &["toolkit", "deploy", component])).await;
    assert!(deployed.succeeded().contains("hints"));
    let called = run(command(data.path(), Some(&trusted), &["tool", "call", "hints", "plain", "{}"])).await;
    assert!(called.succeeded().contains("plain"));
    let url = server.base_url().as_str();
    let listed = run(command(data.path(), Some(&trusted), &["toolkit", "list", "--server", url])).await;
    assert!(listed.succeeded().contains("hints"));

    let distrusted = run(command(data.path(), None, &["toolkit", "list"])).await;
    distrusted.assert_failed("did not offer a trustworthy TLS connection");
    distrusted.assert_failed("SSL_CERT_FILE");
    let plain = url.replace("https://", "http://");
    let mut told = command(data.path(), Some(&trusted), &["toolkit", "list", "--server", &plain]);
    told.env("KITBAG_TOKEN", "any");
    run(told).await.assert_failed("This port speaks HTTPS");
}

#[tokio::test]
async fn doctor_says_what_is_wrong_with_the_certificate() {
    let (certified, data) = (Certified::new(), tempfile::tempdir().expect("a scratch directory"));
    drop(certified.process(data.path()).await);
    let doctor = async || {
        let mut command = command(data.path(), None, &["doctor", "--quick"]);
        command
            .env("KITBAG_TLS_CERTIFICATE", &certified.files.certificate)
            .env("KITBAG_TLS_KEY", &certified.files.key);
        run(command).await
    };

    let well = doctor().await.succeeded();
    assert!(well.contains("the certificate is valid until"), "{well}");
    certified.authority.issue_for_days(&["127.0.0.1"], 3).write_over(&certified.files);
    let soon = doctor().await;
    assert_eq!(soon.code, Some(5), "{soon:?}");
    assert!(soon.stdout.contains("expires soon"), "{soon:?}");
    std::fs::write(&certified.files.key, "").expect("it is ours");
    let broken = doctor().await;
    assert!(broken.stdout.contains("has no private key"), "{broken:?}");
}
