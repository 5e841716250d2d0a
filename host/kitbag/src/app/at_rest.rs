//! Database and files of a service without a running server, for commands that copy a service.

use std::fs::File;
use std::path::{Path, PathBuf};

use kitbag_base::ownership::{self, Distrust};
use kitbag_database::Database;
use kitbag_files::objects::{Location, Objects, ObjectsError};
use kitbag_net::egress::Egress;
use secrecy::ExposeSecret;
use thiserror::Error;

use super::data::claim;
use super::error::StartError;
use super::outbound::egress_settings;
use super::storage::objects_location;
use crate::settings::{DatabaseLocation, ObjectsLocation, Settings};

/// Size of the connection pool: one transaction that keeps servers from starting, one that reads or writes
/// all rows, and a few single statements.
const CONNECTIONS: u32 = 8;

/// A service without a running server. While this value exists, no server can start on its data directory, if
/// there is one.
pub struct AtRest {
    /// Database of the service.
    pub database: Database,
    /// Store of components and captured files.
    pub objects: Objects,
    _lock: Option<File>,
}

/// Reasons why a service cannot be opened.
#[derive(Debug, Error)]
pub enum AtRestError {
    /// Same failures as when a server starts.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The data directory is missing or accessible to other users.
    #[error(transparent)]
    Distrusted(#[from] Distrust),
    /// There is no database.
    #[error("{} has no database: no server has run on it", .0.display())]
    NoDatabase(PathBuf),
    /// The database has triggers, views, indexes or tables that this program did not create.
    #[error("the database has parts that this program has not made: {0}")]
    ForeignParts(String),
    /// The database has the schema of another version of this program.
    #[error("the database has schema {found}, and this program has schema {program}")]
    Schema {
        /// Schema version of the database.
        found: i64,
        /// Schema version of this program.
        program: i64,
    },
}

impl AtRest {
    /// Opens an existing service without creating or migrating anything.
    pub async fn open(settings: &Settings) -> Result<Self, AtRestError> {
        if is_in_data_directory(settings) {
            ownership::check_private(&settings.data)?;
        }
        let url = match &settings.database {
            DatabaseLocation::Server(url) => Some(url),
            DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => None,
        };
        if url.is_none() && !settings.data.join(Database::FILE).exists() {
            return Err(AtRestError::NoDatabase(settings.data.clone()));
        }
        let lock = lock(settings)?;
        let database = match url {
            Some(url) => Database::connect_existing(url.expose_secret(), CONNECTIONS).await,
            None => Database::open_existing(&settings.data).await,
        };
        let database = database.map_err(StartError::from)?;
        let found = database.schema().await.map_err(StartError::from)?;
        let program = Database::program_schema();
        if found != program {
            return Err(AtRestError::Schema { found, program });
        }
        let foreign = database.foreign_parts(program).await.map_err(StartError::from)?;
        if !foreign.is_empty() {
            return Err(AtRestError::ForeignParts(foreign.join(", ")));
        }
        let objects = open_objects(settings, &database)?;
        Ok(Self { database, objects, _lock: lock })
    }

    /// Opens a new service: creates what is missing, as a server does when it starts.
    pub async fn begin(settings: &Settings) -> Result<Self, AtRestError> {
        let lock = lock(settings)?;
        let database = match &settings.database {
            DatabaseLocation::Server(url) => Database::connect(url.expose_secret(), CONNECTIONS).await,
            DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => {
                Database::open(&settings.data).await
            }
        };
        let database = database.map_err(StartError::from)?;
        if let ObjectsLocation::Folder(folder) = &settings.objects {
            ownership::claim_directory(folder).map_err(StartError::from)?;
        }
        let objects = open_objects(settings, &database)?;
        objects.expect_shared().await.map_err(StartError::from)?;
        Ok(Self { database, objects, _lock: lock })
    }

    /// Closes the database.
    pub async fn close(self) {
        self.database.close().await;
    }
}

/// Whether two services share the database or the files.
pub fn share_data(one: &Settings, other: &Settings) -> bool {
    let same_database = match (&one.database, &other.database) {
        (DatabaseLocation::Server(one), DatabaseLocation::Server(other)) => {
            one.expose_secret() == other.expose_secret()
        }
        (DatabaseLocation::Server(_), _) | (_, DatabaseLocation::Server(_)) => false,
        _ => is_same_folder(&one.data, &other.data),
    };
    let same_files = match (objects_location(one), objects_location(other)) {
        (Location::Folder(one), Location::Folder(other)) => is_same_folder(&one, &other),
        (Location::Bucket(one), Location::Bucket(other)) => {
            (one.bucket, one.prefix, one.endpoint) == (other.bucket, other.prefix, other.endpoint)
        }
        _ => false,
    };
    same_database || same_files
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        // A missing folder cannot be canonicalized: compare the absolute paths.
        _ => std::path::absolute(one).ok() == std::path::absolute(other).ok(),
    }
}

