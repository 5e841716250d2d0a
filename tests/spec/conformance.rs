//! MCP's own conformance suite, run against Kitbag for both revisions.
//!
//! Features that Kitbag deliberately lacks are listed in `tests/conformance/not-applicable.toml`, each
//! with its reason. A scenario that fails and is not listed fails the test; so does one that is
//! listed and passes.

mod not_applicable;
mod proxy;
mod suite;

use std::collections::BTreeMap;

use self::not_applicable::NotApplicable;
use self::proxy::Proxy;
use self::suite::Status;
use crate::harness::{Kitbag, Revision, guests};

/// Toolkits that the proxy removes when the suite asks for a change of the tool list.
const SPARE: [(&str, guests::Guest); 3] =
    [("greeter", guests::GREETER_V1), ("hints", guests::HINTS), ("text", guests::TEXT)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conformance_suite_passes_for_2026_07_28() {
    check(Revision::Current).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conformance_suite_passes_for_2025_11_25() {
    check(Revision::Older).await;
}

async fn check(revision: Revision) {
    let proxy = Proxy::bind().await;
    let kitbag = Kitbag::start_with(|settings| {
        // The suite calls the first listed tool without arguments; the server's own tools require some.
        settings.knowledge_tools = false;
        settings.listen = proxy.server_address().into();
        settings.base_url = proxy.url().parse().expect("a base URL");
    })
    .await;
    let operator = kitbag.as_operator();
    let _serving = proxy.serve(operator.clone(), SPARE.map(|(id, _)| id));
    kitbag.deploy(guests::CONFORMANCE).await;
    kitbag.deploy(guests::OFFERS).await;
    for (_, spare) in SPARE {
        kitbag.deploy(spare).await;
    }

    let outcome = suite::run(&format!("{}mcp", kitbag.base_url()), revision.version()).await;

    let not_applicable = NotApplicable::read(revision.version());
    let contradictions = not_applicable.contradictions(&outcome);
    print_totals(revision, &outcome, &not_applicable);
    assert!(contradictions.is_empty(), "\n{}", contradictions.join("\n"));
}

fn print_totals(
    revision: Revision,
    outcome: &BTreeMap<String, suite::Scenario>,
    not_applicable: &NotApplicable,
) {
    let listed = outcome.keys().filter(|name| not_applicable.is_wholly_listed(name)).count();
    let checks = || outcome.values().flat_map(|scenario| &scenario.checks);
    let count = |status| checks().filter(|check| check.status == status).count();
    println!(
        "conformance {}: {} scenarios pass, {listed} do not apply; checks: {} passed, {} warned, {} failed",
        revision.version(),
        outcome.len() - listed,
        count(Status::Success),
        count(Status::Warning),
        count(Status::Failure),
    );
    for check in checks().filter(|check| check.status == Status::Warning) {
        println!("warned: {}: {}", check.id, check.error_message.as_deref().unwrap_or_default());
    }
}
