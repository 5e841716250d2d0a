//! Files that one process has received, at another one.

use http::Method;
use serde_json::json;

use super::Cluster;
use crate::harness::{User, guests};

const ROUNDS: usize = 12;

async fn upload(user: &User, text: &str) -> String {
    let path = "/documents/file?title=Whales";
    let stored = user.send(Method::POST, path, "application/octet-stream", text.to_owned()).await;
    assert!([200, 201].contains(&stored.status.as_u16()), "{}", stored.text());
    stored.json()["id"].as_str().expect("an id").to_owned()
}

async fn delete(user: &User, id: &str) {
    user.ask("mutation ($id: ID!) { deleteDocument(id: $id) }", json!({ "id": id })).await;
}

#[tokio::test]
async fn a_file_is_downloaded_and_found_on_another_process_and_goes_with_its_last_document() {
    let Some((cluster, pair)) = Cluster::start::<2>().await else { return };
    let [one, other] = [&pair[0], &pair[1]].map(|member| cluster.user(member, "ana"));
    let text = "Narwhals have a tusk.\n";

    let id = upload(&one, text).await;
    other.settled().await;

    let file = other.get(&format!("/documents/{id}/artifact")).await.assert_status(200);
    assert_eq!(&file.body[..], text.as_bytes());
    let found = other.ask("{ search(query: \"tusk\") { results { document { id } } } }", json!({})).await;
    assert_eq!(found["search"]["results"][0]["document"]["id"], id.as_str());
    assert_eq!(cluster.objects(), 1);

    delete(&other, &id).await;
    one.get(&format!("/documents/{id}/artifact")).await.assert_status(404);
    assert_eq!(cluster.objects(), 0);
}

#[tokio::test]
async fn a_file_that_comes_on_one_process_while_its_last_document_goes_on_another_is_there() {
    let Some((cluster, pair)) = Cluster::start::<2>().await else { return };
    let [ana, ben] = [cluster.user(&pair[0], "ana"), cluster.user(&pair[1], "ben")];

    for round in 0..ROUNDS {
        let text = format!("Narwhal number {round}.\n");
        let of_ana = upload(&ana, &text).await;
        let (of_ben, ()) = tokio::join!(upload(&ben, &text), delete(&ana, &of_ana));

        let file = ben.get(&format!("/documents/{of_ben}/artifact")).await.assert_status(200);
        assert_eq!(&file.body[..], text.as_bytes(), "round {round}");
    }
}

#[tokio::test]
async fn a_toolkit_is_compiled_from_the_shared_component_where_it_was_not_deployed() {
    let Some((cluster, pair)) = Cluster::start::<2>().await else { return };

    cluster.operator(&pair[0]).deploy(guests::HINTS.bytes()).await.assert_status(201);

    cluster.user(&pair[1], "ana").call("hints__plain", json!({})).await.text();
    assert_eq!(cluster.objects(), 1);
    for member in &pair {
        assert!(!member.data().join("components").exists(), "components are where all reach them");
    }
}
