//! Notifications of the server.

use crate::{Session, sql};

/// What all processes of a service listen to. Others that use the same database cannot be told apart; their payloads are
/// no hints.
pub(in crate::peers) const CHANNEL: &str = "kitbag";

/// Notifies whoever listens, in a transaction of its own.
pub(in crate::peers) async fn notify(session: &mut Session, payload: &str) -> crate::Result<()> {
    sql("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(payload).execute(session).await?;
    Ok(())
}
