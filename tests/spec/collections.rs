//! Collections end to end: the commands, and what an outsider sees of a collection, which is nothing.

mod limits;
mod outsiders;

use std::fs;

use kitbag::settings::Settings;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{CommandOutput, Kitbag, Provider, User, eventually, kitbag, run};

/// A team: `ana` makes collections, `ben` is in the group `sales`, `una` is in no group, `olga` is an operator.
struct Team {
    provider: Provider,
    kitbag: Kitbag,
    ana: User,
    ben: User,
    una: User,
    olga: User,
}

impl Team {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a server whose settings `change` changes.
    async fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        let provider = Provider::start().await;
        let kitbag = provider
            .kitbag_with(|settings| {
                settings.operators = "olga".parse().expect("a list");
                settings.groups_claim = "groups".parse().expect("a claim");
                settings.collections = "everyone".parse().expect("who may make collections");
                change(settings);
            })
            .await;
        let member = |name: &str, groups: &[&str]| member(&provider, &kitbag, name, groups);
        let ana = member("ana", &[]);
        let ben = member("ben", &["sales"]);
        let una = member("una", &[]);
        let olga = member("olga", &[]);
        Self { provider, kitbag, ana, ben, una, olga }
    }

    /// Runs a command as a user.
    async fn run(&self, user: &User, arguments: &[&str]) -> CommandOutput {
        let mut command = kitbag(arguments);
        command.env("KITBAG_SERVER", self.kitbag.base_url().as_str()).env("KITBAG_TOKEN", user.token());
        run(command).await
    }

    /// Runs a command as a user, and returns what it prints for people.
    async fn say(&self, user: &User, arguments: &[&str]) -> String {
        let said = self.run(user, arguments).await.succeeded();
        // A line with an id or a time, which are no shorter, may be longer.
        let has_id = |line: &str| line.split_whitespace().any(|word| word.len() >= 24);
        let is_short = |line: &str| line.chars().count() <= 80 || has_id(line);
        assert!(said.lines().all(is_short), "{arguments:?}: {said}");
        said
    }

    /// Runs a command as a user, and returns the JSON that it prints for scripts.
    async fn json(&self, user: &User, arguments: &[&str]) -> Value {
        let printed = self.run(user, &[arguments, &["--json"]].concat()).await.succeeded();
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed}"))
    }

    /// Titles of what a user finds.
    async fn found(&self, user: &User, words: &str) -> Vec<String> {
        let found = self.json(user, &["search", words]).await;
        let results = found["results"].as_array().expect("a list").iter();
        results.map(|hit| hit["document"]["title"].as_str().expect("text").to_owned()).collect()
    }

    /// Makes the collection `handbook`, of which `ana` is the curator and the group `sales` reads. Returns the ids of
    /// its documents.
    async fn with_handbook(&self, documents: Value) -> Vec<String> {
        let new = json!({ "id": "handbook", "name": "Handbook" });
        self.ana.post("/collections", &new).await.assert_status(201);
        let readers = json!({ "members": [{ "group": "sales", "role": "reader" }] });
        self.ana.post("/collections/handbook/members", &readers).await.assert_status(200);
        self.ana.ingest_into("handbook", documents).await
    }
}

/// A user whose token names these groups.
fn member(provider: &Provider, kitbag: &Kitbag, name: &str, groups: &[&str]) -> User {
    let mut claims = provider.access_claims(kitbag, name);
    claims["groups"] = json!(groups);
    kitbag.with_token(&provider.sign("at+jwt", &claims))
}

impl User {
    /// Ingests documents into a collection, and returns their ids once they are searchable.
    pub(crate) async fn ingest_into(&self, collection: &str, documents: Value) -> Vec<String> {
        let mutation = "mutation ($documents: [IngestDocumentInput!]!, $in: String!) {
            ingest(documents: $documents, collection: $in) { documents { id } }
        }";
        let stored = self.ask(mutation, json!({ "documents": documents, "in": collection })).await;
        self.settled_in(collection).await;
        let stored = stored["ingest"]["documents"].as_array().expect("a list").clone();
        stored.iter().map(|document| document["id"].as_str().expect("an id").to_owned()).collect()
    }

    /// Waits until no document of a collection is pending.
    async fn settled_in(&self, collection: &str) {
        let query = "query ($id: String!) { collection(id: $id) { documents { pending } } }";
        eventually("no document is pending", async || {
            let answer = self.ask(query, json!({ "id": collection })).await;
            answer["collection"]["documents"]["pending"] == 0
        })
        .await;
    }
}

