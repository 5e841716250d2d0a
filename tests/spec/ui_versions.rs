//! Versions page of a toolkit: comparison, rollback, ownership and removal.

use serde_json::json;

use crate::grants;
use crate::harness::{Answer, Visitor, Wat, wat::Visibility};
use crate::ui_review::{server, wat};

/// Form field of the checkbox that confirms the comparison was read.
const READ: &[(&str, &str)] = &[("read", "1")];

/// Returns the hidden fields of the form of a comparison.
fn compared_fields(page: &Answer) -> Vec<(&'static str, String)> {
    let names = ["version", "digest", "manifest-digest", "live-version", "live-digest"];
    names.map(|name| (name, page.hidden(name))).into()
}

impl Visitor {
    async fn send_fields(&self, path: &str, fields: &[(&str, String)], more: &[(&str, &str)]) -> Answer {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.post(path, &[&fields[..], more].concat()).await
    }
}

#[tokio::test]
async fn going_back_goes_through_the_same_comparison() {
    let kitbag = server().await;
    let operator = kitbag.as_user("ana");
    let second = Wat { egress: &["b.example"], ..wat("2.0.0") };
    operator.deploy(wat("1.0.0").component()).await.assert_status(201);
    operator.deploy(second.component()).await.assert_status(201);
    let ana = Visitor::sign_in(&kitbag, "ana").await;

    let versions = ana.get("/ui/toolkits/wat/versions").await.assert_status(200);
    versions.assert_says("+ egress b.example");
    let compared = ana.get("/ui/toolkits/wat/versions?from=2%2E0%2E0&to=1%2E0%2E0").await.assert_status(200);
    compared.assert_says("<code>b.example</code> <span class=\"tag\">gone</span>");
    compared.assert_says("Make 1.0.0 live");
    let unread = compared_fields(&compared);
    let back = "/ui/toolkits/wat/versions/rollback";
    ana.send_fields(back, &unread, &[]).await.assert_status(422);
    // The response to a refused form is at another path, so its links must not be relative.
    let refused = ana.post("/ui/toolkits/wat/versions/remove", &[]).await.assert_status(422);
    let link = "href=\"/ui/toolkits/wat/versions?from=2%2E0%2E0&#38;to=1%2E0%2E0#comparison\"";
    refused.assert_says(link);
    refused.assert_says("<form method=\"get\" action=\"/ui/toolkits/wat/versions\"");
    for relative in ["href=\"?", "<form method=\"get\" class"] {
        assert!(!refused.text().contains(relative), "{relative} in {}", refused.text());
    }
    for (field, words) in [
        ("live-version", "2.0.0 of wat went live"),
        ("live-digest", "2.0.0 of wat went live"),
        ("digest", "1.0.0 of wat was deployed anew"),
        ("manifest-digest", "1.0.0 of wat was deployed anew"),
    ] {
        for wrong in ["", "1.5.0"] {
            let mut fields = unread.clone();
            fields
                .iter_mut()
                .filter(|(name, _)| *name == field)
                .for_each(|(_, value)| *value = wrong.to_owned());
            ana.send_fields(back, &fields, READ).await.assert_status(409).assert_says(words);
        }
    }
    assert_eq!(operator.get("/toolkits/wat").await.json()["liveVersion"], "2.0.0");

    ana.send_fields(back, &unread, READ).await.assert_status(303);

    assert_eq!(operator.get("/toolkits/wat").await.json()["liveVersion"], "1.0.0");
    ana.get("/ui/toolkits/wat/versions?from=9.0.0&to=1.0.0").await.assert_status(404);
}

#[tokio::test]
async fn a_version_that_was_deployed_anew_does_not_go_live_unseen() {
    let kitbag = server().await;
    let operator = kitbag.as_user("ana");
    let deploy = async |toolkit: Wat<'_>| operator.deploy(toolkit.component()).await.assert_status(201);
    deploy(wat("1.0.0")).await;
    deploy(wat("2.0.0")).await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let comparison = "/ui/toolkits/wat/versions?from=2.0.0&to=1.0.0";
    let fields = compared_fields(&ana.get(comparison).await.assert_status(200));
    operator.delete("/toolkits/wat").await.assert_status(204);
    deploy(Wat { egress: &["b.example"], ..wat("1.0.0") }).await;
    deploy(wat("2.0.0")).await;

    let back = "/ui/toolkits/wat/versions/rollback";
    let stale = ana.send_fields(back, &fields, READ).await.assert_status(409);

    stale.assert_says("1.0.0 of wat was deployed anew");
    stale.assert_says("<code>b.example</code> <span class=\"tag warn\">new</span>");
    assert_eq!(operator.get("/toolkits/wat").await.json()["liveVersion"], "2.0.0");
    let body = json!({ "version": "1.0.0", "manifestDigest": fields[2].1 });
    operator.post("/toolkits/wat/rollback", &body).await.assert_problem(409, "deployed anew");
    let seen = operator.get("/toolkits/wat/versions/1.0.0").await.assert_status(200).json();
    let body =
        json!({ "version": "1.0.0", "digest": seen["digest"], "manifestDigest": seen["manifestDigest"] });
    operator.post("/toolkits/wat/rollback", &body).await.assert_status(200);
}

