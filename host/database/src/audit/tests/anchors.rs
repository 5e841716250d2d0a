//! Signed ends of chains.

use super::tampering::hash;
use super::*;

/// Returns the next anchor of the log, read and noted as written.
async fn next(anchoring: &mut Anchoring) -> SignedAnchor {
    let new = anchoring.next().await.expect("it is read").expect("there are keys");
    let signed = SignedAnchor::read(&new.signed).expect("it is an anchor");
    anchoring.written(new);
    signed
}

fn ends(anchor: &SignedAnchor) -> Vec<(i64, &str)> {
    anchor.anchor.chains.iter().map(|end| (end.sequence, end.hash.as_str())).collect()
}

#[tokio::test]
async fn an_anchor_has_the_ends_that_have_changed_since_the_one_before_was_written() {
    let (_folder, database, audit) = log().await;
    let mut anchoring = audit.anchoring();
    append_all(&database, &["A", "B"]).await;

    let dropped = anchoring.next().await.expect("it is read").expect("there are keys");
    let first = next(&mut anchoring).await;
    let unchanged = next(&mut anchoring).await;
    append_all(&database, &["C"]).await;
    let later = next(&mut anchoring).await;

    let entries = read(&audit, AuditQuery::default()).await;
    let [.., second, third] = entries.as_slice() else { panic!("three entries: {entries:?}") };
    assert_eq!(ends(&first), [(2, second.hash.as_str())]);
    assert_eq!(first.anchor.chains[0].at, second.at);
    assert_eq!(first.anchor.retention_seconds, DAY.as_secs());
    assert_eq!(ends(&SignedAnchor::read(&dropped.signed).expect("an anchor")), ends(&first));
    assert_eq!((unchanged.anchor.chains.len(), unchanged.anchor.faults.len()), (0, 0));
    assert_eq!(ends(&later), [(3, third.hash.as_str())]);
    let verified = audit.verify("ana").await.expect("it is read").expect("nobody else verifies");
    assert_eq!((verified.anchor_keys, verified.begun_at), (vec![first.key], first.anchor.begun_at));
}

#[tokio::test]
async fn an_end_that_was_changed_is_not_signed_but_named() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A", "B"]).await;
    database.execute("UPDATE audit_chains SET newest = 1").await;

    let anchor = next(&mut audit.anchoring()).await.anchor;

    assert_eq!(anchor.chains, []);
    assert_eq!(anchor.faults[0].what, "the record of its ends was changed");
    empty(&database).await;
    database.execute("INSERT INTO spent_links VALUES (X, 1)".replace('X', hash(&database)).as_str()).await;
    let anchor = next(&mut audit.anchoring()).await.anchor;
    assert_eq!(anchor.faults[0].what, "the list of chains was removed");
}

#[tokio::test]
async fn a_changed_anchor_is_refused_and_another_key_has_another_name() {
    let (_folder, database, audit) = log().await;
    append_all(&database, &["A"]).await;
    let anchoring = audit.anchoring();
    let signed = anchoring.next().await.expect("it is read").expect("there are keys").signed;
    let parts: Vec<&str> = signed.split('.').collect();
    let [header, payload, signature] = parts.as_slice() else { panic!("three parts: {signed}") };
    database.seal_audit_with(keys(&[2, 1])).await.expect("there is room");
    let of_other = anchoring.next().await.expect("it is read").expect("there are keys").signed;
    let other: Vec<&str> = of_other.split('.').collect();

    for wrong in [
        format!("{header}.{}.{signature}", other[1]),
        format!("{}.{payload}.{signature}", other[0]),
        format!("{header}.{payload}.{}", other[2]),
        format!("{header}.{payload}."),
    ] {
        assert!(matches!(SignedAnchor::read(&wrong), Err(NoAnchor::Signature)), "{wrong}");
    }
    for malformed in ["", ".", "..", "a.b.c", payload, &format!("{header}.{payload}"), "{}"] {
        assert!(matches!(SignedAnchor::read(malformed), Err(NoAnchor::Malformed)), "{malformed}");
    }
    let [first, second] = [signed, of_other].map(|it| SignedAnchor::read(&it).expect("an anchor").key);
    assert_ne!(first, second);
    let verified = audit.verify("ana").await.expect("it is read").expect("nobody else verifies");
    assert_eq!(verified.anchor_keys, [second, first]);
}

/// RFC 8037, appendices A.1 to A.3.
#[test]
fn the_name_of_a_key_is_its_thumbprint() {
    let seed =
        hex::decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").expect("digits");
    let key = AnchorKey::of_seed(&seed.try_into().expect("32 bytes"));
    assert_eq!(key.thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}