/// Creates a folder with these files. Returns it and its path.
fn folder(files: &[(&str, &str)]) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a scratch directory");
    for (name, content) in files {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let path = folder.path().to_str().expect("UTF-8").to_owned();
    (folder, path)
}

#[tokio::test]
async fn a_collection_is_made_filled_shared_and_searched_with_ones_own() {
    let team = Team::start().await;
    let Team { ana, ben, .. } = &team;
    let (_kept, path) = folder(&[("travel.md", "# Travel\n\nTake the wombat train."), ("a.csv", "wombat,1")]);
    ben.ingest(json!([{ "title": "Note of Ben", "text": "A wombat of mine." }])).await;

    let made = team.say(ana, &["collection", "new", "handbook", "--name", "Handbook"]).await;
    assert_eq!(made, "handbook is there, and you are its curator.\n");
    team.run(ana, &["collection", "new", "handbook"]).await.assert_failed("exists already");
    team.run(ana, &["collection", "new", "Hand Book"]).await.assert_failed("a-z, 0-9 and -");
    let ingested = team.say(ana, &["ingest", &path, "--collection", "handbook", "--wait"]).await;
    assert_eq!(ingested, "2 documents: 2 new, 0 updated, 0 unchanged.\n");
    assert_eq!(team.found(ana, "wombat train").await[0], "Travel");
    assert_eq!(team.found(ben, "wombat").await, ["Note of Ben"]);

    let shared = team.json(ana, &["collection", "share", "handbook", "--group", "sales"]).await;
    let members = json!([{ "user": "ana", "role": "curator" }, { "group": "sales", "role": "reader" }]);
    assert_eq!(shared, json!({ "members": members }));
    let listed = team.say(ana, &["collection", "share", "handbook"]).await;
    assert_eq!(listed, "handbook is shared with\n  curator  user:ana\n  reader   group:sales\n");

    let found = team.say(ben, &["search", "wombat"]).await;
    assert!(found.contains("Travel  handbook · user") && found.contains("Note of Ben  user"), "{found}");
    let only = async |names: &[&str]| {
        let names: Vec<_> = names.iter().flat_map(|name| ["--in", name]).collect();
        let found = team.json(ben, &[&["search", "wombat"], names.as_slice()].concat()).await;
        let results = found["results"].as_array().expect("a list").iter();
        let mut collections: Vec<_> =
            results.map(|hit| hit["document"]["collection"].as_str().unwrap_or("mine").to_owned()).collect();
        collections.sort();
        collections
    };
    assert_eq!(only(&["mine"]).await, ["mine"]);
    assert_eq!(only(&["handbook"]).await, ["handbook", "handbook"]);
    assert_eq!(only(&["handbook", "mine"]).await, ["handbook", "handbook", "mine"]);
    assert_eq!(team.found(ben, "wombat in:mine").await, ["Note of Ben"]);
    team.run(ben, &["search", "wombat", "--in", "nowhere"])
        .await
        .assert_failed("there is no collection nowhere");

    let listed = team.json(ben, &["documents", "--collection", "handbook"]).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    assert_eq!((&listed[0]["collection"], &listed[0]["addedBy"]), (&json!("handbook"), &json!("ana")));
    let id = listed[0]["id"].as_str().expect("an id");
    let shown = team.say(ben, &["documents", "show", id]).await;
    assert!(shown.contains("in       handbook\n") && shown.contains(", by ana\n"), "{shown}");
    let usage = team.run(ben, &["documents", "--collection", "handbook"]).await.stderr;
    assert!(usage.contains("handbook has 2 of 100000 documents"), "{usage}");
    assert_eq!(team.json(ben, &["documents"]).await.as_array().map(Vec::len), Some(1), "own ones alone");
}

