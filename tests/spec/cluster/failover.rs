//! Failover of the database to a standby that lacks the last change.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::process::{Child, Command};
use tokio::time::sleep;
use url::Url;

use super::members::free_address;
use super::{Cluster, Link};
use crate::harness::{User, eventually, guests, root};

/// Standby of the tests' PostgreSQL server. Stopped when dropped.
struct Standby {
    server: Child,
    url: Url,
}

impl Standby {
    /// Starts a standby as a copy of the server of this database.
    async fn of(database: &Url) -> Self {
        let port = free_address().port();
        let mut url = database.clone();
        url.set_port(Some(port)).expect("a port");
        let server = Command::new(root().join("scripts/with-postgres"))
            .args(["--standby", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a server to copy");
        let standby = Self { server, url };
        eventually("the standby answers", async || standby.try_to_ask("SELECT TRUE").await.is_ok()).await;
        standby
    }

    async fn try_to_ask(&self, sql: &'static str) -> sqlx::Result<bool> {
        let mut session = PgConnection::connect(self.url.as_str()).await?;
        sqlx::query_scalar(sql).fetch_one(&mut session).await
    }

    /// Stops the replication to the standby.
    async fn cut_off(&self) {
        let mut session = PgConnection::connect(self.url.as_str()).await.expect("it runs");
        for sql in ["ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"] {
            sqlx::query(sql).execute(&mut session).await.expect("it is ours");
        }
        eventually("it receives nothing", async || {
            let idle = "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)";
            self.try_to_ask(idle).await.expect("it runs")
        })
        .await;
    }

    async fn promote(&self) {
        assert!(self.try_to_ask("SELECT pg_promote()").await.expect("it runs"));
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        let Some(id) = self.server.id() else { return };
        // SIGQUIT also ends the child processes of PostgreSQL.
        let _ = std::process::Command::new("kill").args(["-QUIT", &id.to_string()]).status();
    }
}

/// Repeats a call until the status is not 503, and returns that response.
async fn first_answer(user: &User, tool: &str) -> Value {
    for _ in 0..600 {
        let answer = user
            .post_mcp("tools/call", Some(tool), json!({ "name": tool, "arguments": { "name": "Ana" } }))
            .await;
        if answer.status != 503 {
            return answer.json();
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("the process does not find the new primary");
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_a_promoted_standby_never_had_is_served_by_no_process() {
    let cluster = Cluster::new().await;
    let primary = cluster.database_url();
    let link = Link::to(&primary).await;
    let through = link.through(&primary);
    let member = cluster.join_with("one", |command| {
        command.env("KITBAG_DATABASE", through.as_str());
    });
    let member = member.await;
    let (operator, ana) = (cluster.operator(&member), cluster.user(&member, "ana"));
    operator.deploy(guests::HINTS.bytes()).await.assert_status(201);

    let standby = Standby::of(&primary).await;
    standby.cut_off().await;
    operator.deploy(guests::GREETER_V1.bytes()).await.assert_status(201);
    assert_eq!(operator.call("greeter__greet", json!({ "name": "Ana" })).await.text(), "Hello, Ana!");
    standby.promote().await;
    // Another change of the registry brings its generation to the one that the process has already read.
    let beside = cluster.join_with("two", |command| {
        command.env("KITBAG_DATABASE", standby.url.as_str());
    });
    cluster.operator(&beside.await).deploy(guests::PROBE.bytes()).await.assert_status(201);

    link.redirect(&standby.url);

    let answer = first_answer(&operator, "greeter__greet").await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(ana.call("hints__plain", json!({})).await.text(), "plain");
    eventually("what the new primary has is served", async || {
        ana.tool_names().await.iter().any(|name| name.starts_with("probe__"))
    })
    .await;
}
