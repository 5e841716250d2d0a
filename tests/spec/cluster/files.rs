//! Files that one process stores and another process uses.

use http::Method;
use serde_json::json;

use super::{Cluster, Files, Link, bucket_server};
use crate::harness::{Answer, User, guests};

const ROUNDS: usize = 12;

async fn try_to_upload(user: &User, text: &str) -> Answer {
    let path = "/documents/file?title=Whales";
    user.send(Method::POST, path, "application/octet-stream", text.to_owned()).await
}

async fn upload(user: &User, text: &str) -> String {
    let stored = try_to_upload(user, text).await;
    assert!([200, 201].contains(&stored.status.as_u16()), "{}", stored.text());
    stored.json()["id"].as_str().expect("an id").to_owned()
}

/// Deletes a document for good.
async fn delete(user: &User, id: &str) {
    let delete = "mutation ($id: ID!) { deleteDocument(id: $id) purgeDocuments(chosen: { ids: [$id] }) }";
    user.ask(delete, json!({ "id": id })).await;
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_file_is_downloaded_and_found_on_another_process_and_goes_with_its_last_document_in_a_folder() {
    downloaded_elsewhere(Files::Folder).await;
}

#[tokio::test]
#[ignore = "needs a database server and S3"]
async fn a_file_is_downloaded_and_found_on_another_process_and_goes_with_its_last_document_in_a_bucket() {
    downloaded_elsewhere(Files::Bucket).await;
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_file_that_comes_on_one_process_while_its_last_document_goes_on_another_is_there_in_a_folder() {
    coming_and_going(Files::Folder).await;
}

#[tokio::test]
#[ignore = "needs a database server and S3"]
async fn a_file_that_comes_on_one_process_while_its_last_document_goes_on_another_is_there_in_a_bucket() {
    coming_and_going(Files::Bucket).await;
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_toolkit_is_compiled_from_the_shared_component_where_it_was_not_deployed_in_a_folder() {
    compiled_elsewhere(Files::Folder).await;
}

#[tokio::test]
#[ignore = "needs a database server and S3"]
async fn a_toolkit_is_compiled_from_the_shared_component_where_it_was_not_deployed_in_a_bucket() {
    compiled_elsewhere(Files::Bucket).await;
}

#[tokio::test]
#[ignore = "needs a database server and S3"]
async fn while_the_bucket_is_silent_calls_and_searches_go_on_and_nothing_is_stored() {
    let cluster = Cluster::with(Files::Bucket).await;
    let link = Link::to(&bucket_server()).await;
    let member = cluster.join_with("one", |command| {
        command.env("KITBAG_OBJECTS_ENDPOINT", link.origin());
    });
    let member = member.await;
    let (operator, ana) = (cluster.operator(&member), cluster.user(&member, "ana"));
    operator.deploy(guests::HINTS.bytes()).await.assert_status(201);
    upload(&ana, "Narwhals have a tusk.\n").await;
    ana.settled().await;

    link.fall_silent();
    let refused = async {
        let (file, toolkit) = tokio::join!(
            try_to_upload(&ana, "Belugas are white.\n"),
            operator.deploy(guests::GREETER_V1.bytes()),
        );
        for answer in [file, toolkit] {
            assert!(answer.header("retry-after").is_some(), "{}", answer.text());
            answer.assert_status(503);
        }
    };
    let served = async {
        ana.call("hints__plain", json!({})).await.text();
        let found = ana.ask("{ search(query: \"tusk\") { results { document { id } } } }", json!({})).await;
        assert_eq!(found["search"]["results"].as_array().expect("a list").len(), 1);
    };
    tokio::join!(refused, served);

    link.speak_again();
    upload(&ana, "Belugas are white.\n").await;
    operator.deploy(guests::GREETER_V1.bytes()).await.assert_status(201);
}

async fn downloaded_elsewhere(files: Files) {
    let (cluster, pair) = Cluster::start_with::<2>(files).await;
    let [one, other] = [&pair[0], &pair[1]].map(|member| cluster.user(member, "ana"));
    let text = "Narwhals have a tusk.\n";

    let id = upload(&one, text).await;
    other.settled().await;

    let file = other.get(&format!("/documents/{id}/artifact")).await.assert_status(200);
    assert_eq!(&file.body[..], text.as_bytes());
    let found = other.ask("{ search(query: \"tusk\") { results { document { id } } } }", json!({})).await;
    assert_eq!(found["search"]["results"][0]["document"]["id"], id.as_str());
    assert_eq!(cluster.objects().await, 1);

    delete(&other, &id).await;
    one.get(&format!("/documents/{id}/artifact")).await.assert_status(404);
    assert_eq!(cluster.objects().await, 0);
}

async fn coming_and_going(files: Files) {
    let (cluster, pair) = Cluster::start_with::<2>(files).await;
    let [ana, ben] = [cluster.user(&pair[0], "ana"), cluster.user(&pair[1], "ben")];

    for round in 0..ROUNDS {
        let text = format!("Narwhal number {round}.\n");
        let of_ana = upload(&ana, &text).await;
        let (of_ben, ()) = tokio::join!(upload(&ben, &text), delete(&ana, &of_ana));

        let file = ben.get(&format!("/documents/{of_ben}/artifact")).await.assert_status(200);
        assert_eq!(&file.body[..], text.as_bytes(), "round {round}");
    }
}

async fn compiled_elsewhere(files: Files) {
    let (cluster, pair) = Cluster::start_with::<2>(files).await;

    cluster.operator(&pair[0]).deploy(guests::HINTS.bytes()).await.assert_status(201);

    cluster.user(&pair[1], "ana").call("hints__plain", json!({})).await.text();
    assert_eq!(cluster.objects().await, 1);
    for member in &pair {
        assert!(!member.data().join("components").exists(), "components are where all reach them");
    }
}
