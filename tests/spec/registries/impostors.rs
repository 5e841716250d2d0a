//! Registries without a component, with a redirect for it, or with a token service.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Person, password};
use crate::harness::{Impostor, Kitbag, REGISTRY_USER, Wat};

/// Starts a registry that serves this manifest for every tag, with its `mediaType` as content type.
async fn serving(manifest: Value) -> Impostor {
    Impostor::start(move |head, _| match head.uri.path() {
        path if path.contains("/manifests/") => {
            let kind = manifest["mediaType"].as_str().unwrap_or("text/plain").to_owned();
            ([("content-type", kind)], manifest.to_string()).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    })
    .await
}

fn reference_to(impostor: &Impostor) -> String {
    format!("oci://{}/wat:1", impostor.url().trim_start_matches("http://"))
}

#[tokio::test]
async fn what_is_no_component_says_what_it_is() {
    let (person, server) = (Person::new(), Kitbag::start().await);
    let oci = |kind: &str| format!("application/vnd.oci.image.{kind}.v1+json");
    let layer =
        |kind: &str| json!({ "mediaType": kind, "digest": format!("sha256:{}", "0".repeat(64)), "size": 3 });
    let with = |layers: Value| json!({ "schemaVersion": 2, "mediaType": oci("manifest"), "layers": layers });
    let huge = json!({ "mediaType": "application/wasm", "digest": format!("sha256:{}", "0".repeat(64)), "size": u64::MAX });
    let cases = [
        (
            json!({ "mediaType": oci("index"), "manifests": [{ "platform": { "os": "linux" } }, {}] }),
            "is an index of 2 platforms",
        ),
        (with(json!([layer("application/vnd.oci.image.layer.v1.tar+gzip")])), "layer.v1.tar+gzip"),
        (with(json!([])), "it has 0 layers"),
        (with(json!([layer("application/wasm"), layer("application/wasm")])), "it has 2 layers"),
        (json!({ "mediaType": "application/vnd.example+json" }), "it is of the type"),
        (json!([]), "its manifest is none"),
        (json!({ "mediaType": oci("manifest"), "layers": [{ "size": -1 }] }), "its manifest is none"),
        (with(json!([huge])), "at most 67108864 are taken"),
        (with(json!([{ "mediaType": "application/wasm", "digest": "sha512:00", "size": 1 }])), "sha512:00"),
        (with(json!([layer("application/wasm")])), "was not found there"),
    ];
    for (manifest, words) in cases {
        let impostor = serving(manifest).await;

        let refused = person.run(&server, &["toolkit", "deploy", &reference_to(&impostor)]).await;

        refused.assert_failed(words);
        let blobs = impostor.requests().iter().filter(|head| head.uri.path().contains("/blobs/")).count();
        assert_eq!(
            blobs,
            usize::from(words == "was not found there"),
            "{words}: nothing of a component is read"
        );
    }
    let refused = person.run(&server, &["toolkit", "deploy", "oci://GHCR.io/x"]).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let pushed = person.run_alone(&["toolkit", "push", "wat.wasm", "somewhere"]).await;
    assert_eq!(pushed.code, Some(2), "{pushed:?}");
    let pinned = format!("oci://ghcr.io/x@sha256:{}", "0".repeat(64));
    let pushed = person.run_alone(&["toolkit", "push", &person.component("1.0.0"), &pinned]).await;
    pushed.assert_failed("a digest names what is there already");
}

/// Starts a registry with a token service at `realm`, in which `own` stands for the registry's URL.
async fn with_tokens(component: Vec<u8>, realm: &'static str) -> Impostor {
    Impostor::start(move |head, own| -> Response {
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let layer = hex::encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &component));
        match head.uri.path() {
            "/token" => {
                let allowed = header("authorization").is_some_and(|value| value.starts_with("Basic ")) || head.method == "POST";
                let status = if allowed { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
                (status, axum::Json(json!({ "access_token": "t0ken" }))).into_response()
            }
            _ if header("authorization") != Some("Bearer t0ken") => {
                let realm = realm.replace("own", own);
                let challenge = format!("Bearer realm=\"{realm}\",service=\"test, registry\",scope=\"x\"");
                (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response()
            }
            path if path.contains("/manifests/") => axum::Json(json!({
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "layers": [{
                    "mediaType": "application/vnd.wasm.content.layer.v1+wasm", "digest": format!("sha256:{layer}"),
                    "size": component.len(),
                }],
            }))
            .into_response(),
            _ => component.clone().into_response(),
        }
    })
    .await
}

#[tokio::test]
async fn a_component_may_be_kept_elsewhere_where_no_credentials_go() {
    let (person, server) = (Person::new(), Kitbag::start().await);
    let component = Wat::default().component();
    let layer = hex::encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &component));
    let size = component.len();
    let elsewhere = Impostor::start(move |_, _| component.clone().into_response()).await;
    let place = format!("{}/bucket/blob?signed=1", elsewhere.url());
    let registry = Impostor::start(move |head, _| {
        if !head.headers.contains_key("authorization") {
            return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Basic realm=\"x\"")]).into_response();
        }
        if head.uri.path().contains("/blobs/") {
            return (StatusCode::TEMPORARY_REDIRECT, [("location", place.clone())]).into_response();
        }
        axum::Json(json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "layers": [{ "mediaType": "application/wasm", "digest": format!("sha256:{layer}"), "size": size }],
        }))
        .into_response()
    })
    .await;
    person.sign_in(registry.url().trim_start_matches("http://"), &password(REGISTRY_USER.1));

    let deployed = person.run(&server, &["toolkit", "deploy", &reference_to(&registry)]).await.succeeded();

    assert!(deployed.contains("wat 1.0.0 is live"), "{deployed}");
    let asked = elsewhere.requests();
    assert_eq!(asked.iter().map(|head| head.uri.to_string()).collect::<Vec<_>>(), ["/bucket/blob?signed=1"]);
    assert!(!asked[0].headers.contains_key("authorization"), "{:?}", asked[0].headers);
}

