//! The end of a user's access, on each process of a service.

use std::time::Duration;

use kitbag_database::Database;
use kitbag_database::audit::Actor;
use kitbag_identity::Users;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Cluster, Member};
use crate::harness::{Revision, User, eventually, guests, within};

const ROUNDS: usize = 20;

/// A process that is not one of the members, and sends no hints: users as they are in the database.
async fn users(cluster: &Cluster) -> Users {
    let database =
        Database::connect(cluster.database_url().as_str(), 2).await.expect("the database is there");
    Users::open(database).await.expect("the database answers")
}

async fn end(users: &Users, user: &str) {
    users.end(user, &Actor::user_only("operator")).await.expect("it ends");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_was_issued_before_the_end_is_refused_by_the_next_request_on_each_process() {
    let (cluster, pair) = Cluster::start::<2>().await;
    let users = users(&cluster).await;

    for round in 0..ROUNDS {
        let name = format!("ana-{round}");
        let clients = pair.each_ref().map(|member| cluster.user(member, &name));
        let made =
            clients[round % 2].post("/keys", &json!({ "name": "report" })).await.assert_status(201).json();
        let key = made["key"].as_str().expect("the key, once");
        let programs = pair.each_ref().map(|member| User::new(member.http(), key));
        for user in clients.iter().chain(&programs) {
            user.get("/toolkits").await.assert_status(200);
        }

        end(&users, &name).await;

        for user in clients.iter().chain(&programs) {
            user.post_mcp("tools/list", None, json!({})).await.assert_status(401);
            user.get("/toolkits").await.assert_status(401);
        }
        for member in &pair {
            cluster.user(member, &format!("{name}0")).get("/toolkits").await.assert_status(200);
        }
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn streams_and_calls_on_each_process_end_within_about_a_second() {
    let (cluster, pair) = Cluster::start::<2>().await;
    cluster.operator(&pair[0]).deploy(guests::HOSTILE.bytes()).await.assert_status(201);
    let users = users(&cluster).await;
    let mut slowest = Duration::ZERO;

    for (round, revision) in Revision::BOTH.into_iter().cycle().take(6).enumerate() {
        let name = format!("ana-{round}");
        let mut streams = Vec::new();
        for member in &pair {
            let ana = cluster.user(member, &name).speaking(revision).await;
            streams.push(ana.listen().await);
            let call = json!({ "name": "hostile__sleep_poll", "arguments": {} });
            tokio::spawn(async move { ana.post_mcp("tools/call", Some("hostile__sleep_poll"), call).await });
        }
        let mut of_ben = cluster.user(&pair[1], "ben").listen().await;
        sleep(Duration::from_millis(200)).await;

        let begun = Instant::now();
        end(&users, &name).await;
        for stream in streams {
            stream.rest().await;
        }

        slowest = slowest.max(begun.elapsed());
        let more = tokio::time::timeout(Duration::from_millis(100), async {
            while of_ben.message().await.is_some() {}
        });
        assert!(more.await.is_err(), "another user's goes on");
    }
    assert!(slowest < Duration::from_secs(3), "{slowest:?}");
    println!("slowest end of two streams: {slowest:?}");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn whoever_signs_in_again_is_there_again_on_each_process_and_nothing_of_before_revives() {
    let (cluster, pair) = Cluster::start::<2>().await;
    let users = users(&cluster).await;
    let before = pair.each_ref().map(|member| cluster.user(member, "ana"));
    before[0].get("/toolkits").await.assert_status(200);
    let recorded = async || {
        let known = users.get("ana").await.expect("the database answers");
        known.is_some_and(|known| known.sign_ins.is_some())
    };
    eventually("the sign-in is recorded", recorded).await;

    end(&users, "ana").await;
    for user in &before {
        user.get("/toolkits").await.assert_status(401);
    }
    // A token of the first minute may be of before: the clocks of a provider and of this service differ.
    cluster.user(&pair[0], "ana").get("/toolkits").await.assert_status(401);
    sleep(Duration::from_millis(1100)).await;
    let later = |member: &Member| cluster.user_later(member, "ana");

    let again = later(&pair[1]);
    again.get("/toolkits").await.assert_status(200);
    let made = again.post("/keys", &json!({ "name": "report" })).await.assert_status(201).json();
    let key = made["key"].as_str().expect("the key, once");
    for member in &pair {
        later(member).get("/toolkits").await.assert_status(200);
        User::new(member.http(), key).get("/toolkits").await.assert_status(200);
    }
    for user in &before {
        user.get("/toolkits").await.assert_status(401);
    }
    // A process that joins now has seen none of it.
    let joined = within("the third process", cluster.join("third")).await;
    cluster.user(&joined, "ana").get("/toolkits").await.assert_status(401);
    later(&joined).get("/toolkits").await.assert_status(200);
    let ana = users.get("ana").await.expect("the database answers").expect("she is known");
    assert!(!ana.is_ended() && ana.ended.is_some(), "{ana:?}");
}
