//! One view of access: by user, by group, by toolkit and by host, and groups that nobody was seen with.

use super::*;
use crate::harness::{CommandOutput, Wat, eventually, kitbag, run};

impl Organisation {
    /// Runs a command as a user.
    async fn command(&self, user: &User, arguments: &[&str]) -> CommandOutput {
        let mut command = kitbag(arguments);
        command.env("KITBAG_SERVER", self.kitbag.base_url().as_str()).env("KITBAG_TOKEN", user.token());
        run(command).await
    }

    async fn access(&self, query: &str) -> Value {
        self.olga.get(&format!("/access?{query}")).await.assert_status(200).json()
    }
}

/// Deploys `wat`, which reaches two hosts, for the group `sales`; `sal` and `sam` sign in.
async fn organisation() -> Organisation {
    let at = Organisation::start().await;
    let toolkit = Wat { egress: &["crm.example", "files.example:8443"], ..Wat::default() };
    at.olga.deploy(toolkit.component()).await.assert_status(201);
    at.share("wat", json!([{ "group": "sales" }, { "user": "eve", "tool": "run" }])).await;
    at.share("hints", json!([{ "group": "support", "tool": "plain" }])).await;
    for (name, group) in [("sal", "sales"), ("sam", "support")] {
        at.in_group(name, group).get("/toolkits").await.assert_status(200);
    }
    at.olga.post("/collections", &json!({ "id": "plans", "name": "Plans" })).await.assert_status(201);
    let members = json!({ "members": [{ "group": "sales", "role": "reader" }] });
    at.olga.post("/collections/plans/members", &members).await.assert_status(200);
    eventually("their sign-ins are recorded", async || {
        at.olga.get("/groups").await.json()["groups"].as_array().is_some_and(|groups| groups.len() == 3)
    })
    .await;
    at
}

