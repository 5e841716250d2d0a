//! The audit log: each act has one entry, with the actor and the act, and without secrets.

mod anchors;
mod calls;
mod reading;
pub(crate) mod routes;
mod tampering;

use serde_json::Value;

use crate::fetch::loopback_allowed;
use crate::harness::{Kitbag, User};
pub(crate) use routes::TokenEndpoint;

/// Part of the secrets, codes, and names of keys and clients that the tests send. No entry may contain it.
const CANARY: &str = "canary-5ecret";

fn id(entry: &Value) -> i64 {
    entry["id"].as_i64().expect("a number")
}

async fn newest(operator: &User) -> i64 {
    entries(operator, "limit=1").await.first().map_or(0, id)
}

async fn entries(operator: &User, query: &str) -> Vec<Value> {
    operator.get(&format!("/audit?{query}")).await.assert_status(200).json_lines()
}

/// Starts a server with the operators `ana` and `ben`, whose toolkits may send requests to loopback.
async fn server() -> Kitbag {
    Kitbag::start_with(|settings| {
        settings.operators = "ana,ben".parse().expect("a list");
        settings.scim_user_id = "userName".parse().expect("an attribute");
        loopback_allowed(settings);
    })
    .await
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}
