use std::time::Duration;

use super::*;
use crate::caller::{Caller, TokenProfile};
use crate::groups::Groups;
use crate::program_keys::{KeyGroups, NewKey, ProgramKeys};
use crate::users::Unadmitted;

struct Fixture {
    database: Database,
    users: Users,
    provisioning: Provisioning,
    provisioner: Provisioner,
    data: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(data.path()).await;
    let users = Users::open(database.clone()).await.expect("it opens");
    let limits = ProvisioningLimits { users: 3, groups: 2, members: 2 };
    let user_id = Some(UserIdAttribute::ExternalId);
    let provisioning = Provisioning::open(database.clone(), users.clone(), user_id, limits).await;
    let provisioning = provisioning.expect("it opens");
    let (token, _) =
        provisioning.create_token("entra", &Actor::user_only("olga")).await.expect("it is the first one");
    let provisioner = provisioning.provisioner(token.expose_secret()).await.expect("the database answers");
    Fixture { database, users, provisioning, provisioner: provisioner.expect("it is valid"), data }
}

fn user(id: &str, is_active: bool) -> UserContent {
    UserContent {
        user_name: format!("{id}@example.com"),
        external_id: Some(id.to_owned()),
        is_active,
        attributes: Map::new(),
    }
}

async fn replaced(
    provisioner: &Provisioner,
    id: &str,
    content: UserContent,
) -> Result<ProvisionedUser, ProvisioningError> {
    provisioner.change_user(id, |_| Ok(content)).await
}

fn caller(id: &str, issued_at: i64) -> Caller {
    Caller {
        user_id: id.to_owned(),
        profile: TokenProfile::Access,
        client_id: None,
        key: None,
        scopes: Vec::new(),
        toolkits: None,
        issued_at,
        groups: Groups::default(),
    }
}

fn group(name: &str, members: &[&str]) -> GroupChange {
    let members = members.iter().map(|&id| id.to_owned()).collect();
    GroupChange { name: Some(name.to_owned()), external_id: None, members: vec![MemberChange::Add(members)] }
}

#[tokio::test]
async fn whom_the_provider_deactivates_is_refused_until_it_activates_them_again() {
    let Fixture { database, users, provisioner, data: _data, .. } = fixture().await;
    let ana = provisioner.create_user(user("ana", true)).await.expect("there is room");
    let other = Users::open(database.clone()).await.expect("it opens");
    users.admit(&caller("ana", now())).await.expect("she is active");

    replaced(&provisioner, &ana.id, user("ana", false)).await.expect("she is there");

    let far = now() + 1_000_000_000;
    assert_eq!(users.admit(&caller("ana", far)).await, Err(Unadmitted::Ended), "a later sign-in");
    other.publish().await.expect("the database answers");
    assert_eq!(other.admit(&caller("ana", far)).await, Err(Unadmitted::Ended), "another process");
    let by = Actor::user_only("olga");
    users.end("ana", &by).await.expect("it can be done");
    assert_eq!(
        users.admit(&caller("ana", far)).await,
        Err(Unadmitted::Ended),
        "an operator's end changes nothing"
    );

    replaced(&provisioner, &ana.id, user("ana", true)).await.expect("she is there");
    assert_eq!(users.admit(&caller("ana", now() - 10)).await, Err(Unadmitted::Ended), "a token of before");
    users.admit(&caller("ana", far)).await.expect("she is active");

    provisioner.delete_user(&ana.id).await.expect("she is there");
    assert_eq!(users.admit(&caller("ana", far + 1)).await, Err(Unadmitted::Ended), "a removed one");
    provisioner.create_user(user("ana", true)).await.expect("she is new again");
    users.admit(&caller("ana", far + 1)).await.expect("she is active");
}

#[tokio::test]
async fn a_change_of_something_else_at_the_same_time_takes_no_deactivation_back() {
    let Fixture { users, provisioner, data: _data, .. } = fixture().await;
    let ana = provisioner.create_user(user("ana", true)).await.expect("there is room");
    let rename = async |number: usize| {
        let named = move |before: &ProvisionedUser| {
            let name = format!("{number}@example.com");
            Ok::<_, ProvisioningError>(UserContent { user_name: name, ..before.content.clone() })
        };
        provisioner.change_user(&ana.id, named).await.expect("she is there");
    };
    let deactivate = async {
        let deactivated = |before: &ProvisionedUser| {
            Ok::<_, ProvisioningError>(UserContent { is_active: false, ..before.content.clone() })
        };
        provisioner.change_user(&ana.id, deactivated).await.expect("she is there");
    };

    futures::future::join(futures::future::join_all((0..20).map(rename)), deactivate).await;

    let after = provisioner.user(&ana.id).await.expect("she is there");
    assert!(!after.content.is_active, "{after:?}");
    assert_eq!(users.admit(&caller("ana", now() + 1_000_000)).await, Err(Unadmitted::Ended));
}

