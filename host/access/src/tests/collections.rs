//! Collections and their documents, as seen by each kind of caller.

use std::collections::BTreeMap;

use kitbag_knowledge::collections::{CollectionError, Description, Membership, Role};
use kitbag_knowledge::{Chosen, KnowledgeError, Listing, NewDocument, Query};

use super::*;

/// Outcomes of acts on the collection `handbook`, which `cleo` keeps and the group `sales` reads.
///
/// `ana` is an operator; `sal` is in `sales`; `prog` is a key of a program of `sal`, which has no groups; `cleos` is one of
/// `cleo`; `fay` was a member; `gil` is in groups that are named like `cleo` and almost like `sales`. `hidden`: the answer
/// is that for a collection or a document that does not exist.
const TABLE: &str = "
                    cleo    cleos   sal     prog    fay     gil     ana     eve
find                yes     yes     yes     hidden  hidden  hidden  hidden  hidden
read                yes     yes     yes     hidden  hidden  hidden  hidden  hidden
summary             yes     yes     yes     hidden  hidden  hidden  hidden  hidden
download            yes     yes     yes     hidden  hidden  hidden  hidden  hidden
versions            yes     yes     yes     hidden  hidden  hidden  hidden  hidden
list-documents      yes     yes     yes     hidden  hidden  hidden  hidden  hidden
list-feeds          yes     yes     yes     hidden  hidden  hidden  hidden  hidden
count               yes     yes     yes     hidden  hidden  hidden  hidden  hidden
usage               yes     yes     yes     hidden  hidden  hidden  hidden  hidden
see                 yes     yes     yes     hidden  hidden  hidden  hidden  hidden
list-collections    yes     yes     yes     hidden  hidden  hidden  hidden  hidden
add                 yes     yes     no      hidden  hidden  hidden  hidden  hidden
delete              yes     yes     no      hidden  hidden  hidden  hidden  hidden
bin                 yes     yes     no      hidden  hidden  hidden  hidden  hidden
restore             yes     yes     no      hidden  hidden  hidden  hidden  hidden
purge               yes     yes     no      hidden  hidden  hidden  hidden  hidden
move-out            yes     yes     no      hidden  hidden  hidden  hidden  hidden
move-in             yes     yes     no      hidden  hidden  hidden  hidden  hidden
restore-version     yes     yes     no      hidden  hidden  hidden  hidden  hidden
describe            yes     yes     no      hidden  hidden  hidden  hidden  hidden
share               yes     yes     no      hidden  hidden  hidden  hidden  hidden
unshare             yes     yes     no      hidden  hidden  hidden  hidden  hidden
delete-collection   yes     yes     no      hidden  hidden  hidden  hidden  hidden
restore-collection  yes     yes     hidden  hidden  hidden  hidden  hidden  hidden
purge-collection    yes     yes     hidden  hidden  hidden  hidden  hidden  hidden
overview            no      no      no      no      no      no      yes     no
take-over           no      no      no      no      no      no      yes     no
";

/// Acts that change nothing.
const READING: [&str; 13] = [
    "find",
    "read",
    "summary",
    "download",
    "versions",
    "list-documents",
    "list-feeds",
    "count",
    "usage",
    "see",
    "list-collections",
    "bin",
    "overview",
];

fn caller(fixture: &Fixture, name: &str) -> User {
    match name {
        "sal" => fixture.member("sal", &["sales"]),
        "gil" => fixture.member("gil", &["cleo", "Sales", "sales ", "group:sales", "user:cleo"]),
        "prog" => fixture.program("sal"),
        "cleos" => fixture.program("cleo"),
        name => fixture.user(name),
    }
}

fn note(title: &str) -> NewDocument {
    NewDocument { title: title.to_owned(), text: Some(format!("wing of {title}")), ..NewDocument::default() }
}

/// A collection with a document, one more in its bin, and what the table says of its members.
struct Handbook {
    fixture: Fixture,
    document: String,
    deleted: String,
}