/// Whether the database or the files are in the data directory.
fn is_in_data_directory(settings: &Settings) -> bool {
    let has_files = matches!(settings.objects, ObjectsLocation::Default | ObjectsLocation::DataDirectory);
    has_files || !matches!(settings.database, DatabaseLocation::Server(_))
}

fn lock(settings: &Settings) -> Result<Option<File>, StartError> {
    is_in_data_directory(settings).then(|| claim(&settings.data)).transpose()
}

fn open_objects(settings: &Settings, database: &Database) -> Result<Objects, StartError> {
    let egress = Egress::new(egress_settings(settings)?);
    let location = objects_location(settings);
    let opened: Result<_, ObjectsError> = Objects::as_it_is(database.clone(), &location, &egress);
    Ok(opened?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn settings(data: &Path) -> Settings {
        Settings { data: data.to_owned(), ..Settings::default() }
    }

    fn scratch() -> tempfile::TempDir {
        let private = std::fs::Permissions::from_mode(0o700);
        tempfile::Builder::new().permissions(private).tempdir().expect("a scratch directory")
    }

    #[tokio::test]
    async fn a_data_directory_that_a_server_uses_is_left_alone() {
        let data = scratch();
        let settings = settings(data.path());
        let running = AtRest::begin(&settings).await.expect("nobody uses it");

        for refused in [AtRest::open(&settings).await.err(), AtRest::begin(&settings).await.err()] {
            let refused = refused.expect("it is used").to_string();
            assert!(refused.contains("another server is running"), "{refused}");
        }
        running.close().await;
        AtRest::open(&settings).await.expect("nobody uses it any more");
    }

    #[tokio::test]
    async fn what_is_opened_as_it_is_is_not_made_and_not_converted() {
        let data = scratch();
        let settings = settings(&data.path().join("absent"));
        assert!(matches!(AtRest::open(&settings).await, Err(AtRestError::Distrusted(_))));
        assert!(!settings.data.exists());

        let settings = self::settings(data.path());
        assert!(matches!(AtRest::open(&settings).await, Err(AtRestError::NoDatabase(_))));
        assert_eq!(data.path().read_dir().expect("a folder").count(), 0);

        let database = Database::open(data.path()).await.expect("a database");
        database.execute("CREATE VIEW evil AS SELECT 1").await;
        database.close().await;
        let refused = AtRest::open(&settings).await.err().expect("somebody has changed it");
        assert!(matches!(&refused, AtRestError::ForeignParts(parts) if parts == "view evil"), "{refused}");

        let data = scratch();
        let settings = self::settings(data.path());
        let database = Database::open(data.path()).await.expect("a database");
        database.claim_schema(0).await;
        database.close().await;
        let program = Database::program_schema();
        let refused = AtRest::open(&settings).await.err().expect("it is old");
        assert!(matches!(refused, AtRestError::Schema { found: 0, program: it } if it == program));
    }

    #[test]
    fn services_with_the_same_database_or_the_same_files_are_one() {
        let folder = scratch();
        let [one, other] = ["one", "other"].map(|name| settings(&folder.path().join(name)));
        let with = |settings: &Settings, objects: &str| Settings {
            objects: objects.parse().expect("a place"),
            ..settings.clone()
        };
        std::fs::create_dir(folder.path().join("one")).expect("a folder");
        std::os::unix::fs::symlink(folder.path().join("one"), folder.path().join("link")).expect("a link");

        assert!(!share_data(&one, &other));
        assert!(share_data(&one, &settings(&folder.path().join("link"))));
        assert!(share_data(&one, &with(&other, &format!("folder:{}", one.data.display()))));
        assert!(share_data(&with(&one, "s3://files/a"), &with(&other, "s3://files/a/")));
        assert!(!share_data(&with(&one, "s3://files/a"), &with(&other, "s3://files/b")));
    }
}
