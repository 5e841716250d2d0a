//! The hosts that the operator permits to toolkits, at each request.

use super::*;

fn policy(everyone: &[String], of_finance: &[String]) -> HostPolicy {
    let list = |entries: &[String]| Allowlist::parse(entries).unwrap();
    HostPolicy::new(list(everyone), [("finance".to_owned(), list(of_finance))].into())
}

fn restricted(policy: HostPolicy) -> Egress {
    Egress::new(EgressSettings {
        host_policy: Some(policy),
        ..settings(&["127.0.0.0/8", "::1/128"], &["127.0.0.0/8", "::1/128"])
    })
}

fn for_groups(entries: &[String], groups: &[&str]) -> Policy {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    let allowlist = Arc::new(Allowlist::parse(entries).unwrap());
    Policy::Toolkit { allowlist, user: "ana".into(), membership: Membership::Of(Arc::new(groups)) }
}

#[tokio::test]
async fn a_declared_host_that_the_operator_does_not_permit_gets_no_request() {
    let upstream = upstream().await;
    let declared = [format!("127.0.0.1:{}", upstream.port()), format!("localhost:{}", upstream.port())];
    let egress = restricted(policy(&declared[1..], &[]));
    let listed = listing(&declared);

    for host in ["127.0.0.1", "127.1", "0x7f.1"] {
        let error =
            egress.send(get(&format!("http://{host}:{}/", upstream.port())), &listed).await.unwrap_err();
        assert!(matches!(error, EgressError::ForbiddenHost { .. }), "{host}: {error}");
        let said = error.to_string();
        assert!(said.contains(&declared[0]) && said.contains("egress-policy): ask your operator"), "{said}");
    }
    assert!(upstream.requests().is_empty());

    let permitted = fetch(&egress, &format!("http://LOCALHOST.:{}/", upstream.port()), &listed).await;
    assert_eq!(permitted.unwrap(), "hello");
}

#[tokio::test]
async fn what_the_operator_permits_widens_no_declaration() {
    let upstream = upstream().await;
    let egress = restricted(policy(&[format!("127.0.0.1:{}", upstream.port())], &[]));

    let error = egress.send(get(&upstream.origin()), &listing(&["a.example".to_owned()])).await.unwrap_err();

    assert!(matches!(error, EgressError::NotListed { .. }), "{error}");
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn a_group_reaches_further_and_others_do_not() {
    let upstream = upstream().await;
    let declared = [format!("127.0.0.1:{}", upstream.port())];
    let egress = restricted(policy(&[], &declared));

    for groups in [&[][..], &["sales"]] {
        let error = egress.send(get(&upstream.origin()), &for_groups(&declared, groups)).await.unwrap_err();
        assert!(matches!(error, EgressError::ForbiddenHost { .. }), "{groups:?}: {error}");
    }
    let member = for_groups(&declared, &["sales", "finance"]);
    assert_eq!(fetch(&egress, &upstream.origin(), &member).await.unwrap(), "hello");
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_new_policy_counts_for_connections_that_are_open_and_can_be_taken_back() {
    let upstream = upstream().await;
    let declared = [format!("127.0.0.1:{}", upstream.port())];
    let egress = egress(&["127.0.0.0/8"]);
    let listed = listing(&declared);
    fetch(&egress, &upstream.origin(), &listed).await.unwrap();

    egress.clone().host_policy().replace(Some(HostPolicy::default()));
    let refused = fetch(&egress, &upstream.origin(), &listed).await;

    assert!(matches!(refused, Err(EgressError::ForbiddenHost { .. })), "{refused:?}");
    assert_eq!(upstream.requests().len(), 1);

    egress.host_policy().replace(None);
    fetch(&egress, &upstream.origin(), &listed).await.unwrap();
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_file_of_a_toolkits_document_comes_from_a_permitted_host_and_a_users_from_any() {
    let upstream = upstream().await;
    let own = [format!("127.0.0.1:{}", upstream.port())];
    let of_toolkit = Policy::ToolkitCapture { user: "ana".into() };

    for (policy, expected) in
        [(policy(&[], &[]), false), (policy(&own, &[]), true), (policy(&[], &own), true)]
    {
        let egress = restricted(policy);
        let fetched = fetch(&egress, &upstream.origin(), &of_toolkit).await;
        assert_eq!(fetched.is_ok(), expected, "{fetched:?}");
        assert_eq!(fetch(&egress, &upstream.origin(), &capture()).await.unwrap(), "hello");
        fetch(&egress, &upstream.origin(), &Policy::Operator).await.unwrap();
    }
    // It is a capture in all else.
    let error = restricted(policy(&["127.0.0.1:6667".to_owned()], &[]));
    let error = error.send(get("http://127.0.0.1:6667/"), &of_toolkit).await.unwrap_err();
    assert!(matches!(error, EgressError::ForbiddenPort { .. }), "{error}");
    let closed = Egress::new(EgressSettings { host_policy: Some(policy(&own, &[])), ..settings(&[], &[]) });
    let error = closed.send(get(&upstream.origin()), &of_toolkit).await.unwrap_err();
    assert!(matches!(error, EgressError::ForbiddenAddress { .. }), "{error}");
}
