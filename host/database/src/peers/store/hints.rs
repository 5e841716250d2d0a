//! Notifications by the PostgreSQL server.

use crate::{Session, sql};

/// Notification channel of all processes. Other programs with the same database may send to it too; their
/// payloads are no valid hints.
pub(in crate::peers) const CHANNEL: &str = "kitbag";

/// Notifies all listeners, in a transaction of its own.
pub(in crate::peers) async fn notify(session: &mut Session, payload: &str) -> crate::Result<()> {
    sql("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(payload).execute(session).await?;
    Ok(())
}
