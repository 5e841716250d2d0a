//! Nothing of a call is left in the memory of the next one.

use serde_json::json;

use crate::harness::{Kitbag, guests};

#[tokio::test]
async fn a_call_finds_nothing_of_the_one_before_in_its_memory() {
    // One place, so that each call gets the memory of the one before. Up to 4 MiB of it are overwritten and the rest is
    // returned to the system: one guest is below that limit, the other beyond.
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
