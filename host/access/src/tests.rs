mod audience;
mod collections;
mod consents;
mod hints;
mod peers;
mod users;

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use kitbag_base::disk::Disk;
use kitbag_base::metrics::Metrics;
use kitbag_base::sha256::Sha256;
use kitbag_base::signatures::PublicKey;
use kitbag_base::tasks::take_a_share;
use kitbag_base::workers::Workers;
use kitbag_database::Database;
use kitbag_database::audit::{Audit, CallEntries, CallQuery, Retention};
use kitbag_database::peers::{Heard, Hint, Hints, Process, Profile};
use kitbag_files::objects::Objects;
use kitbag_identity::{
    Caller, CallerKey, Groups, KeyLimits, ProgramKeys, Provisioning, ProvisioningLimits, Subject,
    TokenProfile, UserIdAttribute, Users,
};
use kitbag_knowledge::collections::Collections;
use kitbag_knowledge::{Capture, CaptureSettings, Extract, Knowledge, Options};
use kitbag_net::egress::{Egress, EgressSettings};
use kitbag_net::traces::Traces;
use kitbag_toolkits::code_runner::CodeRunner;
use kitbag_toolkits::dispatch::{AdmissionLimits, CallServices, Dispatch};
use kitbag_toolkits::invocations::{Auditing, Invocations, Period, RetentionLimits, Scope};
use kitbag_toolkits::testing::{compiler, sandbox};
use kitbag_toolkits::user_config::{UserConfig, UserConfigError};
use kitbag_toolkits::{Claim, DeployTerms, Incoming, LimitedCalls, Origin, Rollback, ToolkitError, Toolkits};
use kitbag_vault::outbound_auth::Accounts;
use kitbag_vault::user_cache::UserCache;
use kitbag_vault::{KeySource, Vault, VaultError};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::*;

/// The outcome of each operation of each user on a toolkit: `yes`; `no`, with a reason; or `hidden`, as if it
/// did not exist. For records of calls, and their number, `own` or `all`.
///
/// `ana` and `fay` own the toolkits, `ana` and `ben` are operators, `una` is neither. There is no user who is
/// not signed in: without a [`Caller`] there is no [`User`]. Whether an uploaded version becomes live is
/// decided after it was compiled: see `tests/spec/ownership.rs`.
const TABLE: &str = "
                    private                        | shared
                    ana     fay     ben     una    | ana     fay     ben     una
see                 yes     yes     hidden  hidden | yes     yes     yes     yes
list                yes     yes     yes     hidden | yes     yes     yes     yes
read-record         yes     yes     yes     hidden | yes     yes     yes     yes
call                yes     yes     hidden  hidden | yes     yes     yes     yes
read-settings       yes     yes     hidden  hidden | yes     yes     yes     yes
change-settings     yes     yes     hidden  hidden | yes     yes     yes     yes
list-secrets        yes     yes     hidden  hidden | yes     yes     yes     yes
set-secret          yes     yes     hidden  hidden | yes     yes     yes     yes
unset-secret        yes     yes     hidden  hidden | yes     yes     yes     yes
agree               yes     yes     hidden  hidden | yes     yes     yes     yes
read-calls          all     owned   all     hidden | all     own     all     own
count-calls         all     owned   all     hidden | all     own     all     own
upload              yes     no      yes     no     | yes     no      yes     no
keep-upload         yes     no      yes     no     | yes     no      yes     no
list-uploads        yes     no      yes     no     | yes     no      yes     no
review              yes     no      yes     no     | yes     no      yes     no
deploy-upload       yes     no      no      no     | yes     no      yes     no
discard-upload      yes     no      yes     no     | yes     no      yes     no
see-updates         yes     no      yes     no     | yes     no      yes     no
read-manifest       yes     no      yes     no     | yes     no      yes     no
compare             yes     no      yes     no     | yes     no      yes     no
count-failures      yes     no      yes     no     | yes     no      yes     no
see-overview        yes     no      yes     no     | yes     no      yes     no
see-picture         yes     yes     yes     hidden | yes     yes     yes     yes
roll-back           yes     no      no      no     | yes     no      yes     no
release             yes     no      no      no     | yes     no      no      no
take-over           no      no      yes     no     | no      no      yes     no
remove              yes     no      no      no     | yes     no      yes     no
read-audience       yes     no      yes     no     | yes     no      yes     no
share               yes     no      no      no     | yes     no      yes     no
unshare             yes     no      no      no     | yes     no      yes     no
reset-publisher     yes     no      no      no     | yes     no      yes     no
list-publishers     yes     no      yes     no     | yes     no      yes     no
add-publisher       yes     no      yes     no     | yes     no      yes     no
remove-publisher    yes     no      yes     no     | yes     no      yes     no
rotate-key          yes     no      yes     no     | yes     no      yes     no
verify-audit        yes     no      yes     no     | yes     no      yes     no
read-call-entries   yes     no      yes     no     | yes     no      yes     no
";

