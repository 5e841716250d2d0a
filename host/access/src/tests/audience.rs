//! Audiences of toolkits and tools, as seen by each function that applies them.

use std::collections::BTreeSet;

use kitbag_manifest::ToolDefinition;
use kitbag_toolkits::audience::Grant;

use super::*;
use crate::view::values::Question;

/// Tools that each user can see of `ana`'s toolkit with the tools `find` and `list`, by visibility and
/// grants: `both`, one of the tools, or `-` for none.
///
/// `ana` and `ben` are operators, `sal` and `sam` are in the group `sales`, `sam` in `support` too. `sales` is a user and in no
/// group; `gil` is in groups that are named like `ana`, like `eve` and almost like `sales`.
const TABLE: &str = "
                                          ana   ben   sal   sam   eve   sales gil
shared                                    both  both  both  both  both  both  both
private                                   both  -     -     -     -     -     -
private group:sales                       both  -     both  both  -     -     -
shared  group:sales                       both  -     both  both  -     -     -
shared  group:sales:find                  both  -     find  find  -     -     -
shared  group:sales:find group:support    both  -     find  both  -     -     -
private group:sales:find group:support:list both -    find  both  -     -     -
private user:eve                          both  -     -     -     both  -     -
private user:eve:list                     both  -     -     -     list  -     -
shared  user:eve                          both  -     -     -     both  -     -
private user:ben:find                     both  find  -     -     -     -     -
private everyone                          both  both  both  both  both  both  both
shared  everyone:find group:support       both  find  find  both  find  find  find
shared  group:sales:gone                  both  -     -     -     -     -     -
shared  group:sales:gone group:sales:find both  -     find  find  -     -     -
private user:sales                        both  -     -     -     -     both  -
private group:eve                         both  -     -     -     -     -     both
private group:ana                         both  -     -     -     -     -     both
";

const GROUPS: [(&str, &[&str]); 7] = [
    ("ana", &[]),
    ("ben", &[]),
    ("sal", &["sales"]),
    ("sam", &["support", "sales"]),
    ("eve", &[]),
    ("sales", &[]),
    ("gil", &["ana", "eve", "Sales", "sales ", "group:sales"]),
];

pub(super) fn grant(json: Value) -> Grant {
    serde_json::from_value(json).expect("a grant")
}

/// A grant as the table writes it, such as `group:sales:find`.
fn grant_of(text: &str) -> Grant {
    let parts: Vec<_> = text.split(':').collect();
    match parts[..] {
        ["everyone"] => grant(json!({ "everyone": true })),
        ["everyone", tool] => grant(json!({ "everyone": true, "tool": tool })),
        [kind, name] => grant(json!({ kind: name })),
        [kind, name, tool] => grant(json!({ kind: name, "tool": tool })),
        _ => panic!("{text}"),
    }
}

fn names<'a>(tools: impl IntoIterator<Item = &'a ToolDefinition>) -> Vec<String> {
    tools.into_iter().map(|tool| tool.name.clone()).collect()
}

