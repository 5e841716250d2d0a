//! The knowledge base: capture of files, the model of search, quotas, and the server's own tools.

use std::path::Path;
use std::sync::Arc;

use kitbag_database::Database;
use kitbag_database::peers::Process;
use kitbag_knowledge::{
    Capture, CaptureSettings, Embedder, Endpoint, Knowledge, MAX_TEXT_BYTES, Options, Quota, Quotas,
    SearchFiles, TranscriptionSettings, model,
};
use kitbag_net::egress::Egress;
use kitbag_sandbox::extractors::Extractors;
use kitbag_sandbox::{ExtractionLimits, ExtractorSandbox};
use kitbag_toolkits::knowledge_tools::KnowledgeTools;
use tracing::info;
use url::Url;

use super::error::StartError;
use super::resources::Resources;
use crate::settings::{Model, Secret, Settings};

/// What the knowledge base is opened with, before this process has joined the others.
pub(super) struct Prepared {
    capture: Capture,
    options: Options,
}

impl Prepared {
    /// Opens the extractors and the model.
    pub(super) async fn new(settings: &Settings, resources: &Resources) -> Result<Self, StartError> {
        let capture = capture(settings, resources).await?;
        let embedder = embedder(settings, &resources.egress).await?;
        Ok(Self { capture, options: options(settings, embedder, resources) })
    }

    /// Returns the settings of jobs, which must be equal in all processes.
    pub(super) fn job_settings(&self) -> String {
        Knowledge::job_settings(&self.capture, &self.options)
    }

    /// Opens the knowledge base, whose jobs run in `process`.
    pub(super) async fn open(self, database: &Database, process: &Process) -> Result<Knowledge, StartError> {
        Ok(Knowledge::open(database.clone(), process.clone(), self.capture, self.options).await?)
    }
}

/// Creates the server's own tools, unless they are disabled.
pub(super) fn own_tools(
    settings: &Settings,
    knowledge: &Knowledge,
    base_url: &Url,
) -> Option<Arc<KnowledgeTools>> {
    settings.knowledge_tools.then(|| Arc::new(KnowledgeTools::new(knowledge.clone(), base_url)))
}

/// Limits and dependencies of the knowledge base.
fn options(settings: &Settings, embedder: Option<Embedder>, resources: &Resources) -> Options {
    Options {
        embedder,
        search_memory: settings.search_memory.bytes(),
        search_files: Some(SearchFiles::of(&settings.data)),
        quotas: Quotas {
            per_user: Quota {
                documents: settings.documents_per_user,
                bytes: settings.documents_size_per_user.bytes() as u64,
            },
            per_collection: Quota {
                documents: settings.documents_per_collection,
                bytes: settings.documents_size_per_collection.bytes() as u64,
            },
        },
        uploads_per_minute: settings.uploads_per_minute,
        disk: resources.disk.clone(),
        hints: resources.hints.clone(),
        ..Options::with_workers(resources.workers.clone())
    }
}

/// Creates the capture of files, with the installed extractors.
async fn capture(settings: &Settings, resources: &Resources) -> Result<Capture, StartError> {
    let failed = |cause| StartError::Data { path: settings.data.clone(), cause };
    let limits = ExtractionLimits {
        time: settings.bounds.extraction_time,
        memory: settings.extraction_memory.bytes(),
        text: MAX_TEXT_BYTES,
    };
    let sandbox = ExtractorSandbox::new(limits, resources.background.clone())?;
    let extractors =
        Extractors::open(&settings.data, settings.extractors.clone(), sandbox, resources.compiler.clone());
    let extract = extractors.await.map_err(failed)?.into_extract();
    let transcription = settings.transcription_url.get().map(|url| TranscriptionSettings {
        url: url.clone(),
        model: settings.transcription_model.clone(),
        key: settings.transcription_key.get().map(Secret::get).cloned(),
    });
    let capture = CaptureSettings {
        size: settings.capture_size.bytes() as u64,
        time: settings.bounds.capture_time,
        transcription,
    };
    Capture::open(&settings.data, resources.objects.artifacts(), resources.egress.clone(), capture, extract)
        .await
        .map_err(failed)
}

/// Creates the embedder, if one is configured, and logs the search mode.
async fn embedder(settings: &Settings, egress: &Egress) -> Result<Option<Embedder>, StartError> {
    if let (Some(url), Some(name)) = (settings.embedding_url.get(), settings.embedding_model.get()) {
        let key = settings.embedding_key.get().map(Secret::get).cloned();
        let endpoint = Endpoint { url: url.clone(), model: name.clone(), key };
        info!(model = name, "search goes by words and by meaning: a service embeds every document and query");
        return Ok(Some(Embedder::remote(egress.clone(), endpoint)));
    }
    let folder = match &settings.model {
        Model::None => {
            info!("search goes by words alone, as the setting model says");
            return Ok(None);
        }
        Model::NameOrFolder(named) => {
            let located = model::located(&settings.data, named);
            if let Some(name) = located.not_fetched() {
                return Err(StartError::ModelNotFetched { name, folder: located.folder });
            }
            located.folder
        }
        Model::Default => {
            let folder = model::folder(&settings.data, model::default_model());
            if !folder.exists() {
                log_no_default_model(&settings.data);
                return Ok(None);
            }
            folder
        }
    };
    let embedder = Embedder::open(&folder).await?;
    info!(model = embedder.model(), folder = %folder.display(), "search goes by words and by meaning");
    Ok(Some(embedder))
}

fn log_no_default_model(data: &Path) {
    let fetched: Vec<_> = model::fetched(data).map(|model| model.name).collect();
    if fetched.is_empty() {
        info!("search goes by words alone, for there is no model: run `kitbag model fetch`, and start again");
    } else {
        let fetched = fetched.join(", ");
        info!(
            fetched,
            "search goes by words alone: the default model is not there, and the setting model names no other"
        );
    }
}