#[tokio::test]
async fn readers_read_curators_change_and_the_last_of_them_stays() {
    let team = Team::start().await;
    let Team { ana, ben, .. } = &team;
    let (_kept, path) = folder(&[("more.md", "# More\n\nA wombat more.")]);
    let ids = team.with_handbook(json!([{ "title": "Travel", "text": "The wombat train." }])).await;
    let id = ids[0].as_str();

    let ingest = ["ingest", &path, "--collection", "handbook"];
    team.run(ben, &ingest).await.assert_failed("only curators of handbook may add documents to it");
    for refused in [
        &["documents", "delete", id][..],
        &["documents", "move", id, "--to", "mine"],
        &["documents", "bin", "--collection", "handbook"],
        &["documents", "restore", "--all", "--collection", "handbook"],
        &["documents", "purge", "--all", "--collection", "handbook", "--yes"],
        &["collection", "describe", "handbook", "--name", "Mine"],
        &["collection", "share", "handbook", "--user", "una"],
        &["collection", "unshare", "handbook", "--group", "sales"],
        &["collection", "delete", "handbook"],
    ] {
        team.run(ben, refused).await.assert_failed("nly curators of handbook may do that");
    }
    assert_eq!(team.found(ben, "wombat").await, ["Travel"], "nothing has changed");

    team.say(ana, &["collection", "share", "handbook", "--curator", "--user", "ben"]).await;
    team.say(ben, &ingest).await;
    let described =
        team.json(ben, &["collection", "describe", "handbook", "--description", "How we work"]).await;
    assert_eq!(
        (&described["name"], &described["description"]),
        (&json!("Handbook"), &json!("How we work")),
        "what is not named stays"
    );
    let left = team.say(ana, &["collection", "unshare", "handbook", "--user", "ana"]).await;
    assert_eq!(left, "You are no member of handbook any more.\n");
    team.run(ana, &["collection", "show", "handbook"]).await.assert_failed("There is no collection handbook");
    team.run(ben, &["collection", "unshare", "handbook", "--user", "ben"])
        .await
        .assert_failed("he last curator of handbook is");
    team.run(ben, &["collection", "unshare", "handbook"]).await.assert_failed("is missing");
    assert_eq!(team.found(ben, "wombat").await.len(), 2, "what who has left has added stays");
}

