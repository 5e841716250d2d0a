//! Helpers of tests, in this crate and others.

use std::path::Path;

use kitbag_database::Database;
use kitbag_net::egress::{Egress, EgressSettings};

use super::{Location, Objects};

impl Objects {
    /// Opens the files in a test's folder.
    pub async fn of_test(folder: &Path, database: &Database) -> Self {
        let egress = Egress::new(EgressSettings::default());
        let location = Location::Folder(folder.to_owned());
        Self::open(database.clone(), &location, &egress).await.expect("it can be opened")
    }
}