/// Maximum lifetime of keys, and time after which they pause.
const CENTURY: Duration = Duration::from_hours(36_500 * 24);

const OPERATORS: [&str; 2] = ["ana", "ben"];

struct Fixture {
    access: Access,
    database: Database,
    folder: TempDir,
}

impl Fixture {
    /// Toolkits by id, visibility and owner, each with an earlier version of the same visibility.
    async fn with(toolkits: &[(String, &str, &str)]) -> Self {
        Self::with_hints(toolkits, |_| Hints::off()).await
    }

    async fn with_hints(toolkits: &[(String, &str, &str)], hints: fn(&Database) -> Hints) -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path();
        let database = Database::of_test(path).await;
        for (id, visibility, owner) in toolkits {
            insert(&database, id, visibility, owner).await;
            insert_upload(&database, id, visibility).await;
        }
        let stores = stores(path, &database, hints(&database)).await;
        let access =
            Access::new(stores, Roles { operators: OPERATORS.map(str::to_owned).into(), ..Roles::default() });
        Self { access, database, folder }
    }

    fn user(&self, name: &str) -> User {
        self.member(name, &[])
    }

    /// Returns a program with a key of a user.
    fn program(&self, user: &str) -> User {
        self.access.of(&Arc::new(Caller {
            user_id: user.to_owned(),
            profile: TokenProfile::Key,
            client_id: None,
            key: Some(CallerKey { id: "key".to_owned(), name: "a key".to_owned() }),
            issued_at: i64::MAX,
            scopes: Vec::new(),
            toolkits: None,
            groups: Groups::default(),
        }))
    }

    /// Returns a user in these groups.
    fn member(&self, name: &str, groups: &[&str]) -> User {
        self.access.of(&Arc::new(Caller {
            user_id: name.to_owned(),
            profile: TokenProfile::Access,
            client_id: None,
            key: None,
            issued_at: i64::MAX,
            scopes: Vec::new(),
            toolkits: None,
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
        }))
    }
}

async fn insert(database: &Database, id: &str, visibility: &str, owner: &str) {
    let picture = picture_of(id);
    let mut sql = format!("INSERT INTO toolkits VALUES ('{id}', '{owner}', '2.0.0');");
    for version in ["1.0.0", "2.0.0"] {
        let manifest = json!({
            "id": id, "name": "Books", "description": "Finds books.", "icon": "book", "version": version,
            "visibility": visibility, "secrets": ["KEY"],
            "config": { "unit": { "type": "string", "label": "Unit" } },
            "tools": [
                { "name": "find", "description": "Finds one.", "inputSchema": { "type": "object" } },
                { "name": "list", "description": "Lists all.", "inputSchema": { "type": "object" } },
            ],
        });
        let changes = json!({ "added": [], "removed": [] });
        write!(
            sql,
            "INSERT INTO toolkit_versions
                 VALUES ('{id}', '{version}', '{version}', 1, '{manifest}', '{changes}', '[]', '{owner}', 0);
             INSERT INTO toolkit_activations (toolkit_id, version, activated_by, activated_at)
                 VALUES ('{id}', '{version}', '{owner}', 0);"
        )
        .expect("a string takes everything");
    }
    database.execute(&sql).await;
    for version in ["1.0.0", "2.0.0"] {
        let picture = kitbag_database::sql("INSERT INTO toolkit_icons VALUES ($1, $2, $3, 'image/png', $4)")
            .bind(id)
            .bind(version)
            .bind(&picture)
            .bind(id.as_bytes());
        database.write(picture).await;
    }
}