/// Returns the visible tools, and checks that all functions agree.
async fn seen(user: &User, id: &str) -> Vec<String> {
    let visible = user.toolkit(id).ok();
    let seen = visible.as_ref().map(|it| names(&it.definition().tools)).unwrap_or_default();

    let all = user.toolkits();
    let listed = all.iter().find(|it| it.definition().id == id);
    assert_eq!(listed.map(|it| names(&it.definition().tools)).unwrap_or_default(), seen, "toolkits");
    for tool in ["find", "list", "gone"] {
        let is_seen = seen.iter().any(|name| name == tool);
        assert_eq!(user.callee(&format!("{id}__{tool}")).is_some(), is_seen, "callee {tool}");
        assert_eq!(user.listed_name(id, tool).is_ok(), is_seen, "listed_name {tool}");
        let called = user.call(&format!("{id}__{tool}"), Map::new(), None).await;
        assert_eq!(!matches!(called, Err(CallError::UnknownTool(_))), is_seen, "call {tool}");
        assert_eq!(user.hide(id, Some(tool)).await.is_ok(), is_seen, "hide {tool}");
    }
    let record = user.listed().record(id).await.ok();
    let of_record = record.map(|it| it.manifest["tools"].as_array().map(Vec::len).unwrap_or_default());
    let listing = user.listed().all();
    let of_listing = listing.iter().find(|it| it.definition.id == id).map(|it| it.definition.tools.len());
    let expected = match (user.is_operator(), seen.len()) {
        (true, _) => Some(2),
        (false, 0) => None,
        (false, count) => Some(count),
    };
    assert_eq!((of_record, of_listing), (expected, expected), "what is listed");
    for (what, is_allowed) in [
        ("secret", user.secret(id, "KEY").is_ok()),
        ("settings", read_settings(user, id).await.is_ok()),
        ("records", user.records(id).await.is_ok() || user.is_operator()),
    ] {
        let is_seen = !seen.is_empty() || (what == "records" && user.is_operator());
        assert_eq!(is_allowed, is_seen, "{what}");
    }
    if !user.is_operator() {
        assert_eq!(user.listed().picture(&picture_of(id)).await.is_ok(), !seen.is_empty(), "picture");
    }
    seen
}

/// Returns the tools of a toolkit that the view of access gives a user in these groups.
fn in_view(operator: &Operator, (name, groups): (&str, &[&str]), id: &str) -> Vec<String> {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    let view = operator.view_of(Question::User(name.to_owned()), name, &groups);
    let Some(toolkit) = view.toolkits.into_iter().find(|toolkit| toolkit.id == id) else { return Vec::new() };
    let all = || ["find", "list"].map(str::to_owned).to_vec();
    let tools: BTreeSet<_> =
        toolkit.by.into_iter().flat_map(|right| right.tools.unwrap_or_else(all)).collect();
    tools.into_iter().collect()
}

#[tokio::test]
async fn each_function_says_alike_for_whom_a_tool_is() {
    let mut lines = TABLE.trim_matches('\n').lines();
    let users: Vec<_> = lines.next().expect("a line").split_whitespace().collect();
    assert_eq!(users, GROUPS.map(|(user, _)| user));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
    let toolkits: Vec<_> =
        rows.iter().enumerate().map(|(index, row)| (format!("books-{index}"), row[0], "ana")).collect();
    let fixture = Fixture::with(&toolkits).await;
    let ana = fixture.user("ana").operator().expect("ana is one");

    for (row, (id, visibility, _)) in rows.iter().zip(&toolkits) {
        let (grants, expected) = row[1..].split_at(row.len() - 1 - users.len());
        for text in grants {
            let grant = grant_of(text);
            let is_unknown = grant.tool.as_deref() == Some("gone");
            let shared = ana.audiences().share(id, vec![grant.clone()]).await;
            assert_eq!(shared.is_err(), is_unknown, "{id} {text}: {shared:?}");
            if is_unknown {
                // The state after a version without the tool.
                let stores = fixture.access.stores();
                stores.toolkits.audiences.share(id, vec![grant], &ana.0.actor()).await.expect("it is shared");
            }
        }
        for ((name, groups), expected) in GROUPS.iter().zip(expected) {
            let found = seen(&fixture.member(name, groups), id).await;
            let expected: Vec<&str> = match *expected {
                "both" => vec!["find", "list"],
                "-" => vec![],
                tool => vec![tool],
            };
            assert_eq!(found, expected, "{name} of {visibility} {grants:?}");
            assert_eq!(in_view(&ana, (name, groups), id), expected, "{name} in the view of access");
        }
    }
}

