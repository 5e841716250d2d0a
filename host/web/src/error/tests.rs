use kitbag_database::{Database, Scope, refuse_ended};

use super::*;

/// Error of a write for a user who was ended.
async fn late(database: &Database) -> DatabaseError {
    let mut transaction = database.begin(Scope::Vault).await.expect("it begins");
    refuse_ended(&mut transaction, "ana").await.expect_err("she was ended")
}

#[tokio::test]
async fn a_write_that_comes_too_late_is_refused_and_is_no_fault_of_the_server() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(folder.path()).await;
    database
        .execute("INSERT INTO users (user_id, groups, ended_at, ended_by) VALUES ('ana', '[]', 1, 'olga')")
        .await;

    let errors: [WebError; 6] = [
        KnowledgeError::from(late(&database).await).into(),
        CollectionError::from(late(&database).await).into(),
        ToolkitError::from(late(&database).await).into(),
        UserConfigError::from(late(&database).await).into(),
        VaultError::from(late(&database).await).into(),
        AccessError::Users(late(&database).await).into(),
    ];

    for error in errors {
        let (status, detail, _) = error.into_parts();
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert_eq!(detail, "The access of this user was ended: nothing is stored for them any more.");
    }
}
