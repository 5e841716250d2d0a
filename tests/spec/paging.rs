//! Pagination of tool lists.

use serde_json::{Value, json};

use crate::harness::{Kitbag, Revision, User, guests};

impl User {
    async fn page(&self, cursor: &Value) -> Value {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        self.request("tools/list", None, params).await["result"].take()
    }

    /// Returns the tool names on all pages from `cursor` on.
    async fn names_from(&self, mut cursor: Value) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            let mut page = self.page(&cursor).await;
            names.extend(names_on(&page));
            cursor = page["nextCursor"].take();
            if cursor.is_null() {
                return names;
            }
        }
    }
}

fn names_on(page: &Value) -> Vec<String> {
    let tools = page["tools"].as_array().unwrap_or_else(|| panic!("no tools in {page}"));
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn pages_together_are_the_whole_list_in_order() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CROWD).await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;

        let first = ana.page(&Value::Null).await;
        let names = ana.names_from(Value::Null).await;

        assert_eq!(names_on(&first).len(), 1000, "{revision:?}");
        // Always-on tools come first, regardless of their toolkit; `search` and `fetch` are the server's own.
        assert_eq!(names[..3], ["hints__always_on", "search", "fetch"], "{revision:?}");
        let crowd = (0..1250).map(|number| format!("crowd__tool_{number}"));
        assert!(names.iter().skip(3).take(1250).eq(crowd.collect::<Vec<_>>().iter()), "{revision:?}");
        assert_eq!(names.len(), 1256, "{revision:?}");
    }
}

#[tokio::test]
async fn a_list_that_fits_is_one_page() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    let page = kitbag.as_user("ana").page(&Value::Null).await;

    assert_eq!(page.get("nextCursor"), None, "{page}");
}

#[tokio::test]
async fn a_cursor_still_means_the_same_after_toolkits_came_and_went() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CROWD).await;
    kitbag.deploy(guests::TEXT).await;
    let operator = kitbag.as_operator();
    let first = operator.page(&Value::Null).await;

    // One toolkit added before the cursor, one added after it, and one removed.
    kitbag.deploy(guests::CONFORMANCE).await;
    kitbag.deploy(guests::HINTS).await;
    operator.delete("/toolkits/text").await.assert_status(204);
    let rest = operator.names_from(first["nextCursor"].clone()).await;

    let crowd = (998..1250).map(|number| format!("crowd__tool_{number}"));
    let hints = ["hints__plain", "hints__mutating", "hints__explicit"];
    assert!(rest.iter().cloned().eq(crowd.chain(hints.map(str::to_owned))), "{rest:?}");

    operator.delete("/toolkits/crowd").await.assert_status(204);
    assert_eq!(operator.names_from(first["nextCursor"].clone()).await, hints);
}

#[tokio::test]
async fn a_cursor_that_the_server_did_not_make_is_refused() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for cursor in ["", "nonsense", "e30"] {
            let reply = ana.request("tools/list", None, json!({ "cursor": cursor })).await;
            assert_eq!(reply["error"]["code"], -32602, "{revision:?} {cursor:?}: {reply}");
        }
    }
}