/// A waiting upload of the next version; its digest is the toolkit's id.
async fn insert_upload(database: &Database, id: &str, visibility: &str) {
    let manifest = json!({
        "id": id, "name": "Books", "description": "Finds books.", "icon": "📚", "version": "3.0.0",
        "visibility": visibility,
        "tools": [{ "name": "find", "description": "Finds one.", "inputSchema": { "type": "object" } }],
    });
    let now = jiff::Timestamp::now().as_millisecond();
    let sql = format!(
        "INSERT INTO toolkit_uploads VALUES ('{id}', '{id}', '3.0.0', 1, '{manifest}', '[]', 'ana', {now}, NULL, NULL, FALSE, NULL, NULL)"
    );
    database.execute(&sql).await;
}

async fn stores(path: &Path, database: &Database, hints: Hints) -> Stores {
    let egress = Egress::new(EgressSettings::default());
    let outbound = egress.clone();
    let objects = Objects::of_test(path, database).await;
    let dependencies = kitbag_toolkits::Dependencies {
        components: objects.components(),
        database: database.clone(),
        sandbox: sandbox(),
        compiler: compiler(),
        disk: Disk::unwatched(),
        egress: egress.clone(),
        on_removal: Arc::new(|| ()),
    };
    let toolkits = Toolkits::open(path, dependencies, kitbag_toolkits::Options::default()).await;
    let toolkits = Arc::new(toolkits.expect("they open"));
    let vault = Vault::open(database.clone(), KeySource::File(path.join("master-key"))).await;
    let vault = Arc::new(vault.expect("the vault opens"));
    let user_config = Arc::new(UserConfig::new(database.clone()));
    let cache = Arc::new(UserCache::new(database.clone(), vault.clone(), Disk::unwatched()));
    let limits = AdmissionLimits { per_user: 4, per_toolkit: 4, total: 4 };
    let workers = Workers::start("worker", take_a_share).expect("there are threads");
    let code_runner = CodeRunner::open(path, path.to_owned(), sandbox(), compiler()).await;
    let settings = CaptureSettings { size: 1 << 20, time: Duration::from_secs(10), transcription: None };
    let extract: Extract = Arc::new(|_, _| Box::pin(std::future::pending()));
    let capture = Capture::open(path, objects.artifacts(), egress, settings, extract)
        .await
        .expect("the folder is ours");
    let options = Options { hints: hints.clone(), ..Options::with_workers(workers.clone()) };
    let profile = Profile::of_this_program(&Knowledge::job_settings(&capture, &options));
    let process = Process::register(database, profile, path).await.expect("it is registered");
    let kept = RetentionLimits { age: Duration::from_hours(1), records: 100, bytes: 1 << 20 };
    let invocations =
        Invocations::open(database.clone(), hints.clone(), &process, kept, Auditing::off()).await;
    let invocations = Arc::new(invocations.expect("they open"));
    let services = CallServices {
        toolkits: toolkits.clone(),
        vault: vault.clone(),
        user_config: user_config.clone(),
        invocations: invocations.clone(),
        inspection: None,
        workers,
        metrics: Metrics::default(),
        traces: Traces::default(),
    };
    let dispatch = Dispatch::new(services, limits);
    let knowledge = Knowledge::open(database.clone(), process.clone(), capture, options).await;
    let users = Users::open(database.clone()).await.expect("they can be read");
    Stores {
        objects_disk: None,
        database: database.clone(),
        toolkits,
        dispatch: dispatch.expect("there are threads"),
        code_runner: Arc::new(code_runner.expect("the folder is ours")),
        host_policy: outbound.host_policy().clone(),
        accounts: Accounts::new(outbound, vault.clone()),
        vault,
        cache,
        user_config,
        invocations,
        audit: Arc::new(Audit::new(
            database.clone(),
            Retention::of_all(Duration::MAX),
            CallEntries::WithCallers,
        )),
        knowledge: knowledge.expect("it opens"),
        collections: Collections::open(database.clone()).await.expect("they can be read"),
        provisioning: Provisioning::open(
            database.clone(),
            users.clone(),
            Some(UserIdAttribute::ExternalId),
            ProvisioningLimits::default(),
        )
        .await
        .expect("it can be read"),
        users,
        program_keys: ProgramKeys::new(database.clone(), "local")
            .limited(KeyLimits { lifetime: Some(CENTURY), without_sign_in: Some(CENTURY) }),
        knowledge_tools: None,
        process,
        disk: Disk::unwatched(),
        hints,
    }
}

