//! Elicitation where the answer arrives at another process than the one with the waiting call.

use serde_json::json;

use super::Cluster;
use crate::asking::{Conversation, able};
use crate::harness::{Revision, eventually, guests};

#[tokio::test]
#[ignore = "needs a database server"]
async fn an_answer_reaches_the_call_on_whichever_process_it_comes_to() {
    let (cluster, pair) = Cluster::start::<2>().await;
    cluster.operator(&pair[0]).deploy(guests::PROBE.bytes()).await.assert_status(201);
    let schema =
        json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let questions = ["a", "b"].map(|key| json!({ "key": key, "message": "Where to?", "schema": schema }));
    let arguments = json!({ "questions": questions.to_vec() });

    for revision in Revision::BOTH {
        let here = able(cluster.user(&pair[0], "ana"), revision).await;
        // The same client, whose requests go to the other process.
        let there = here.clone().through(cluster.user(&pair[1], "ana"));
        let answer = |city: &str| json!({ "action": "accept", "content": { "city": city } });

        let (mut call, first) = Conversation::begin(&here, revision, "probe__ask", arguments.clone()).await;
        let second = call.respond_as(&there, &first, answer("Oslo")).await;
        let last = call.respond_as(&there, &second, answer("Rome")).await;

        assert!(last.text().contains("Oslo") && last.text().contains("Rome"), "{revision:?}: {last:?}");
        if revision == Revision::Current {
            // The same request at the other process: the same result, and no other run.
            let again = call.respond_as(&here, &second, answer("Rome")).await;
            assert_eq!(again.text(), last.text());
            let done = async || {
                let runs = here.logs("probe").await;
                runs.iter().filter(|record| record["outcome"] == "succeeded").count()
            };
            eventually("records of the other process are visible", async || done().await > 0).await;
            assert_eq!(done().await, 1);
        }
    }
}