fn ids(view: &Value) -> Vec<&str> {
    let toolkits = view["toolkits"].as_array().expect("a list");
    toolkits.iter().map(|toolkit| toolkit["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn operators_see_what_a_user_a_group_a_toolkit_and_a_host_mean() {
    let at = organisation().await;

    let sal = at.access("user=sal").await;
    assert_eq!(
        (ids(&sal), &sal["groups"], &sal["isKnown"]),
        (vec!["text", "wat"], &json!(["sales"]), &json!(true))
    );
    assert_eq!(sal["toolkits"][1]["by"], json!([{ "to": "group:sales" }]));
    assert_eq!(sal["toolkits"][0]["by"], json!([{ "to": "everyone" }]));
    assert_eq!(sal["collections"], json!([{ "id": "plans", "role": "reader", "by": ["group:sales"] }]));
    let sam = at.access("user=sam").await;
    assert_eq!((ids(&sam), &sam["collections"]), (vec!["hints", "text"], &json!([])));
    assert_eq!(sam["toolkits"][0]["by"], json!([{ "to": "group:support", "tools": ["plain"] }]));
    let olga = at.access("user=olga").await;
    assert_eq!((ids(&olga), &olga["isOperator"]), (vec!["hints", "text", "wat"], &json!(true)));
    assert_eq!(olga["toolkits"][2]["by"][0]["to"], "owner");
    let eve = at.access("user=eve").await;
    assert_eq!((ids(&eve), &eve["isKnown"]), (vec!["text", "wat"], &json!(false)), "she has not signed in");

    let sales = at.access("group=sales").await;
    assert_eq!(
        (ids(&sales), &sales["people"]),
        (vec!["text", "wat"], &json!({ "count": 1, "first": ["sal"] }))
    );
    let others = at.access("group=sal").await;
    assert_eq!((ids(&others), &others["isKnown"]), (vec!["text"], &json!(false)), "a user is no group");

    for host in ["crm.example", "CRM.Example.", "files.example", "files.example:8443", "crm.example:443"] {
        let view = at.access(&format!("host={host}")).await;
        assert_eq!(ids(&view), ["wat"], "{host}");
        let wat = &view["toolkits"][0];
        let by = json!([{ "to": "owner" }, { "to": "user:eve", "tools": ["run"] }, { "to": "group:sales" }]);
        assert_eq!(
            (&wat["by"], &wat["people"]),
            (&by, &json!({ "count": 2, "first": ["olga", "sal"] })),
            "{host}"
        );
    }
    for host in ["example", "m.example", "files.example:443", "crm.example:8443", "xcrm.example", ""] {
        assert_eq!(ids(&at.access(&format!("host={host}")).await), [""; 0], "{host}");
    }
    let text = at.access("toolkit=text").await;
    assert_eq!(text["toolkits"][0]["people"]["count"], 3);
    assert_eq!(at.access("toolkit=gone").await["isKnown"], false);
    for query in ["", "user=sal&group=sales", "whatever=1"] {
        at.olga.get(&format!("/access?{query}")).await.assert_status(400);
    }
    // Who is ended has no access, and is no member any more.
    at.olga.post("/users/sal/end", &json!({})).await.assert_status(200);
    let sal = at.access("user=sal").await;
    assert_eq!(
        (&sal["isEnded"], &at.access("group=sales").await["people"]["count"]),
        (&json!(true), &json!(0))
    );
    at.in_group("sam", "support").get("/access?user=sal").await.assert_problem(403, "Only operators");
    at.in_group("sam", "support").get("/groups").await.assert_problem(403, "Only operators");
}

#[tokio::test]
async fn the_command_and_the_page_say_it_and_a_group_that_nobody_was_seen_with_is_said_to_be_so() {
    let at = organisation().await;
    let shown = at.command(&at.olga, &["user", "access", "--host", "crm.example"]).await.succeeded();
    assert!(shown.contains("wat") && shown.contains("user:eve (run); group:sales"), "{shown}");
    assert!(
        shown.contains("reaches crm.example, files.example:8443") && shown.contains("olga, sal\n"),
        "{shown}"
    );
    let shown = at.command(&at.olga, &["user", "access", "sal"]).await.succeeded();
    assert!(shown.contains("In sales\n") && shown.contains("reads, by group:sales"), "{shown}");
    let sam = at.in_group("sam", "support");
    at.command(&sam, &["user", "access", "sal"]).await.assert_failed("operators");

    let shared = at.command(&at.olga, &["toolkit", "share", "text", "--group", "salse"]).await;
    assert!(shared.code == Some(0) && shared.stdout.contains("group:salse"), "{shared:?}");
    let said = "nobody was seen with the group salse so far; users were seen with admins, sales, support";
    assert!(shared.stderr.contains(said), "{shared:?}");
    let shared = at.command(&at.olga, &["collection", "share", "plans", "--group", "salse"]).await;
    assert!(shared.code == Some(0) && shared.stderr.contains(said), "{shared:?}");
    let shared = at.command(&at.olga, &["toolkit", "share", "text", "--group", "sales"]).await;
    assert!(shared.code == Some(0) && !shared.stderr.contains("nobody was seen"), "{shared:?}");
    let api = at.in_group("ben", "curators");
    api.post("/collections", &json!({ "id": "bens", "name": "Ben's" })).await.assert_status(403);
}

#[tokio::test]
async fn the_page_of_access_suggests_groups_and_leads_from_one_to_the_other() {
    let provider = ScriptedProvider::start().await;
    let kitbag = provider
        .kitbag_with(|settings| {
            settings.operators = "olga".parse().expect("a list");
            settings.groups_claim = "groups".parse().expect("a claim");
        })
        .await;
    provider.set_groups(&["<b>bold</b>", "all"]);
    let olga = provider.sign_in(&kitbag, "olga").await;
    provider.as_user(&kitbag, "olga").deploy(guests::TEXT.bytes()).await.assert_status(201);

    let page = olga.get("/ui/operate/access?kind=group&name=all").await.assert_status(200);
    let text = page.text();
    assert!(text.contains("&#60;b&#62;bold&#60;/b&#62;") && !text.contains("<b>bold"), "{text}");
    assert!(
        text.contains("Members: <bdi>olga</bdi>") && text.contains("kind=toolkit&#38;name=text"),
        "{text}"
    );
    let page = olga.get("/ui/operate/access?kind=host&name=none.example").await.assert_status(200);
    assert!(page.text().contains("No toolkit reaches this host."), "{}", page.text());
    let grant = [("kind", "group"), ("name", "al"), ("tool", ""), ("rate", ""), ("quota", "")];
    olga.post("/ui/toolkits/text/audience", &grant).await.assert_status(303);
    let page = olga.get("/ui/toolkits/text/audience").await.assert_status(200);
    let text = page.text();
    assert!(text.contains("<option value=\"all\"></option>"), "{text}");
    assert!(
        text.contains("the group al</bdi> <span class=\"tag warn\">nobody was seen with it</span>"),
        "{text}"
    );
}
