//! Answers received by one process for a call in another one.

use jiff::Timestamp;

use crate::{Database, Scope, sql};

/// Stores an answer, and deletes those older than `max_age` milliseconds.
pub(in crate::peers) async fn pass_answer(
    database: &Database,
    subject: &str,
    answer: &str,
    max_age: i64,
) -> crate::Result<()> {
    let now = Timestamp::now().as_millisecond();
    let mut transaction = database.begin(Scope::Answers).await?;
    sql("DELETE FROM passed_answers WHERE given_at < $1")
        .bind(now - max_age)
        .execute(&mut transaction)
        .await?;
    sql("INSERT INTO passed_answers (subject, answer, given_at) VALUES ($1, $2, $3)
         ON CONFLICT (subject) DO UPDATE SET answer = excluded.answer, given_at = excluded.given_at")
    .bind(subject)
    .bind(answer)
    .bind(now)
    .execute(&mut transaction)
    .await?;
    transaction.commit().await
}

/// Deletes and returns an answer, if it exists. A read comes first, as it rarely does.
pub(in crate::peers) async fn take_answer(
    database: &Database,
    subject: &str,
) -> crate::Result<Option<String>> {
    let is_there = sql("SELECT EXISTS (SELECT 1 FROM passed_answers WHERE subject = $1)").bind(subject);
    if !is_there.fetch_value(database.readers()).await? {
        return Ok(None);
    }
    let mut transaction = database.begin(Scope::Answers).await?;
    let answer = sql("DELETE FROM passed_answers WHERE subject = $1 RETURNING answer")
        .bind(subject)
        .fetch_optional_value(&mut transaction)
        .await?;
    transaction.commit().await?;
    Ok(answer)
}
