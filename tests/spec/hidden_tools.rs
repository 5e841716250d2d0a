//! Hidden toolkits and tools: users hide them from their models.

use serde_json::{Value, json};

use crate::harness::{Kitbag, Revision, User, Visitor, guests};

impl User {
    async fn hide(&self, toolkit: &str, tool: &str) {
        let query = if tool.is_empty() { String::new() } else { format!("?tool={tool}") };
        self.post(&format!("/toolkits/{toolkit}/hide{query}"), &json!(null)).await.assert_status(204);
    }

    async fn show_again(&self, toolkit: &str, tool: &str) {
        let query = if tool.is_empty() { String::new() } else { format!("?tool={tool}") };
        self.post(&format!("/toolkits/{toolkit}/show-again{query}"), &json!(null)).await.assert_status(204);
    }

    async fn sees(&self, tool: &str) -> bool {
        self.all_tools().await.iter().any(|listed| listed["name"] == tool)
    }

    /// Calls a tool; returns whether the call is refused because its user has hidden the tool.
    async fn is_refused(&self, tool: &str, arguments: Value) -> bool {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = self.request("tools/call", Some(tool), params).await;
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        message.contains("hidden from models by its user") && message.contains("show-again")
    }
}

#[tokio::test]
async fn what_is_hidden_is_neither_listed_nor_called_until_it_is_shown_again() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    kitbag.deploy(guests::HINTS).await;
    let ben = kitbag.as_user("ben");

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        ana.hide("text", "count").await;
        assert!(!ana.sees("text__count").await && ana.sees("text__diff").await, "{revision:?}");
        assert!(ana.is_refused("text__count", json!({ "text": "a" })).await);
        ana.call("text__diff", json!({ "before": "a", "after": "b" })).await.structured();

        ana.hide("hints", "").await;
        assert!(ana.tool_names().await.iter().all(|name| name.starts_with("text__")));
        assert!(ana.is_refused("hints__plain", json!({})).await);
        assert!(ben.sees("hints__plain").await && ben.sees("text__count").await, "others hide nothing");
        ben.call("text__count", json!({ "text": "a" })).await.structured();

        ana.show_again("text", "count").await;
        ana.show_again("hints", "").await;
        assert!(ana.sees("text__count").await && ana.sees("hints__plain").await);
        assert!(!ana.is_refused("hints__plain", json!({})).await);
    }
}

#[tokio::test]
async fn a_call_that_is_not_answered_directly_is_refused_too() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    ana.hide("hints", "plain").await;

    let params = json!({ "name": "hints__plain", "arguments": {}, "_meta": { "progressToken": 1 } });
    let reply = ana.request("tools/call", Some("hints__plain"), params).await;

    assert!(reply["error"]["message"].as_str().is_some_and(|it| it.contains("hidden")), "{reply}");
}

#[tokio::test]
async fn documents_are_hidden_with_the_tools_that_read_them() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    ana.ingest(json!([{ "title": "Diary", "text": "The wombat sleeps." }])).await;
    ana.settled().await;
    let listed = async || ana.request("resources/list", None, json!({})).await["result"]["resources"].clone();
    assert_eq!(listed().await.as_array().map(Vec::len), Some(1));

    ana.hide("knowledge", "").await;

    assert!(!ana.sees("search").await && !ana.sees("fetch").await);
    assert!(ana.is_refused("search", json!({ "query": "wombat" })).await);
    assert_eq!(listed().await, json!([]));

    ana.show_again("knowledge", "").await;
    ana.hide("knowledge", "fetch").await;
    assert!(ana.sees("search").await && !ana.sees("fetch").await);
    assert_eq!(listed().await, json!([]), "a resource is read by `fetch`");
}

#[tokio::test]
async fn clients_are_told_when_their_user_hides_something() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    let mut events = ana.listen().await;
    events.next().await.expect("an acknowledgement");

    ana.hide("hints", "plain").await;

    assert_eq!(events.next().await.expect("it is open")["method"], "notifications/tools/list_changed");
    assert!(!ana.sees("hints__plain").await);
}

#[tokio::test]
async fn only_what_one_may_call_can_be_hidden_and_what_is_gone_can_be_shown() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    let refused = async |path: &str, status: u16, words: &str| {
        let answer = ana.post(path, &json!(null)).await.assert_status(status);
        assert!(answer.text().contains(words), "{path}: {}", answer.text());
    };

    refused("/toolkits/nosuch/hide", 404, "there is no toolkit").await;
    refused("/toolkits/greeter/hide", 404, "there is no toolkit").await;
    refused("/toolkits/hints/hide?tool=nosuch", 404, "it has").await;
    refused("/toolkits/hints/hide?toll=plain", 400, "tool").await;

    ana.hide("hints", "").await;
    refused("/toolkits/hints/show-again?tool=plain", 409, "All of hints is hidden").await;
    let hidden = ana.get("/hidden-tools").await.json();
    assert_eq!(hidden, json!([{ "toolkit": "hints" }]));
    assert_eq!(kitbag.as_user("ben").get("/hidden-tools").await.json(), json!([]));

    kitbag.as_operator().delete("/toolkits/hints").await.assert_status(204);
    assert_eq!(ana.get("/hidden-tools").await.json(), json!([]), "it goes with its toolkit");
}

#[tokio::test]
async fn the_page_of_a_toolkit_hides_and_shows_and_says_what_a_listing_costs() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::TEXT).await;
    let (ana, visitor) = (kitbag.as_user("ana"), Visitor::sign_in(&kitbag, "ana").await);

    let page = visitor.get("/ui/toolkits/text").await;
    let page = page.text();
    assert!(page.contains("tokens (an estimate)"), "{page}");
    assert!(visitor.get("/ui/toolkits/text/tools/count").await.text().contains("Hide it from your models"));
    visitor.post("/ui/toolkits/text/hide", &[("tool", "count")]).await.assert_status(303);
    assert!(!ana.sees("text__count").await);
    assert!(visitor.get("/ui/toolkits/text/tools/count").await.text().contains("Show it again"));

    visitor.post("/ui/toolkits/text/show-again", &[("tool", "count")]).await.assert_status(303);
    visitor.post("/ui/toolkits/text/hide", &[]).await.assert_status(303);
    assert!(!ana.sees("text__diff").await);
    assert!(visitor.get("/ui/toolkits/text").await.text().contains("Show them again"));

    visitor.post("/ui/toolkits/knowledge/hide", &[]).await.assert_status(303);
    assert!(visitor.get("/ui/connect").await.text().contains("Let them read"));
    ana.show_again("knowledge", "").await;
    ana.hide("knowledge", "search").await;
    assert!(
        visitor.get("/ui/connect").await.text().contains("Your models search and read"),
        "`fetch` is there"
    );
    visitor.post("/ui/toolkits/knowledge/hide", &[]).await.assert_status(303);
    assert!(!ana.sees("search").await);
}