/// The outcome of an operation, as in the table.
async fn attempt(user: &User, operation: &str, id: &str) -> &'static str {
    let outcome: Result<(), AccessError> = match operation {
        "see" => user.toolkit(id).map(drop),
        "list" => {
            let is_listed = user.listed().all().iter().any(|toolkit| toolkit.definition.id == id);
            return if is_listed { "yes" } else { "hidden" };
        }
        "read-record" => user.listed().record(id).await.map(drop),
        "call" => {
            let called = user.call(&format!("{id}__find"), Map::new(), None).await;
            // The call fails because there is no component, which shows that the user may call it.
            return if matches!(called, Err(CallError::UnknownTool(_))) { "hidden" } else { "yes" };
        }
        "read-settings" => read_settings(user, id).await,
        "change-settings" => change_settings(user, id).await,
        "list-secrets" => user.stored_for(id).secrets().await.map(drop),
        "set-secret" => set_secret(user, id).await,
        "unset-secret" => user.stored_for(id).unset_secret("KEY").await,
        "agree" => agree(user, id).await,
        "see-picture" => user.listed().picture(&picture_of(id)).await.map(drop),
        "read-calls" => match user.records(id).await {
            Ok(records) => return scope_name(records.scope().unwrap_or(Scope::Own)),
            Err(error) => Err(error),
        },
        "count-calls" => match count_calls(user, id).await {
            Ok(scope) => return scope_name(scope),
            Err(error) => Err(error),
        },
        _ => match user.operator() {
            Ok(operator) => attempt_as_operator(operator, operation, id).await,
            Err(error) => Err(error),
        },
    };
    match outcome {
        Ok(()) => "yes",
        Err(AccessError::Toolkit(ToolkitError::Unknown(_) | ToolkitError::UnknownPicture)) => "hidden",
        Err(
            AccessError::NotOperator(_)
            | AccessError::Toolkit(ToolkitError::NotOwner { .. } | ToolkitError::AlreadyOwner(_)),
        ) => "no",
        Err(other) => panic!("{operation}: {other}"),
    }
}

/// Returns a valid public key of a publisher.
fn public_key() -> PublicKey {
    let pem = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6YdTIFOIQe32AzmD0NeUjP8V9cQI\n\
               NCwQYhXjkEi94QNoVA0FKSpqMqLrBHKhgSPtiUNzsFdbbD1NgnfFn4Bmwg==\n-----END PUBLIC KEY-----\n";
    PublicKey::from_pem(pem).expect("a key")
}

/// Returns the digest of a toolkit's picture.
fn picture_of(id: &str) -> String {
    hex::encode(Sha256::digest(id))
}

async fn read_settings(user: &User, id: &str) -> Result<(), AccessError> {
    user.toolkit(id)?.settings().await.map(drop)
}

async fn change_settings(user: &User, id: &str) -> Result<(), AccessError> {
    let changes = Map::from_iter([("unit".to_owned(), Value::from("metric"))]);
    user.toolkit(id)?.change_settings(&changes).await
}