impl Handbook {
    async fn new() -> Self {
        let fixture = Fixture::with(&[]).await;
        let cleo = fixture.user("cleo");
        let about = Description { name: "Handbook".to_owned(), description: String::new() };
        cleo.collections().create("handbook", &about).await.expect("it is new");
        let fay = Subject::User("fay".to_owned());
        let sales = Subject::Group("sales".to_owned());
        let with = [fay.clone(), sales].map(|subject| Membership { subject, role: Role::Reader });
        cleo.collections().share("handbook", &with).await.expect("it is hers");
        cleo.collections().unshare("handbook", &fay).await.expect("it was shared");
        let documents = cleo.documents().of(Some("handbook")).expect("it is hers");
        let file = Box::pin(stream::iter([Ok("wing".into())]));
        let kept =
            documents.ingest_file(note_of_file(), Some("wing.txt"), file, None).await.expect("it is right");
        let gone = documents.ingest(vec![note("Gone")]).await.expect("it is right").remove(0).id;
        documents.delete(Chosen::Ids(vec![gone.clone()])).await.expect("it is there");
        let this = Self { fixture, document: kept.id, deleted: gone };
        this.settled().await;
        this
    }

    /// Waits until the document is found.
    async fn settled(&self) {
        let cleo = self.fixture.user("cleo");
        while cleo.documents().search(&query()).await.expect("a valid query").hits.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn note_of_file() -> NewDocument {
    NewDocument { title: "Wings".to_owned(), ..NewDocument::default() }
}

fn query() -> Query {
    Query { text: "wings".to_owned(), has_operators: true, limit: 10, offset: 0, source: None, author: None }
}

fn listing() -> Listing {
    Listing { limit: 10, ..Listing::default() }
}

/// The outcome of an act, as in the table.
async fn attempt(handbook: &Handbook, user: &User, act: &str) -> &'static str {
    let Handbook { document: id, deleted, .. } = handbook;
    let documents = user.documents();
    let of = || documents.of(Some("handbook"));
    let one = || Chosen::Ids(vec![id.clone()]);
    let collections = user.collections();
    let shown = |is_there: bool| if is_there { Ok(()) } else { Err(KnowledgeError::NotFound) };
    let outcome: Result<(), KnowledgeError> = match act {
        "find" => shown(!documents.search(&query()).await.expect("a valid query").hits.is_empty()),
        "read" => documents.document(id).await.map(drop),
        "summary" => documents.summary(id).await.map(drop),
        "download" => documents.artifact(id).await.map(drop),
        "versions" => documents.versions(id).await.map(drop),
        "list-documents" => with(of(), async |it| it.list(&listing()).await.map(drop)).await,
        "list-feeds" => with(of(), async |it| it.feeds(0, 10).await.map(drop)).await,
        "count" => with(of(), async |it| it.counts().await.map(drop)).await,
        "usage" => with(of(), async |it| it.usage().await.map(drop)).await,
        "see" => collections.get("handbook").map(drop).map_err(Into::into),
        "list-collections" => shown(!collections.list().is_empty()),
        "add" => with(of(), async |it| it.ingest(vec![note("More")]).await.map(drop)).await,
        "delete" => match documents.around(id).await {
            Ok(around) => around.delete(one()).await.map(drop),
            Err(error) => Err(error),
        },
        "bin" => with(of(), async |it| it.bin(&listing()).await.map(drop)).await,
        "restore" => {
            let gone = Chosen::Ids(vec![deleted.clone()]);
            with(of(), async |it| it.restore(gone).await.map(drop)).await
        }
        "purge" => with(of(), async |it| it.purge(Chosen::All).await.map(drop)).await,
        "move-out" => {
            let mine = documents.of(None).expect("their own");
            with(of(), async |it| it.move_to(&mine, one()).await.map(drop)).await
        }
        "move-in" => {
            let mine = documents.of(None).expect("their own");
            with(of(), async |it| mine.move_to(&it, Chosen::All).await.map(drop)).await
        }
        "restore-version" => {
            with(of(), async |it| match it.restore_version(id, 1).await {
                // It has none.
                Err(KnowledgeError::NotFound) => Ok(()),
                other => other,
            })
            .await
        }
        "describe" => {
            let about = Description { name: "Other".to_owned(), description: String::new() };
            collections.describe("handbook", &about).await.map_err(Into::into)
        }
        "share" => {
            let with = [Membership { subject: Subject::Everyone, role: Role::Reader }];
            collections.share("handbook", &with).await.map_err(Into::into)
        }
        "unshare" => {
            let sales = Subject::Group("sales".to_owned());
            collections.unshare("handbook", &sales).await.map_err(Into::into)
        }
        "delete-collection" => collections.delete("handbook").await.map_err(Into::into),
        "restore-collection" | "purge-collection" => {
            handbook.fixture.user("cleo").collections().delete("handbook").await.expect("it is hers");
            if act == "restore-collection" {
                collections.restore("handbook").await.map_err(Into::into)
            } else {
                match collections.purge("handbook").await {
                    Ok(()) => Ok(()),
                    Err(AccessError::Collection(error)) => Err(error.into()),
                    Err(other) => panic!("{other}"),
                }
            }
        }
        "overview" | "take-over" => {
            let Ok(operator) = user.operator() else { return "no" };
            let done = match act {
                "overview" => operator.collections().list().await.map(drop),
                _ => operator.collections().take_over("handbook").await,
            };
            done.expect("an operator may");
            return "yes";
        }
        other => panic!("{other}"),
    };
    match outcome {
        Ok(()) => "yes",
        Err(KnowledgeError::Collection(CollectionError::NotCurator(_))) => "no",
        Err(KnowledgeError::NotFound | KnowledgeError::Collection(CollectionError::Unknown(_))) => "hidden",
        Err(other) => panic!("{act}: {other}"),
    }
}

/// Continues with the documents, if the user may read them.
async fn with(
    documents: Result<HolderDocuments, CollectionError>,
    then: impl AsyncFnOnce(HolderDocuments) -> Result<(), KnowledgeError>,
) -> Result<(), KnowledgeError> {
    then(documents?).await
}

#[tokio::test]
async fn each_act_on_a_collection_is_for_whom_the_table_says() {
    let mut lines = TABLE.lines().filter(|line| !line.is_empty());
    let callers: Vec<_> = lines.next().expect("the callers").split_whitespace().collect();
    let unchanged = Handbook::new().await;
    for line in lines {
        let (act, expected) = line.split_once(' ').expect("an act");
        let expected: BTreeMap<_, _> = callers.iter().copied().zip(expected.split_whitespace()).collect();
        let mut found = BTreeMap::new();
        for (&name, expected) in &expected {
            // What is allowed may change the collection: each of these acts has one of its own. So have those that
            // the test prepares by a change.
            let changes = !READING.contains(&act) && (*expected == "yes" || act.ends_with("-collection"));
            let fresh = if changes { Some(Handbook::new().await) } else { None };
            let handbook = fresh.as_ref().unwrap_or(&unchanged);
            found.insert(name, attempt(handbook, &caller(&handbook.fixture, name), act).await);
        }
        assert_eq!(found, expected, "{act}");
    }
}

#[tokio::test]
async fn what_a_client_chooses_narrows_what_its_user_may_read_and_never_widens_it() {
    let handbook = Handbook::new().await;
    let titles = async |user: User, chosen: &[&str]| {
        let narrowed = user.within(Some(chosen.iter().map(|&name| name.to_owned())));
        let found = narrowed.documents().search(&query()).await.expect("a valid query");
        found.hits.into_iter().map(|hit| hit.document.title).collect::<Vec<_>>()
    };
    let cleo = || caller(&handbook.fixture, "cleo");

    assert_eq!(titles(cleo(), &["handbook"]).await, ["Wings"]);
    assert_eq!(titles(cleo(), &["mine", "handbook"]).await, ["Wings"]);
    assert!(titles(cleo(), &["mine"]).await.is_empty() && titles(cleo(), &[]).await.is_empty());
    assert!(titles(caller(&handbook.fixture, "eve"), &["handbook"]).await.is_empty());
    let narrowed = cleo().within(Some(["mine".to_owned()]));
    assert!(narrowed.documents().document(&handbook.document).await.is_err());
}

#[tokio::test]
async fn operators_alone_make_collections_where_the_settings_say_so() {
    let fixture = Fixture::with(&[]).await;
    let about = Description { name: "A".to_owned(), description: String::new() };
    fixture.user("eve").collections().create("a", &about).await.expect("everyone may");

    let operators = OPERATORS.map(str::to_owned).into();
    fixture.access.set_roles(Roles { operators, operators_make_collections: true, ..Roles::default() });

    let refused = fixture.user("eve").collections().create("b", &about).await;
    assert!(matches!(refused, Err(CollectionError::NotCreator)), "{refused:?}");
    fixture.user("ana").collections().create("b", &about).await.expect("operators may");
}
