//! The database, and the store of components and captured files.

use std::sync::Arc;

use kitbag_base::ownership;
use kitbag_database::Database;
use kitbag_database::audit::{Audit, CallEntries, Retention};
use kitbag_files::objects::{BucketLocation, Location, Objects};
use kitbag_net::egress::Egress;
use secrecy::ExposeSecret;

use super::error::StartError;
use crate::settings::{DatabaseLocation, ObjectsLocation, Settings};

/// Opens the configured database.
pub(super) async fn open_database(settings: &Settings) -> Result<Database, StartError> {
    Ok(match &settings.database {
        DatabaseLocation::Server(url) => {
            Database::connect(url.expose_secret(), settings.database_connections).await?
        }
        DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => Database::open(&settings.data).await?,
    })
}

/// Opens the store of components and captured files. A separate folder must be accessible only to the
/// server's user, like the data directory.
pub(super) async fn open_objects(
    settings: &Settings,
    database: &Database,
    egress: &Egress,
) -> Result<Objects, StartError> {
    let location = objects_location(settings);
    if let ObjectsLocation::Folder(folder) = &settings.objects {
        ownership::claim_directory(folder)?;
    }
    let objects = Objects::open(database.clone(), &location, egress).await?;
    objects.expect_shared().await?;
    Ok(objects)
}

/// Returns the location of components and captured files.
pub fn objects_location(settings: &Settings) -> Location {
    match &settings.objects {
        ObjectsLocation::Default | ObjectsLocation::DataDirectory => Location::Folder(settings.data.clone()),
        ObjectsLocation::Folder(folder) => Location::Folder(folder.clone()),
        ObjectsLocation::Bucket { name, prefix } => Location::Bucket(BucketLocation {
            bucket: name.clone(),
            prefix: prefix.clone(),
            endpoint: settings.objects_endpoint.clone().into_inner(),
            region: settings.objects_region.clone(),
            key_id: settings.objects_key_id.get().cloned().unwrap_or_default(),
            secret: settings.objects_secret.get().map(|secret| secret.get().clone()).unwrap_or_default(),
        }),
    }
}

/// Opens the audit log and removes expired entries.
pub(super) fn audit_log(settings: &Settings, database: &Database) -> Arc<Audit> {
    let audit = Audit::new(database.clone(), audit_retention(settings), call_entries(settings));
    let audit = Arc::new(audit);
    audit.keep_removing();
    audit
}

/// Returns whether calls have entries in the audit log.
pub(super) fn call_entries(settings: &Settings) -> CallEntries {
    if settings.record_callers { CallEntries::WithCallers } else { CallEntries::Off }
}

/// Returns how long entries of the audit log are kept.
pub fn audit_retention(settings: &Settings) -> Retention {
    Retention { acts: settings.audit_retention.get(), calls: settings.audit_calls_retention.get() }
}
