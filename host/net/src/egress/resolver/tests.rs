//! Name servers that answer correctly, wrongly, or not at all.

use std::io::Write as _;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tempfile::NamedTempFile;

use super::super::test_name_server::{Question, Reply, TestNameServer, addresses};
use super::*;

/// Function that resolves a name in a test.
pub(in crate::egress) type Answer =
    dyn Fn(&str) -> BoxFuture<'static, Result<Vec<IpAddr>, LookupError>> + Send + Sync;

impl Resolver {
    /// Resolves each name with `answer`.
    pub(in crate::egress) fn answering<F>(answer: F) -> Self
    where
        F: Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static,
    {
        Self::Test(Arc::new(move |name| std::future::ready(Ok(answer(name))).boxed()))
    }

    /// Resolver that knows no name.
    pub(in crate::egress) fn unknowing() -> Self {
        Self::Test(Arc::new(|_| std::future::ready(Err(LookupError::NotFound)).boxed()))
    }

    /// Resolver that never answers.
    pub(in crate::egress) fn silent() -> Self {
        Self::Test(Arc::new(|_| std::future::pending().boxed()))
    }
}

/// Upper bound for operations that do not wait for a name server.
const LONG: Duration = Duration::from_secs(20);

/// Resolver that queries only `server`, with `lines` as the hosts file.
fn dns(server: &TestNameServer, timeout: Duration, lines: &str) -> (Resolver, NamedTempFile) {
    let mut hosts = NamedTempFile::new().unwrap();
    hosts.write_all(lines.as_bytes()).unwrap();
    let source = Source { name_servers: vec![server.address()], hosts: hosts.path().to_owned(), timeout };
    (Resolver::dns(source), hosts)
}

async fn ask(resolver: &Resolver, name: &str) -> Result<Vec<IpAddr>, LookupError> {
    resolver.lookup(name, &"ana".into()).await
}

#[track_caller]
fn check(found: Result<Vec<IpAddr>, LookupError>, expected: &[&str]) {
    let expected: Vec<IpAddr> = expected.iter().map(|address| address.parse().unwrap()).collect();
    assert_eq!(found.unwrap(), expected);
}

#[tokio::test]
async fn a_name_has_the_addresses_of_both_families_in_turns() {
    let server = TestNameServer::start(|_| addresses(&["192.0.2.1", "192.0.2.2", "2001:db8::1"])).await;
    let (resolver, _hosts) = dns(&server, LONG, "");

    check(ask(&resolver, "a.example").await, &["2001:db8::1", "192.0.2.1", "192.0.2.2"]);
    check(ask(&resolver, "under_score.example").await, &["2001:db8::1", "192.0.2.1", "192.0.2.2"]);
}

#[tokio::test]
async fn an_alias_is_followed_to_the_name_that_it_stands_for() {
    let server = TestNameServer::start(|question| match question.name.as_str() {
        "a.example" => Reply::Alias("b.example".to_owned()),
        _ => addresses(&["192.0.2.7"]),
    })
    .await;
    let (resolver, _hosts) = dns(&server, LONG, "");

    check(ask(&resolver, "a.example").await, &["192.0.2.7"]);
}

#[tokio::test]
async fn names_that_lead_nowhere_end_with_what_is_known_of_them() {
    let server = TestNameServer::start(|question| match question.name.as_str() {
        "none.example" => Reply::Code(3),
        "empty.example" => addresses(&[]),
        "fails.example" => Reply::Code(2),
        "refused.example" => Reply::Code(5),
        "round.example" => Reply::Alias("about.example".to_owned()),
        "about.example" => Reply::Alias("round.example".to_owned()),
        "self.example" => Reply::Alias("self.example".to_owned()),
        _ => Reply::Silence,
    })
    .await;
    let (resolver, _hosts) = dns(&server, LONG, "");

    for name in ["none.example", "empty.example", "round.example", "self.example"] {
        let found = ask(&resolver, name).await;
        assert!(matches!(found, Err(LookupError::NotFound)), "{name}: {found:?}");
    }
    for name in ["fails.example", "refused.example"] {
        let found = ask(&resolver, name).await;
        assert!(matches!(found, Err(LookupError::Failed)), "{name}: {found:?}");
    }
    let label = "x".repeat(64);
    for name in [format!("{label}.example"), ["abc"; 80].join("."), "a..b".to_owned()] {
        let found = ask(&resolver, &name).await;
        assert!(matches!(found, Err(LookupError::InvalidName)), "{name}: {found:?}");
    }
    // Names that are never sent to a name server (RFC 6761, RFC 7686).
    for name in ["a.invalid", "a.onion"] {
        assert!(matches!(ask(&resolver, name).await, Err(LookupError::NotFound)), "{name}");
    }
    let asked = server.asked();
    assert!(!asked.iter().any(|name| name.ends_with("invalid") || name.ends_with("onion")), "{asked:?}");
    assert!(asked.iter().filter(|name| *name == "round.example").count() < 20, "{asked:?}");
}

