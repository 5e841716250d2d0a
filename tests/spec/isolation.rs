//! Memory isolation of calls: data of a call is not visible in the memory of the next call.

use serde_json::json;

use crate::harness::{Kitbag, guests};

#[tokio::test]
async fn a_call_finds_nothing_of_the_one_before_in_its_memory() {
    // One slot, so that each call reuses the memory of the previous call. The first 4 MiB are overwritten,
    // the rest is returned to the system: 1 MiB tests the former, 12 MiB both.
    let kitbag = Kitbag::start_with(|settings| settings.concurrent_calls = 1).await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");

    for mib in [1, 12] {
        for _ in 0..20 {
            let count = async |tool: &str| -> usize {
                let found = ana.call(&format!("hostile__{tool}"), json!({ "mib": mib })).await;
                found.text().parse().expect("a number")
            };

            assert!(count("leave_marks").await > mib * (1 << 17), "{mib}: marks are found where they are");
            assert_eq!(count("count_marks").await, 0, "{mib}");
        }
    }
}