#[tokio::test]
async fn a_deleted_collection_can_be_had_back_until_it_is_purged() {
    let team = Team::start().await;
    let Team { ana, ben, .. } = &team;
    let ids = team.with_handbook(json!([{ "title": "Travel", "text": "The wombat train." }])).await;

    let said = team.say(ana, &["collection", "delete", "handbook"]).await;
    assert!(said.contains("until the bin is emptied (30 days by default)"), "{said}");
    assert!(said.contains("kitbag collection restore handbook"), "{said}");
    for user in [ana, ben] {
        assert_eq!(team.found(user, "wombat").await, [""; 0]);
        team.run(user, &["documents", "show", &ids[0]]).await.assert_failed("you have no document");
        team.run(user, &["collection", "show", "handbook"])
            .await
            .assert_failed("There is no collection handbook");
    }
    assert_eq!(team.json(ben, &["collection", "list"]).await, json!([]));
    let listed = team.json(ana, &["collection", "list"]).await;
    assert_eq!(listed[0]["deletedBy"], "ana");
    assert!(listed[0]["deletedAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{listed}");
    team.run(ben, &["collection", "restore", "handbook"])
        .await
        .assert_failed("There is no collection handbook");

    team.say(ana, &["collection", "restore", "handbook"]).await;
    let found = team.json(ben, &["search", "wombat"]).await;
    assert_eq!(found["results"][0]["document"]["id"], json!(ids[0]), "{found}");

    let purge = ["collection", "purge", "handbook"];
    team.run(ana, &[&purge[..], &["--yes"]].concat()).await.assert_failed("There is no collection handbook");
    team.say(ana, &["collection", "delete", "handbook"]).await;
    team.run(ana, &purge).await.assert_failed("say it with --yes");
    assert_eq!(team.json(ana, &[&purge[..], &["--yes"]].concat()).await, json!({ "id": "handbook" }));
    assert_eq!(team.json(ana, &["collection", "list"]).await, json!([]));
    team.say(ana, &["collection", "new", "handbook"]).await;
    assert_eq!(
        team.found(ana, "wombat").await,
        [""; 0],
        "the id is free, and nothing of the old one is there"
    );
}

#[tokio::test]
async fn operators_see_that_a_collection_exists_and_may_take_it_over() {
    let team = Team::start().await;
    let Team { ana, ben, olga, .. } = &team;
    team.with_handbook(json!([{ "title": "Travel", "text": "The wombat train." }])).await;

    let all = team.json(olga, &["collection", "list", "--all"]).await;
    assert_eq!((&all[0]["id"], &all[0]["role"]), (&json!("handbook"), &Value::Null));
    assert_eq!(all[0]["size"]["documents"], 1);
    let said = team.say(olga, &["collection", "list", "--all"]).await;
    assert!(said.contains("1 document, ") && said.contains("kept by user:ana"), "{said}");
    team.run(ana, &["collection", "list", "--all"]).await.assert_failed("Only operators may do this");
    assert_eq!(team.found(olga, "wombat").await, [""; 0], "an operator does not read it");
    team.run(olga, &["documents", "--collection", "handbook"])
        .await
        .assert_failed("There is no collection handbook");

    team.run(olga, &["collection", "take-over", "handbook"]).await.assert_failed("say it with --yes");
    team.run(ben, &["collection", "take-over", "handbook", "--yes"])
        .await
        .assert_failed("Only operators may do this");
    team.run(olga, &["collection", "take-over", "nowhere", "--yes"])
        .await
        .assert_failed("There is no collection nowhere");
    team.say(olga, &["collection", "take-over", "handbook", "--yes"]).await;

    assert_eq!(team.found(olga, "wombat").await, ["Travel"]);
    let members = team.say(ben, &["collection", "show", "handbook"]).await;
    assert!(members.contains("curator  user:olga"), "its members see it: {members}");
    let audited = team.run(olga, &["audit", "--since", "1h"]).await.succeeded();
    assert!(audited.contains("collection.taken_over"), "{audited}");
}

#[tokio::test]
async fn documents_go_to_the_bin_and_come_back_with_their_ids() {
    let team = Team::start().await;
    let ana = &team.ana;
    let note = |name: &str| json!({ "title": name, "text": format!("The wombat of {name}.") });
    let ids = ana.ingest(json!([note("One"), note("Two"), note("Three")])).await;
    let [one, two, three] = [ids[0].as_str(), ids[1].as_str(), ids[2].as_str()];

    let said = team.say(ana, &["documents", "delete", one]).await;
    assert!(said.contains("1 document is in the bin until it is emptied (30 days by default)."), "{said}");
    assert!(said.contains(&format!("kitbag documents restore {one}\n")), "{said}");
    assert_eq!(team.json(ana, &["documents", "delete", two]).await, json!({ "count": 1, "purged": false }));
    assert_eq!(team.found(ana, "wombat").await, ["Three"]);
    let bin = team.json(ana, &["documents", "bin"]).await;
    let listed: Vec<_> = bin.as_array().expect("a list").iter().map(|it| it["id"].clone()).collect();
    assert_eq!(listed, [json!(two), json!(one)], "the latest first");
    assert_eq!(bin[0]["deletedBy"], "ana");
    team.say(ana, &["documents", "bin"]).await;

    let said = team.say(ana, &["documents", "restore", one]).await;
    assert_eq!(said, "1 document is there again.\n");
    let restored = team.json(ana, &["documents", "restore", "--all"]).await;
    assert_eq!(restored, json!({ "count": 1, "conflicts": [] }));
    let found = team.json(ana, &["search", "wombat", "of", "two"]).await;
    assert_eq!(found["results"][0]["document"]["id"], json!(two));
    team.run(ana, &["documents", "restore", one]).await.assert_failed("your bin has no such document");

    let all = ["documents", "delete", "--source", "user"];
    let asked = team.run(ana, &all).await;
    asked.assert_failed("Into the bin: all documents of the source user, 3 in number.");
    asked.assert_failed("say it with --yes");
    assert_eq!(team.json(ana, &[&all[..], &["--yes"]].concat()).await["count"], 3);
    assert_eq!(team.json(ana, &["documents", "restore", "--source", "user"]).await["count"], 3);

    team.run(ana, &["documents", "delete", three, "--purge"]).await.assert_failed("say it with --yes");
    assert_eq!(team.json(ana, &["documents", "bin"]).await, json!([]), "nothing was deleted");
    let purged = team.json(ana, &["documents", "delete", three, "--purge", "--yes"]).await;
    assert_eq!(purged, json!({ "count": 1, "purged": true }));
    assert_eq!(team.json(ana, &["documents", "bin"]).await, json!([]));
    team.say(ana, &["documents", "delete", one]).await;
    assert_eq!(team.json(ana, &["documents", "purge", one, "--yes"]).await, json!({ "count": 1 }));
    team.run(ana, &["documents", "purge", one, "--yes"]).await.assert_failed("your bin has no such document");
    assert_eq!(team.found(ana, "wombat").await, ["Two"]);
    let absent = team.run(ana, &["documents", "delete", "absent"]).await;
    absent.assert_failed("you have no document \"absent\"");
}

#[tokio::test]
async fn the_documents_of_a_feed_go_and_come_back_together() {
    let team = Team::start().await;
    let ana = &team.ana;
    let feed = json!({ "key": "plans", "name": "Plans" });
    let note = |name: &str, feed: &Value| json!({ "title": name, "text": format!("The wombat of {name}."), "feed": feed });
    team.with_handbook(json!([note("One", &feed), note("Two", &feed), note("Three", &Value::Null)])).await;
    ana.ingest(json!([note("Mine", &feed)])).await;
    let of_feed = ["--feed", "plans", "--collection", "handbook"];
    let run =
        async |verb: &str| team.json(ana, &[&["documents", verb], &of_feed[..], &["--yes"]].concat()).await;

    assert_eq!(run("delete").await, json!({ "count": 2, "purged": false }));
    let mut found = team.found(ana, "wombat").await;
    found.sort();
    assert_eq!(found, ["Mine", "Three"], "no other feed of this key, and no other document");
    let feeds = "{ feeds(collection: \"handbook\") { key documentCount } }";
    assert_eq!(ana.ask(feeds, json!({})).await["feeds"], json!([]));

    let restored = team.json(ana, &[&["documents", "restore"], &of_feed[..]].concat()).await;
    assert_eq!(restored, json!({ "count": 2, "conflicts": [] }));
    assert_eq!(ana.ask(feeds, json!({})).await["feeds"], json!([{ "key": "plans", "documentCount": 2 }]));
    assert_eq!(run("delete").await["count"], 2);
    assert_eq!(run("purge").await, json!({ "count": 2 }));
    assert_eq!(team.json(ana, &["documents", "bin", "--collection", "handbook"]).await, json!([]));
}

#[tokio::test]
async fn a_document_that_is_there_already_stays_in_the_bin_and_it_is_said_what_to_do() {
    let team = Team::start().await;
    let ana = &team.ana;
    let note = json!([{ "title": "Note", "text": "The wombat sleeps." }]);
    let first = ana.ingest(note.clone()).await.remove(0);
    team.say(ana, &["documents", "delete", &first]).await;
    let second = ana.ingest(note).await.remove(0);
    assert_ne!(first, second, "what is in the bin is no duplicate");

    let conflict = team.run(ana, &["documents", "restore", &first, "--json"]).await;

    assert_eq!(conflict.code, Some(5), "{conflict:?}");
    let said: Value = serde_json::from_str(&conflict.stdout).expect("JSON");
    let listed = json!([{ "id": first, "title": "Note", "existing": second }]);
    assert_eq!(said, json!({ "count": 0, "conflicts": listed }));
    let conflict = team.run(ana, &["documents", "restore", &first]).await;
    for words in [&format!("{first} Note (there: {second})"), &format!("kitbag documents delete {second}")] {
        assert!(conflict.stderr.contains(words), "no {words} in {conflict:?}");
    }

    team.say(ana, &["documents", "delete", &second]).await;
    team.say(ana, &["documents", "restore", &first]).await;
    let found = team.json(ana, &["search", "wombat"]).await;
    assert_eq!(found["results"][0]["document"]["id"], json!(first));
}

#[tokio::test]
async fn an_earlier_text_is_listed_shown_and_had_back() {
    let team = Team::start().await;
    let ana = &team.ana;
    let text = |text: &str| json!([{ "title": "Plan", "text": text, "url": "https://a.example/plan" }]);
    let id = ana.ingest(text("We take the wombat.")).await.remove(0);
    assert_eq!(team.json(ana, &["documents", "history", &id]).await, json!([]));
    assert_eq!(ana.ingest(text("We take the numbat.")).await[0], id);
    assert_eq!(ana.ingest(text("We take the koala.")).await[0], id);

    let history = team.json(ana, &["documents", "history", &id]).await;
    let numbers: Vec<_> = history.as_array().expect("a list").iter().map(|it| it["number"].clone()).collect();
    assert_eq!(numbers, [2, 1]);
    assert_eq!(history[0]["changedBy"], "ana");
    let said = team.say(ana, &["documents", "history", &id]).await;
    assert!(said.starts_with("now  ") && said.lines().count() == 3, "{said}");
    let first = team.say(ana, &["documents", "show", &id, "--version", "1"]).await;
    assert!(first.contains("version  1\n") && first.ends_with("We take the wombat.\n"), "{first}");
    let second = team.json(ana, &["documents", "show", &id, "--version", "2"]).await;
    assert_eq!(second["text"], "We take the numbat.");
    team.run(ana, &["documents", "show", &id, "--version", "9"]).await.assert_failed("there is no version 9");

    team.say(ana, &["documents", "restore", &id, "--version", "1"]).await;
    ana.settled().await;

    let shown = team.say(ana, &["documents", "show", &id]).await;
    assert!(shown.trim_end().ends_with("We take the wombat."), "{shown}");
    assert_eq!(team.found(ana, "wombat").await, ["Plan"]);
    assert_eq!(team.found(ana, "koala").await, [""; 0]);
    let kept = team.say(ana, &["documents", "show", &id, "--version", "3"]).await;
    assert!(kept.trim_end().ends_with("We take the koala."), "{kept}");
    team.run(ana, &["documents", "restore", &id, "--version", "9"])
        .await
        .assert_failed("kitbag documents history");
    let several = team.run(ana, &["documents", "restore", &id, &id, "--version", "1"]).await;
    assert_eq!(several.code, Some(2), "{several:?}");
}

#[tokio::test]
async fn documents_move_with_their_ids_and_who_added_them() {
    let team = Team::start().await;
    let Team { ana, ben, .. } = &team;
    team.with_handbook(json!([{ "title": "Travel", "text": "The wombat train." }])).await;
    let of_ana = |text: &str| json!([{ "title": "Note", "text": text, "url": "https://a.example/note" }]);
    let note = of_ana("A wombat of Ana.");
    ana.ingest(of_ana("A numbat of Ana.")).await;
    let id = ana.ingest(note.clone()).await.remove(0);

    let moved = team.json(ana, &["documents", "move", &id, "--to", "handbook"]).await;
    assert_eq!(moved, json!({ "count": 1, "conflicts": [] }));
    let shown = team.json(ben, &["documents", "show", &id]).await;
    assert_eq!((&shown["collection"], &shown["addedBy"]), (&json!("handbook"), &json!("ana")));
    assert_eq!(team.found(ben, "wombat").await.len(), 2);
    let earlier = team.json(ben, &["documents", "show", &id, "--version", "1"]).await;
    assert_eq!(earlier["text"], "A numbat of Ana.", "its versions come along");

    let copy = ana.ingest(note).await.remove(0);
    let conflict = team.run(ana, &["documents", "move", &copy, "--to", "handbook"]).await;
    assert_eq!(conflict.code, Some(5), "{conflict:?}");
    assert!(conflict.stderr.contains(&format!("{copy} Note (there: {id})")), "{conflict:?}");
    team.say(ana, &["documents", "delete", &copy, "--purge", "--yes"]).await;

    let said = team.say(ana, &["documents", "move", &id, "--to", "mine"]).await;
    assert_eq!(said, "1 document is in your own documents now.\n");
    assert_eq!(team.found(ben, "wombat").await, ["Travel"]);
    let whole = ["documents", "move", "--all", "--from", "handbook", "--to", "mine"];
    team.run(ana, &whole).await.assert_failed("To mine: all documents of handbook, 1 in number.");
    assert_eq!(team.json(ana, &[&whole[..], &["--yes"]].concat()).await["count"], 1);
    assert_eq!(team.found(ben, "wombat").await, [""; 0]);
    assert_eq!(team.found(ana, "wombat").await.len(), 2);
    team.run(ana, &["documents", "move", &id, "--to", "nowhere"])
        .await
        .assert_failed("There is no collection nowhere");
}