#[tokio::test]
async fn a_name_server_that_talks_nonsense_is_no_more_than_one_that_fails() {
    let server = TestNameServer::start(|question| match question.name.as_str() {
        "short.example" => Reply::Garbage(Vec::new()),
        "noise.example" => Reply::Garbage((0..=255).cycle().take(3000).collect()),
        // A message whose counts are higher than its records, and one whose names point at themselves.
        "counts.example" => Reply::Garbage([&[0x81, 0x80][..], &[0xff; 8]].concat()),
        "loop.example" => {
            let pointer = [0xc0, 12, 0, 1, 0, 1];
            Reply::Garbage([&[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0][..], &pointer, &pointer].concat())
        }
        _ => addresses(&["192.0.2.9"]),
    })
    .await;
    let (resolver, _hosts) = dns(&server, Duration::from_secs(1), "");

    let names = ["short.example", "noise.example", "counts.example", "loop.example"];
    for (name, found) in join_all(names.map(async |name| (name, ask(&resolver, name).await))).await {
        assert!(matches!(found, Err(LookupError::Failed | LookupError::Timeout)), "{name}: {found:?}");
    }
    check(ask(&resolver, "good.example").await, &["192.0.2.9"]);
}

#[tokio::test]
async fn of_a_huge_answer_a_few_addresses_are_kept() {
    let many: Vec<IpAddr> = (0..3900_u32).map(|number| IpAddr::from((number + 1).to_be_bytes())).collect();
    let server = TestNameServer::start(move |question: &Question| {
        if question.over_tcp {
            Reply::Addresses { addresses: many.clone(), ttl: u32::MAX }
        } else {
            Reply::Truncated
        }
    })
    .await;
    let (resolver, _hosts) = dns(&server, LONG, "");

    assert_eq!(ask(&resolver, "a.example").await.unwrap().len(), 8);
}

#[tokio::test]
async fn an_answer_counts_as_long_as_it_says_within_bounds() {
    let server = TestNameServer::start(|question| match question.name.as_str() {
        "short.example" => Reply::Addresses { addresses: vec!["192.0.2.1".parse().unwrap()], ttl: 0 },
        "none.example" => Reply::Code(3),
        "fails.example" => Reply::Code(2),
        _ => addresses(&["192.0.2.2"]),
    })
    .await;
    let (resolver, _hosts) = dns(&server, LONG, "");
    let names = ["short.example", "none.example", "fails.example", "long.example"];
    let asked = |name: &str| server.asked().iter().filter(|asked| *asked == name).count();

    for name in names {
        let first = ask(&resolver, name).await.map_err(|error| error.to_string());
        let at_once = asked(name);
        for _ in 0..20 {
            assert_eq!(ask(&resolver, name).await.map_err(|error| error.to_string()), first);
        }
        // On a busy machine a second may have passed: then there is one more query, not twenty.
        assert!(asked(name) <= 2 * at_once, "{name}: {} after {at_once}", asked(name));
    }
    let before = names.map(asked);
    tokio::time::sleep(Duration::from_millis(1200)).await;
    for name in names {
        ask(&resolver, name).await.ok();
    }

    let after = names.map(asked);
    assert!(after[..3].iter().zip(&before).all(|(after, before)| after > before), "{before:?} {after:?}");
    assert_eq!(after[3], before[3], "it is cached for a minute");
}