#[tokio::test]
async fn a_toolkit_disappears_with_the_group_and_a_link_lives_as_long_as_the_audience() {
    let fixture = Fixture::with(&[("books".to_owned(), "private", "ana")]).await;
    let ana = fixture.user("ana").operator().expect("ana is one");
    ana.audiences()
        .share("books", vec![grant_of("group:sales"), grant_of("user:eve")])
        .await
        .expect("it is hers");
    let sal = fixture.member("sal", &["sales"]);
    let secret = sal.secret("books", "KEY").expect("sal sees it");
    assert!(fixture.access.toolkit_of(&secret).is_some(), "a link leads there");

    // The next token of the same user has no groups.
    assert_eq!(attempt(&fixture.user("sal"), "call", "books").await, "hidden");
    ana.audiences().unshare("books", Subject::Group("sales".to_owned()), None).await.expect("it is shared");
    assert_eq!(attempt(&sal, "call", "books").await, "hidden");
    assert!(fixture.access.toolkit_of(&secret).is_none(), "a link leads nowhere");
    assert_eq!(attempt(&fixture.user("eve"), "call", "books").await, "yes");

    let again = ana.audiences().unshare("books", Subject::Group("sales".to_owned()), None).await;
    assert!(matches!(again, Err(AccessError::Toolkit(ToolkitError::NotShared { .. }))), "{again:?}");
    // A later toolkit with this id is a different one.
    ana.remove("books").await.expect("it is hers");
    let left: Vec<i64> = fixture.database.column("SELECT count(*) FROM toolkit_audience").await;
    assert_eq!(left, [0]);
}

#[tokio::test]
async fn no_grant_is_removed_if_more_may_be_used_without_it() {
    let fixture =
        Fixture::with(&[("books".to_owned(), "shared", "ana"), ("own".to_owned(), "private", "ana")]).await;
    let ana = fixture.user("ana").operator().expect("ana is one");
    let group = || Subject::Group("sales".to_owned());
    let is_refused = |removed: Result<(), AccessError>| {
        matches!(removed, Err(AccessError::Toolkit(ToolkitError::LastGrant { .. })))
    };

    ana.audiences().share("books", vec![grant_of("group:sales")]).await.expect("it is hers");
    assert!(is_refused(ana.audiences().unshare("books", group(), None).await));
    assert!(seen(&fixture.user("eve"), "books").await.is_empty(), "it is for sales alone, as before");
    ana.audiences().share("books", vec![grant_of("everyone:find")]).await.expect("it is hers");
    ana.audiences().unshare("books", group(), None).await.expect("it is for everyone by name");
    // Without this grant, everyone could call all tools, and not only this one.
    assert!(is_refused(ana.audiences().unshare("books", Subject::Everyone, None).await));
    assert_eq!(seen(&fixture.user("eve"), "books").await, ["find"]);
    let limited = grant(json!({ "everyone": true, "perDay": 9 }));
    ana.audiences().share("books", vec![limited]).await.expect("it is hers");
    assert!(
        is_refused(ana.audiences().unshare("books", Subject::Everyone, None).await),
        "they would be without limits"
    );
    ana.audiences().share("books", vec![grant_of("everyone")]).await.expect("it is hers");
    ana.audiences()
        .unshare("books", Subject::Everyone, None)
        .await
        .expect("the same people may use the same");
    assert_eq!(seen(&fixture.user("eve"), "books").await, ["find", "list"]);

    ana.audiences().share("own", vec![grant_of("group:sales")]).await.expect("it is hers");
    ana.audiences().unshare("own", group(), None).await.expect("it is hers alone");
    assert!(seen(&fixture.user("eve"), "own").await.is_empty());
}