#[tokio::test]
async fn a_comparison_shows_what_the_code_imports() {
    let kitbag = server().await;
    let operator = kitbag.as_user("ana");
    let imports = grants::search();
    let second = Wat { scopes: &["svc:search"], imports: &imports, ..wat("2.0.0") };
    let first = Wat { scopes: &["svc:search"], ..wat("1.0.0") };
    operator.deploy(first.component()).await.assert_status(201);
    operator.deploy(second.component()).await.assert_status(201);
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let compared = "/ui/toolkits/wat/versions?from=1.0.0&to=2.0.0";
    let new = "<code>kitbag:toolkit/search</code> <span class=\"tag warn\">new</span>";

    ana.get(compared).await.assert_status(200).assert_says(new);
    let review = ana.upload_component(&Wat { version: "3.0.0", ..first }.component()).await;
    ana.get(&review).await.assert_says("<code>kitbag:toolkit/search</code> <span class=\"tag\">gone</span>");
}

#[tokio::test]
async fn operators_reach_the_versions_of_toolkits_that_they_may_not_call() {
    let kitbag = server().await;
    let private = Wat { visibility: Visibility::Private, ..wat("1.0.0") };
    kitbag.as_user("ana").deploy(private.component()).await.assert_status(201);
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);
    let [toolkit, versions] =
        ["/ui/toolkits/wat", "/ui/toolkits/wat/versions"].map(|path| format!("href=\"{path}\""));

    for page in ["/ui/", "/ui/toolkits/wat/versions"] {
        ana.get(page).await.assert_status(200).assert_says(&toolkit);
        assert!(!ben.get(page).await.assert_status(200).text().contains(&toolkit), "{page}");
    }
    ben.get("/ui/").await.assert_says(&versions);
    ben.get("/ui/toolkits/wat").await.assert_status(404);
}

#[tokio::test]
async fn nobody_takes_a_released_toolkit_over_without_reading_so() {
    let kitbag = server().await;
    let private = |version| Wat { visibility: Visibility::Private, ..wat(version) };
    let [owner, next] = ["ana", "ben"].map(|name| kitbag.as_user(name));
    for version in ["1.0.0", "2.0.0"] {
        owner.deploy(private(version).component()).await.assert_status(201);
    }
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);
    let review = ben.upload_component(&private("3.0.0").component()).await;
    let comparison = "/ui/toolkits/wat/versions?from=2.0.0&to=1.0.0";
    let warning = "makes it yours: everybody who sees it sees that, and the secrets and settings";
    for page in [comparison, &review] {
        assert!(!ben.get(page).await.assert_status(200).text().contains(warning), "it is not released");
    }
    ben.get(&review).await.assert_says("it can be deployed only by taking it over");

    owner.post("/toolkits/wat/release", &json!({})).await.assert_status(204);
    for page in [comparison, &review] {
        ben.get(page).await.assert_says(warning);
        assert!(!ana.get(page).await.assert_status(200).text().contains(warning), "it is ana's");
    }

    let fields = compared_fields(&ben.get(comparison).await);
    let back = ben.send_fields("/ui/toolkits/wat/versions/rollback", &fields, READ).await.assert_status(303);
    let done = "/ui/toolkits/wat/versions?done=rolled-back-as-new-owner";
    assert_eq!(back.header("location"), Some(done));
    ben.get(done).await.assert_says("the toolkit is yours now");
    assert_eq!(owner.get("/toolkits/wat").await.json()["owner"], "ben");

    // A deploy by ana transfers the ownership back to her.
    next.post("/toolkits/wat/release", &json!({})).await.assert_status(204);
    let page = ana.get(&review).await;
    page.assert_says(warning);
    let [manifest, version, digest] =
        ["manifest-digest", "live-version", "live-digest"].map(|name| page.hidden(name));
    let reviewed = [
        ("manifest-digest", manifest.as_str()),
        ("live-version", version.as_str()),
        ("live-digest", digest.as_str()),
        ("read", "1"),
    ];
    let deployed = ana.post(&format!("{review}/deploy"), &reviewed).await.assert_status(303);
    let done = "/ui/toolkits/wat/versions?done=deployed-as-new-owner";
    assert_eq!(deployed.header("location"), Some(done));
    ana.get(done).await.assert_says("the toolkit is yours now");
    assert_eq!(owner.get("/toolkits/wat").await.json()["owner"], "ana");
}

#[tokio::test]
async fn what_cannot_be_undone_needs_the_id_typed() {
    let kitbag = server().await;
    let private = Wat { visibility: Visibility::Private, ..wat("1.0.0") };
    kitbag.as_user("ana").deploy(private.component()).await.assert_status(201);
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);
    let path = |act: &str| format!("/ui/toolkits/wat/versions/{act}");

    for act in ["remove", "release"] {
        for typed in [&[][..], &[("confirm", "")], &[("confirm", "other")]] {
            ana.post(&path(act), typed).await.assert_status(422).assert_says("type wat to confirm");
        }
    }
    let confirmed = [("confirm", "wat")];
    ben.post(&path("remove"), &confirmed).await.assert_status(403);
    ben.post(&path("release"), &confirmed).await.assert_status(403);
    ana.post(&path("take-over"), &confirmed).await.assert_status(409);
    ana.post(&path("release"), &confirmed).await.assert_status(303);
    ben.post(&path("take-over"), &[("confirm", "x")]).await.assert_status(422);
    let taken = ben.post(&path("take-over"), &confirmed).await.assert_status(303);
    assert_eq!(taken.header("location"), Some("/ui/toolkits/wat/versions?done=taken-over"));
    assert_eq!(kitbag.as_user("ben").get("/toolkits/wat").await.json()["owner"], "ben");
    ben.post(&path("remove"), &confirmed).await.assert_status(303);
    kitbag.as_user("ben").get("/toolkits/wat").await.assert_status(404);
}