#[tokio::test]
async fn a_place_that_the_registry_leads_to_gets_no_credentials_for_asking() {
    let (person, server) = (Person::new(), Kitbag::start().await);
    let thief = Impostor::start(|_, _| StatusCode::NOT_FOUND.into_response()).await;
    let realm = format!("{}/token", thief.url());
    let elsewhere = Impostor::start(move |_, _| {
        let challenge = format!("Bearer realm=\"{realm}\"");
        (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response()
    })
    .await;
    let place = format!("{}/bucket", elsewhere.url());
    let registry = Impostor::start(move |head, _| {
        if head.headers.contains_key("authorization") {
            (StatusCode::TEMPORARY_REDIRECT, [("location", place.clone())]).into_response()
        } else {
            (StatusCode::UNAUTHORIZED, [("www-authenticate", "Basic realm=\"x\"")]).into_response()
        }
    })
    .await;
    person.sign_in(registry.url().trim_start_matches("http://"), &password(REGISTRY_USER.1));

    let refused = person.run(&server, &["toolkit", "deploy", &reference_to(&registry)]).await;

    assert!(!refused.stderr.is_empty() && refused.code != Some(0), "{refused:?}");
    assert!(!elsewhere.requests().is_empty(), "it was led there");
    assert!(thief.requests().is_empty(), "{:?}", thief.requests());
}

#[tokio::test]
async fn a_registry_may_want_a_token_of_a_service_that_it_names() {
    let (person, server) = (Person::new(), Kitbag::start().await);
    let component = Wat::default().component();
    let registry = with_tokens(component.clone(), "own/token?x=1").await;
    let reference = reference_to(&registry);
    let host = registry.url().trim_start_matches("http://");

    let anonymous = person.run(&server, &["toolkit", "deploy", &reference]).await;
    anonymous.assert_failed("no Docker credentials for it");
    for credential in [password("any"), json!({ "identitytoken": "long-lived" })] {
        person.sign_in(host, &credential);
        let deployed = person.run(&server, &["toolkit", "deploy", &reference]).await.succeeded();
        assert!(deployed.contains("wat 1.0.0 is live"), "{deployed}");
    }
    let asked: Vec<_> = registry.requests().into_iter().filter(|head| head.uri.path() == "/token").collect();
    let query = asked[0].uri.query().unwrap_or_default();
    assert_eq!(query, "x=1&scope=repository%3Awat%3Apull&service=test%2C+registry");
    assert_eq!(asked.last().map(|head| head.method.as_str()), Some("POST"), "an identity token is exchanged");

    // Credentials are not sent unencrypted.
    let leaking = with_tokens(component, "http://tokens.example/token").await;
    person.sign_in(leaking.url().trim_start_matches("http://"), &password("any"));
    let refused = person.run(&server, &["toolkit", "deploy", &reference_to(&leaking)]).await;
    refused.assert_failed("which is not protected");
}

#[tokio::test]
async fn docker_credentials_that_cannot_be_read_are_said_to_be_so() {
    let (person, server) = (Person::new(), Kitbag::start().await);
    let registry = with_tokens(Wat::default().component(), "own/token").await;
    for broken in ["{", "[]", "{\"auths\": 3}"] {
        let file = person.write("docker/config.json", broken);

        let refused = person.run(&server, &["toolkit", "deploy", &reference_to(&registry)]).await;

        refused.assert_failed(&file);
        refused.assert_failed("JSON as Docker writes it");
    }
}

#[tokio::test]
async fn a_signature_that_is_none_is_left_out_by_whoever_does_without() {
    let (person, server) = (Person::new(), Kitbag::start().await);
    let component = Wat::default().component();
    let layer = hex::encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &component));
    let registry = Impostor::start(move |head, _| {
        if head.uri.path().contains("/blobs/") {
            return component.clone().into_response();
        }
        axum::Json(json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "layers": [{
                "mediaType": "application/wasm", "digest": format!("sha256:{layer}"), "size": component.len(),
                "annotations": { "dev.cosignproject.cosign/signature": "junk" },
            }],
        }))
        .into_response()
    })
    .await;
    let reference = reference_to(&registry);

    let refused = person.run(&server, &["toolkit", "deploy", &reference]).await;

    refused
        .assert_failed("the annotation dev.cosignproject.cosign/signature of its layer is not a signature");
    refused.assert_failed("--unsigned deploys it without");
    let deployed = person.run(&server, &["toolkit", "deploy", &reference, "--unsigned"]).await.succeeded();
    assert!(deployed.contains("not signed"), "{deployed}");
}
