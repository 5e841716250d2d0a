//! Checks the releases of other processes before the schema is changed: processes of a release that is too
//! old would fail with the new schema.

use sqlx::PgConnection;

use crate::{DatabaseError, Release, Result};

/// Fails while the database is used by processes of an incompatible release, or if a later, incompatible
/// release has used it before.
pub(super) async fn check(session: &mut PgConnection) -> Result<()> {
    const COLUMNS: &str = "SELECT table_name || '.' || column_name FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name IN ('processes', 'service')";

    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&mut *session).await?;
    let has = |column: &str| columns.iter().any(|name| name == column);
    // The table does not exist before the first start.
    if !has("processes.seen_at") {
        return Ok(());
    }
    let this = Release::of_this_program();
    // 30 seconds: processes remove a peer without a heartbeat after that time. Old releases have no column
    // `release`.
    let releases = if has("processes.release") {
        "SELECT DISTINCT release FROM processes WHERE seen_at > clock_millis() - 30000 ORDER BY release"
    } else {
        "SELECT DISTINCT '' FROM processes WHERE seen_at > clock_millis() - 30000"
    };
    let releases: Vec<String> = sqlx::query_scalar(releases).fetch_all(&mut *session).await?;
    let fits = |other: &String| other.parse().is_ok_and(|other| this.works_beside(other));
    if let Some(other) = releases.into_iter().find(|other| !fits(other)) {
        return Err(DatabaseError::too_far_apart(other, this));
    }
    if !has("service.release") {
        return Ok(());
    }
    let newest: Option<String> = sqlx::query_scalar("SELECT release FROM service").fetch_one(session).await?;
    match newest.map(|newest| (newest.parse::<Release>(), newest)) {
        Some((Ok(newest), _)) if newest <= this || this.works_beside(newest) => Ok(()),
        Some((_, newest)) => Err(DatabaseError::too_old(newest, this)),
        None => Ok(()),
    }
}
