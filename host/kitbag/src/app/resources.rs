//! Resources that all parts of a server share.

use kitbag_base::disk::Disk;
use kitbag_base::metrics::Metrics;
use kitbag_base::tasks::take_a_share;
use kitbag_base::workers::Workers;
use kitbag_database::Database;
use kitbag_database::peers::Hints;
use kitbag_files::objects::Objects;
use kitbag_net::egress::Egress;
use kitbag_net::traces::Traces;
use kitbag_sandbox::Background;
use kitbag_sandbox::compiler::{Compiler, Program};
use tokio_util::sync::CancellationToken;

use super::error::StartError;
use super::sandbox_limits::compile_limits;
use super::{data, outbound, storage};
use crate::settings::{ObjectsLocation, Settings};

/// Storage, outbound requests, the compiler, and what is measured.
pub(super) struct Resources {
    pub(super) database: Database,
    pub(super) objects: Objects,
    /// Free space of the data directory.
    pub(super) disk: Disk,
    /// Free space of the folder with components and captured files, if it is another one.
    pub(super) objects_disk: Option<Disk>,
    pub(super) egress: Egress,
    /// Threads for calls that compute for long.
    pub(super) background: Background,
    /// Threads that process large data of requests and documents.
    pub(super) workers: Workers,
    pub(super) compiler: Compiler,
    pub(super) hints: Hints,
    pub(super) metrics: Metrics,
    pub(super) traces: Traces,
}

impl Resources {
    /// Opens the resources of a server with this database. `compiler` is the program that compiles, until
    /// `stopping` is cancelled.
    pub(super) async fn open(
        settings: &Settings,
        database: Database,
        compiler: Program,
        stopping: &CancellationToken,
    ) -> Result<Self, StartError> {
        let metrics = Metrics::default();
        let (egress, traces) = outbound::start(settings, &metrics)?;
        let background = Background::start().map_err(StartError::Threads)?;
        let workers = Workers::start("large-work", take_a_share).map_err(StartError::Threads)?;
        let disk = data::watched_disk(settings, &settings.data)?;
        let objects = storage::open_objects(settings, &database, &egress).await?;
        let objects_disk = match &settings.objects {
            ObjectsLocation::Folder(folder) => Some(data::watched_disk(settings, folder)?),
            ObjectsLocation::Default | ObjectsLocation::DataDirectory | ObjectsLocation::Bucket { .. } => {
                None
            }
        };
        let compiler = Compiler::new(compiler, compile_limits(settings), disk.clone(), stopping.clone());
        let hints = Hints::start(&database);
        Ok(Self {
            database,
            objects,
            disk,
            objects_disk,
            egress,
            background,
            workers,
            compiler,
            hints,
            metrics,
            traces,
        })
    }
}