#[tokio::test]
async fn a_toolkit_has_so_many_grants_and_no_more() {
    let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
    let ana = fixture.user("ana").operator().expect("ana is one");
    let users = |numbers: std::ops::Range<u32>| -> Vec<Grant> {
        numbers.map(|number| grant(json!({ "user": format!("user-{number}") }))).collect()
    };
    ana.audiences().share("books", users(0..200)).await.expect("there is room");
    let more = ana.audiences().share("books", users(200..201)).await;
    assert!(matches!(more, Err(AccessError::Toolkit(ToolkitError::TooManyGrants))), "{more:?}");
    ana.audiences().share("books", users(0..200)).await.expect("they are there");
    assert_eq!(ana.audiences().of("books").expect("it is there").grants().len(), 200);
}

#[tokio::test]
async fn members_of_a_group_are_operators_and_local_users_have_the_groups_of_the_settings() {
    let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
    fixture.access.set_roles(Roles {
        operator_groups: ["admins".to_owned()].into(),
        local_groups: [("lea".to_owned(), ["admins".to_owned()].into_iter().collect())].into(),
        ..Roles::default()
    });

    assert!(fixture.member("una", &["admins"]).is_operator() && fixture.user("lea").is_operator());
    assert!(!fixture.member("una", &["sales"]).is_operator() && !fixture.user("admins").is_operator());
    assert!(!fixture.user("ana").is_operator(), "the settings name her no more");
}

#[tokio::test]
async fn calls_beyond_a_limit_are_refused_until_the_next_period_by_all_processes() {
    let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
    let ana = fixture.user("ana").operator().expect("ana is one");
    let limited = json!({ "group": "sales", "perMinute": 600, "perDay": 3 });
    ana.audiences()
        .share("books", vec![grant(limited), grant_of("group:support")])
        .await
        .expect("it is hers");
    let audience = ana.audiences().of("books").expect("it is there");
    let limits = |groups: &[&str]| {
        audience.limits("sal", &groups.iter().map(|&group| group.to_owned()).collect(), "find")
    };
    let [one, other] = [(); 2].map(|()| LimitedCalls::new(fixture.database.clone()));

    for process in [&one, &other, &one] {
        assert_eq!(process.count("books", &limits(&["sales"])).await.expect("it counts"), Ok(()));
    }
    let over =
        other.count("books", &limits(&["sales"])).await.expect("it counts").expect_err("three are made");
    assert_eq!((over.limit, over.period), (3, "day"));
    let message = over.message("books");
    assert!(message.contains("3 calls a day that the group sales may make together to books"), "{message}");
    assert!(over.again > jiff::Timestamp::now() && over.seconds() <= 24 * 60 * 60);

    // The user's other group has no limit.
    assert_eq!(other.count("books", &limits(&["sales", "support"])).await.expect("it counts"), Ok(()));
    let used = fixture.member("sal", &["sales"]).toolkit("books").expect("sal sees it");
    let used = used.limits().await.expect("they are counted");
    assert_eq!((used[0].calls_in_minute, used[0].calls_in_day), (3, 3));

    // Counts expire after a day.
    fixture.database.execute("UPDATE limited_calls SET began = began - 86400000").await;
    assert_eq!(one.count("books", &limits(&["sales"])).await.expect("it counts"), Ok(()));
}

#[tokio::test]
async fn calls_at_once_do_not_pass_a_limit() {
    let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
    let ana = fixture.user("ana").operator().expect("ana is one");
    ana.audiences()
        .share("books", vec![grant(json!({ "everyone": true, "perDay": 7 }))])
        .await
        .expect("it is hers");
    let limits = ana.audiences().of("books").expect("it is there").limits("sal", &Groups::default(), "find");
    let counts = Arc::new(LimitedCalls::new(fixture.database.clone()));

    let calls = (0..32).map(|_| {
        let counts = counts.clone();
        let limits = limits.clone();
        tokio::spawn(async move { counts.count("books", &limits).await.expect("it counts").is_ok() })
    });
    let admitted = futures::future::join_all(calls).await;
    assert_eq!(admitted.into_iter().filter(|admitted| *admitted.as_ref().expect("it ends")).count(), 7);
}