#[tokio::test]
async fn names_of_hosts_and_localhost_need_no_name_server() {
    let server = TestNameServer::start(|_| Reply::Silence).await;
    let lines = "# comment\n10.1.2.3 db.internal DB my_db # and this\n::1 v6 db.internal\nnonsense here\n";
    let (resolver, hosts) = dns(&server, LONG, lines);

    check(ask(&resolver, "db.internal").await, &["10.1.2.3", "::1"]);
    check(ask(&resolver, "my_db").await, &["10.1.2.3"]);
    check(ask(&resolver, "db").await, &["10.1.2.3"]);
    check(ask(&resolver, "localhost").await, &["127.0.0.1", "::1"]);
    check(ask(&resolver, "a.localhost").await, &["127.0.0.1", "::1"]);
    assert_eq!(server.asked(), [""; 0]);

    // Changed files are read again, without a restart.
    std::fs::write(hosts.path(), "10.9.9.9 db.internal another\n127.0.0.5 localhost\n").unwrap();
    tokio::time::sleep(Duration::from_millis(1200)).await;
    check(ask(&resolver, "db.internal").await, &["10.9.9.9"]);
    check(ask(&resolver, "localhost").await, &["127.0.0.5"]);
}

#[tokio::test]
async fn a_look_up_ends_with_its_time() {
    let server = TestNameServer::start(|_| Reply::Silence).await;
    let (resolver, _hosts) = dns(&server, Duration::from_millis(300), "");
    let begun = Instant::now();

    let found = ask(&resolver, "a.example").await;

    assert!(matches!(found, Err(LookupError::Timeout)), "{found:?}");
    assert!(begun.elapsed() < LONG);
    // An unreachable name server is not queried again immediately either.
    assert!(matches!(ask(&resolver, "a.example").await, Err(LookupError::Timeout)));
}

#[tokio::test]
async fn a_name_whose_servers_answer_for_one_family_alone_is_of_use() {
    let server = TestNameServer::start(|question| match question.record_type {
        1 => addresses(&["192.0.2.1"]),
        _ => Reply::Silence,
    })
    .await;
    let (resolver, _hosts) = dns(&server, LONG, "");

    check(ask(&resolver, "a.example").await, &["192.0.2.1"]);
}

#[test]
fn names_that_nobody_answers_for_hold_up_neither_others_nor_files() {
    // A single blocking thread: if a look-up held it, writing the file would hang.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = TestNameServer::start(|question| match question.name.as_str() {
            name if name.starts_with("silent") => Reply::Silence,
            _ => addresses(&["192.0.2.1"]),
        })
        .await;
        let (resolver, _hosts) = dns(&server, 3 * LONG, "");
        let folder = tempfile::tempdir().unwrap();
        let of_ana: Vec<_> = (0..200)
            .map(|number| {
                let resolver = resolver.clone();
                tokio::spawn(async move { ask(&resolver, &format!("silent-{number}.example")).await })
            })
            .collect();
        while server.asked().len() < 8 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }

        let others = async {
            check(resolver.lookup("good.example", &"ben".into()).await, &["192.0.2.1"]);
            tokio::fs::write(folder.path().join("file"), "written").await.unwrap();
            check(resolver.lookup("better.example", &"eve".into()).await, &["192.0.2.1"]);
        };
        tokio::time::timeout(LONG, others).await.expect("ana's names hold them up");

        let asked = server.asked();
        let mut silent: Vec<_> = asked.iter().filter(|name| name.starts_with("silent")).collect();
        silent.sort();
        silent.dedup();
        assert!(silent.len() <= 6, "ana asks for more than her share: {silent:?}");
        of_ana.iter().for_each(tokio::task::JoinHandle::abort);
        // Her share is free again once her look-ups are cancelled.
        for waiting in of_ana {
            waiting.await.unwrap_err();
        }
        let again = tokio::time::timeout(LONG, ask(&resolver, "good-again.example")).await;
        check(again.expect("cancelled look-ups still hold her share"), &["192.0.2.1"]);
    });
}

#[tokio::test]
async fn the_names_of_the_operator_are_asked_of_the_system() {
    check(Resolver::system().lookup("127.0.0.1", &Arc::default()).await, &["127.0.0.1"]);
    let localhost = Resolver::system().lookup("localhost", &Arc::default()).await.unwrap();
    assert!(localhost.contains(&"127.0.0.1".parse().unwrap()), "{localhost:?}");
    let unknown = Resolver::system().lookup("kitbag.invalid", &Arc::default()).await;
    assert!(matches!(unknown, Err(LookupError::System(_))), "{unknown:?}");
}