#[tokio::test]
async fn another_id_in_tokens_deactivates_the_old_one() {
    let Fixture { users, provisioner, data: _data, .. } = fixture().await;
    let ana = provisioner.create_user(user("ana", true)).await.expect("there is room");
    provisioner.create_user(user("ben", true)).await.expect("there is room");

    let taken = replaced(&provisioner, &ana.id, user("ben", true)).await;
    assert!(matches!(taken, Err(ProvisioningError::Conflict(_))), "{taken:?}");
    replaced(&provisioner, &ana.id, user("anna", true)).await.expect("she is there");

    let far = now() + 1_000_000_000;
    assert_eq!(users.admit(&caller("ana", far)).await, Err(Unadmitted::Ended));
    users.admit(&caller("anna", far)).await.expect("she is active");
    users.admit(&caller("ben", far)).await.expect("he is active");
}

#[tokio::test]
async fn without_provisioning_nobody_stays_deactivated_and_no_token_is_valid() {
    let Fixture { database, provisioning, provisioner, data: _data, .. } = fixture().await;
    let (token, _) =
        provisioning.create_token("okta", &Actor::user_only("olga")).await.expect("it is another one");
    provisioner.create_user(user("ana", false)).await.expect("there is room");

    let open = async |user_id| {
        let users = Users::open(database.clone()).await.expect("it opens");
        let limits = ProvisioningLimits::default();
        let opened = Provisioning::open(database.clone(), users.clone(), user_id, limits).await;
        (users, opened.expect("it opens"))
    };
    let far = now() + 1_000_000_000;
    let (users, off) = open(None).await;
    users.admit(&caller("ana", far)).await.expect("nobody is deactivated");
    assert!(off.provisioner(token.expose_secret()).await.expect("the database answers").is_none());
    let (users, on) = open(Some(UserIdAttribute::ExternalId)).await;
    assert_eq!(users.admit(&caller("ana", far + 1)).await, Err(Unadmitted::Ended));
    assert!(on.provisioner(token.expose_secret()).await.expect("the database answers").is_some());
}

#[tokio::test]
async fn numbers_are_bounded_and_ids_are_those_that_tokens_may_have() {
    let Fixture { provisioner, data: _data, .. } = fixture().await;
    let mut ids = Vec::new();
    for id in ["ana", "ben", "group:admins"] {
        ids.push(provisioner.create_user(user(id, true)).await.expect("there is room").id);
    }
    let full = provisioner.create_user(user("cid", true)).await;
    assert!(matches!(full, Err(ProvisioningError::Full("users"))), "{full:?}");

    let long = "x".repeat(MAX_SUBJECT_BYTES + 1);
    for id in ["", "a\0b", ERASED_USER, &long] {
        let refused = replaced(&provisioner, &ids[0], user(id, true)).await;
        assert!(matches!(refused, Err(ProvisioningError::Invalid(_))), "{id}: {refused:?}");
    }
    let large = UserContent {
        attributes: Map::from_iter([("displayName".to_owned(), "x".repeat(MAX_ATTRIBUTES_BYTES).into())]),
        ..user("ana", true)
    };
    let refused = replaced(&provisioner, &ids[0], large).await;
    assert!(matches!(refused, Err(ProvisioningError::Invalid(_))), "{refused:?}");

    let refused = provisioner.create_group(group("all", &[&ids[0], &ids[1], &ids[2]])).await;
    assert!(matches!(refused, Err(ProvisioningError::Full(_))), "{refused:?}");
    let refused = provisioner.create_group(group("all", &["nobody"])).await;
    assert!(matches!(refused, Err(ProvisioningError::Invalid(_))), "{refused:?}");
    provisioner.create_group(group("sales", &[])).await.expect("there is room");
    let taken = provisioner.create_group(group("sales", &[])).await;
    assert!(matches!(taken, Err(ProvisioningError::Conflict(_))), "{taken:?}");
    provisioner.create_group(group("support", &[])).await.expect("there is room");
    let full = provisioner.create_group(group("third", &[])).await;
    assert!(matches!(full, Err(ProvisioningError::Full("groups"))), "{full:?}");
}