async fn count_calls(user: &User, id: &str) -> Result<Scope, AccessError> {
    Ok(user.records(id).await?.usage().await?.scope)
}

async fn set_secret(user: &User, id: &str) -> Result<(), AccessError> {
    let secret = user.secret(id, "KEY")?;
    user.set_secret(&secret, &"a-secret-value".into()).await.map(drop)
}

async fn agree(user: &User, id: &str) -> Result<(), AccessError> {
    let toolkit = user.toolkit(id)?;
    let digest = toolkit.consent().await?.digest;
    toolkit.agree(&digest).await
}

fn own_terms() -> DeployTerms {
    DeployTerms { claim: Claim::OwnOnly, vouch: None }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::All => "all",
        Scope::Owned => "owned",
        Scope::Own => "own",
    }
}

async fn attempt_as_operator(operator: Operator, operation: &str, id: &str) -> Result<(), AccessError> {
    match operation {
        "upload" | "keep-upload" => {
            let component = Incoming {
                bytes: stream::iter([Ok::<_, io::Error>("no component".into())]),
                length: Some(12),
                limit: 1 << 10,
                origin: Origin::default(),
            };
            let attempted = if operation == "upload" {
                operator.deploy(component, own_terms()).await.map(drop)
            } else {
                operator.reviews().upload(component).await.map(drop)
            };
            match attempted {
                // This test has no compiler program, so a compiler error means that the upload was accepted.
                // Its toolkits have more uploads than may wait, so that error does too.
                Err(AccessError::Toolkit(ToolkitError::Compiler(_) | ToolkitError::TooManyUploads)) => Ok(()),
                other => other,
            }
        }
        "roll-back" => operator.roll_back(id, Rollback::default()).await.map(drop),
        "release" => operator.release(id).await,
        "take-over" => operator.take_over(id).await.map(drop),
        "remove" => operator.remove(id).await,
        "list-uploads" => operator.reviews().waiting().await.map(drop),
        "review" => operator.reviews().get(id).await.map(drop),
        "deploy-upload" => {
            let reviewed = operator.reviews().get(id).await?.reviewed();
            operator.reviews().deploy(id, own_terms(), reviewed).await.map(drop)
        }
        "discard-upload" => operator.reviews().discard(id).await,
        "see-updates" => operator.reviews().newer_versions().await.map(drop),
        "read-manifest" => operator.versions().get(id, "1.0.0").await.map(drop),
        "count-failures" => operator.failing().await.map(drop),
        "see-overview" => operator.overview(Period::Day).await.map(drop),
        "compare" => operator.versions().compare(id, "1.0.0", "2.0.0").await.map(drop),
        "read-audience" => operator.audiences().of(id).map(drop),
        "share" => operator.audiences().share(id, vec![audience::grant(json!({ "group": "sales" }))]).await,
        "unshare" => match operator.audiences().unshare(id, Subject::Everyone, None).await {
            Err(AccessError::Toolkit(ToolkitError::NotShared { .. })) => Ok(()),
            other => other,
        },
        "list-publishers" => operator.publishers().all().await.map(drop),
        "add-publisher" => match operator.publishers().add("-", &public_key()).await {
            Err(AccessError::Toolkit(ToolkitError::PublisherName(_))) => Ok(()),
            other => other.map(drop),
        },
        "remove-publisher" => match operator.publishers().remove("nobody").await {
            Err(AccessError::Toolkit(ToolkitError::UnknownPublisher(_))) => Ok(()),
            other => other,
        },
        "reset-publisher" => match operator.publishers().reset(id).await {
            Err(AccessError::Toolkit(ToolkitError::NotBound(_))) => Ok(()),
            other => other.map(drop),
        },
        "rotate-key" => operator.rotate_master_key().await.map(drop),
        "verify-audit" => operator.verify_audit().await.map(drop),
        "read-call-entries" => operator.calls(CallQuery::default()).await.map(drop),
        other => panic!("no operation {other}"),
    }
}

