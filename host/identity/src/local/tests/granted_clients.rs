//! List and revocation of the clients with grants of a user.

use super::*;

#[tokio::test]
async fn a_user_sees_and_revokes_the_own_grants_alone() {
    let fixture = Fixture::new().await;
    let (client_id, of_ana) = fixture.signed_in().await;
    let consent = fixture.ask(&client_id, &[]).await;
    let answer = fixture.decide(&fixture.allow(&consent, "ben")).await.unwrap();
    let code = parameter(&answer, "code").expect("a code");
    let of_ben = refresh_token(&fixture.redeem(&client_id, &code, &[]).await.unwrap());

    let listed = fixture.server.granted_clients("ana").await.unwrap();
    assert_eq!(listed.iter().map(|it| (it.id.as_str(), it.grants)).collect::<Vec<_>>(), [(&*client_id, 1)]);
    assert!(fixture.server.granted_clients("eve").await.unwrap().is_empty());

    fixture.server.revoke_client("eve", &client_id).await.unwrap();
    let of_ana = refresh_token(&fixture.refresh(&client_id, &of_ana, &[]).await.unwrap());
    fixture.server.revoke_client("ana", &client_id).await.unwrap();

    assert!(fixture.server.granted_clients("ana").await.unwrap().is_empty());
    assert_refused(fixture.refresh(&client_id, &of_ana, &[]).await, ErrorCode::InvalidGrant, "revoked");
    fixture.refresh(&client_id, &of_ben, &[]).await.expect("Ben's is his own");
}