#[tokio::test]
async fn provisioned_groups_count_for_keys_of_active_members() {
    let Fixture { database, provisioner, data: _data, .. } = fixture().await;
    let ana = provisioner.create_user(user("ana", true)).await.expect("there is room");
    let sales = provisioner.create_group(group("sales", &[&ana.id])).await.expect("there is room");
    let keys = ProgramKeys::new(database, "local").with_groups(KeyGroups::Provisioned);
    let new = NewKey { name: "nightly".to_owned(), made_by: None, toolkits: None, expires_at: None };
    let (key, _) = keys.create("ana", new).await.expect("she may");
    let groups = async || {
        let caller = keys.caller(key.expose_secret()).await.expect("it is valid");
        caller.groups.iter().map(str::to_owned).collect::<Vec<_>>()
    };

    assert_eq!(groups().await, ["sales"]);
    let renamed = GroupChange { name: Some("sellers".to_owned()), ..GroupChange::default() };
    provisioner.change_group(&sales.id, renamed).await.expect("it is there");
    assert_eq!(groups().await, ["sellers"]);
    let left =
        GroupChange { members: vec![MemberChange::Remove(vec![ana.id.clone()])], ..GroupChange::default() };
    provisioner.change_group(&sales.id, left).await.expect("it is there");
    assert_eq!(groups().await, [""; 0]);
    provisioner.change_group(&sales.id, group("sellers", &[&ana.id])).await.expect("it is there");
    assert_eq!(groups().await, ["sellers"]);
    provisioner.delete_group(&sales.id).await.expect("it is there");
    assert_eq!(groups().await, [""; 0]);
}

#[tokio::test]
async fn groups_of_the_last_sign_in_count_for_keys_for_the_time_that_is_set() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(data.path()).await;
    let new = NewKey { name: "nightly".to_owned(), made_by: None, toolkits: None, expires_at: None };
    let keys = ProgramKeys::new(database.clone(), "local");
    let (key, _) = keys.create("ana", new).await.expect("she may");
    let insert = "INSERT INTO users (user_id, first_seen_at, signed_in_at, groups) VALUES ('ana', 1, $1, '[\"sales\"]')";
    let signed_in = now() - 60_000;
    let mut transaction = database.begin(kitbag_database::Scope::Sessions).await.expect("it is there");
    let inserted = kitbag_database::sql(insert).bind(signed_in).execute(&mut transaction).await;
    assert_eq!(inserted.expect("it is new"), 1);
    transaction.commit().await.expect("it is there");
    let groups = async |groups: KeyGroups| {
        let keys = keys.clone().with_groups(groups);
        let caller = keys.caller(key.expose_secret()).await.expect("it is valid");
        caller.groups.iter().map(str::to_owned).collect::<Vec<_>>()
    };

    assert_eq!(groups(KeyGroups::None).await, [""; 0]);
    assert_eq!(groups(KeyGroups::Provisioned).await, [""; 0]);
    assert_eq!(groups(KeyGroups::Remembered(Duration::from_secs(30))).await, [""; 0]);
    assert_eq!(groups(KeyGroups::Remembered(Duration::from_mins(5))).await, ["sales"]);
    let users = Users::open(database.clone()).await.expect("it opens");
    users.end("ana", &Actor::user_only("olga")).await.expect("she is there");
    let keys = keys.with_groups(KeyGroups::Remembered(Duration::from_mins(5)));
    assert_eq!(keys.groups_of("ana").await.expect("the database answers"), Groups::default());
}

#[tokio::test]
async fn a_token_is_shown_once_and_is_over_when_it_is_revoked() {
    let Fixture { provisioning, data: _data, .. } = fixture().await;
    let by = Actor::user_only("olga");
    let repeated = provisioning.create_token("entra", &by).await;
    assert!(matches!(repeated, Err(ProvisioningError::NameTaken(_))), "{repeated:?}");
    let (token, made) = provisioning.create_token("okta", &by).await.expect("it is another one");
    let find = async |token: &str| provisioning.provisioner(token).await.expect("the database answers");
    assert!(find(token.expose_secret()).await.is_some());
    for wrong in ["", "kbs_", "kbk_abc", &format!("{}x", token.expose_secret())] {
        assert!(find(wrong).await.is_none(), "{wrong}");
    }

    let tokens = provisioning.tokens().await.expect("the database answers");
    assert_eq!(tokens.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["entra", "okta"]);
    assert!(tokens[1].used_at.is_some() && tokens[1].created_by == "olga");
    assert!(provisioning.revoke_token(&made.id, &by).await.expect("the database answers"));
    assert!(!provisioning.revoke_token(&made.id, &by).await.expect("the database answers"));
    assert!(find(token.expose_secret()).await.is_none());
}