#[tokio::test]
async fn who_may_do_what() {
    let mut lines = TABLE.trim_matches('\n').lines();
    let visibilities = lines.next().expect("a line").split('|').map(str::trim);
    let users: Vec<Vec<&str>> =
        lines.next().expect("a line").split('|').map(|half| half.split_whitespace().collect()).collect();
    let columns: Vec<_> = visibilities
        .zip(&users)
        .flat_map(|(visibility, users)| users.iter().map(move |user| (visibility, *user)))
        .collect();
    let rows = lines.map(|line| {
        let mut cells = line.split_whitespace().filter(|cell| *cell != "|");
        (cells.next().expect("an operation"), cells.collect::<Vec<_>>())
    });
    let rows: Vec<_> = rows.collect();
    // Each case uses its own toolkit.
    let cases: Vec<_> = rows
        .iter()
        .flat_map(|(operation, cells)| {
            assert_eq!(cells.len(), columns.len(), "{operation}");
            columns.iter().zip(cells).map(move |((visibility, user), expected)| {
                let owner = if *user == "fay" { "fay" } else { "ana" };
                let id = format!("{visibility}-{user}-{operation}");
                (id, *visibility, owner, *user, *operation, *expected)
            })
        })
        .collect();
    let toolkits: Vec<_> =
        cases.iter().map(|(id, visibility, owner, ..)| (id.clone(), *visibility, *owner)).collect();
    let fixture = Fixture::with(&toolkits).await;

    let mut wrong = Vec::new();
    for (id, visibility, _, user, operation, expected) in cases {
        let found = attempt(&fixture.user(user), operation, &id).await;
        if found != expected {
            wrong.push(format!("{user} {operation} {visibility}: {found}, not {expected}"));
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn what_was_meant_for_one_owners_toolkit_is_not_kept_for_another_owner() {
    let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
    let una = fixture.user("una");
    let ben = fixture.user("ben");
    let toolkit = una.toolkit("books").expect("una sees it");
    let secret = toolkit.secret("KEY").expect("it declares it");
    assert!(fixture.access.toolkit_of(&secret).is_some());

    ben.operator().expect("ben is one").take_over("books").await.expect("it is ana's");

    assert!(fixture.access.toolkit_of(&secret).is_none(), "what a link leads to is gone");
    let refused = una.set_secret(&secret, &"a-secret-value".into()).await;
    assert!(matches!(refused, Err(AccessError::Secrets(VaultError::ToolkitChanged))), "{refused:?}");
    let changes = Map::from_iter([("unit".to_owned(), Value::from("metric"))]);
    let refused = toolkit.change_settings(&changes).await;
    assert!(matches!(refused, Err(AccessError::Settings(UserConfigError::ToolkitChanged))), "{refused:?}");
    let kept = "SELECT (SELECT count(*) FROM secrets) + (SELECT count(*) FROM user_config)";
    let kept: Vec<i64> = fixture.database.column(kept).await;
    assert_eq!(kept, [0]);
    // A new permission names the new owner, so setting succeeds.
    set_secret(&una, "books").await.expect("it is ben's now");
}

#[tokio::test]
async fn own_secrets_and_calls_stay_ones_own_when_a_toolkit_hides() {
    let fixture = Fixture::with(&[("books".to_owned(), "shared", "ana")]).await;
    let una = fixture.user("una");
    set_secret(&una, "books").await.expect("una sees it");
    let hide = "UPDATE toolkit_versions SET manifest = replace(manifest, 'shared', 'private')";
    fixture.database.execute(hide).await;
    let ana = fixture.user("ana").operator().expect("ana is one");
    ana.roll_back("books", Rollback::default()).await.expect("it is hers");

    assert_eq!(attempt(&una, "see", "books").await, "hidden");
    assert_eq!(una.stored_for("books").secrets().await.expect("one is set").len(), 1);
    una.stored_for("books").unset_secret("KEY").await.expect("it is una's");
    assert_eq!(attempt(&una, "list-secrets", "books").await, "hidden");
    assert_eq!(attempt(&una, "unset-secret", "books").await, "hidden");
}
