//! Components that the operator installs as files. Each is compiled once, and then stored as sealed machine
//! code.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kitbag_base::tasks::off_thread;
use kitbag_files::machine_code::{MachineCode, digest};
use kitbag_manifest::Problems;
use thiserror::Error;
use tracing::info;

use crate::compiler::{CompileError, Compiler, Job};

/// Compiles installed components, and caches their machine code. Clones share it.
#[derive(Clone)]
pub struct InstalledComponents(Arc<Shared>);

struct Shared {
    /// The folder with the components.
    folder: PathBuf,
    compiler: Compiler,
    code: MachineCode,
    code_version: String,
    role: Role,
}

/// Purpose of installed components.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// Extractors, which read files.
    Extractor,
    /// Components that run like toolkits.
    Toolkit,
}

/// Reason why a component cannot be loaded.
#[derive(Debug, Error)]
pub enum NotLoaded {
    /// The component's file does not exist.
    #[error("it is not installed")]
    Missing,
    /// The component exists but cannot be read, compiled or loaded.
    #[error(transparent)]
    Unusable(#[from] Box<dyn Error + Send + Sync>),
}

/// A private copy of an installed component, unaffected if the original is replaced.
struct Component {
    file: File,
    digest: String,
}

impl InstalledComponents {
    /// Opens the folder of machine code in the data directory.
    pub async fn open(
        data: &Path,
        code_folder: &'static str,
        folder: PathBuf,
        role: Role,
        code_version: String,
        compiler: Compiler,
    ) -> io::Result<Self> {
        let data = data.to_owned();
        let version = code_version.clone();
        let code = off_thread(move || MachineCode::open(&data, code_folder, &version)).await?;
        Ok(Self(Arc::new(Shared { folder, compiler, code, code_version, role })))
    }

    /// Whether the component's file exists.
    pub fn has(&self, file: &str) -> bool {
        self.0.folder.join(file).is_file()
    }

    /// Loads a component from its stored machine code, or compiles it first, which takes seconds.
    pub async fn load<T: Send + 'static, E: Error + Send + Sync + 'static>(
        &self,
        file: &'static str,
        load: impl Fn(&Path) -> Result<T, E> + Clone + Send + 'static,
    ) -> Result<T, NotLoaded> {
        let shared = self.0.clone();
        let component = off_thread(move || shared.copy(file)).await?;
        let digest = component.digest.clone();
        let shared = self.0.clone();
        let load_kept = load.clone();
        let kept = move || {
            load_kept(&shared.code.sealed(&digest)?.path()).map_err(Box::<dyn Error + Send + Sync>::from)
        };
        if let Ok(loaded) = off_thread(kept).await {
            return Ok(loaded);
        }
        info!(component = file, "compiling an installed component");
        Ok(self.compile(component, load).await?)
    }

    async fn compile<T: Send + 'static, E: Error + Send + Sync + 'static>(
        &self,
        Component { file, digest }: Component,
        load: impl Fn(&Path) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Box<dyn Error + Send + Sync>> {
        /// Owner under which installed components wait for the compiler.
        const NO_OWNER: &str = "";

        let shared = self.0.clone();
        let code = shared.code.new_file()?;
        let job = Job { component: file, code_version: shared.code_version.clone(), code: code.as_file() };
        let compiled = match shared.role {
            Role::Extractor => shared.compiler.extractor(job).await,
            Role::Toolkit => shared.compiler.toolkit(job, NO_OWNER).await,
        };
        compiled.map_err(|error| match error {
            CompileError::Refused(problems) => Problems(problems).to_string().into(),
            error => Box::<dyn Error + Send + Sync>::from(error),
        })?;
        off_thread(move || {
            shared.code.seal_and_persist(&digest, code)?;
            Ok(load(&shared.code.sealed(&digest)?.path())?)
        })
        .await
    }
}

impl Shared {
    /// Copies an installed component to an unnamed file, and hashes it. Blocks.
    fn copy(&self, file: &str) -> Result<Component, NotLoaded> {
        let mut installed = File::open(self.folder.join(file)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NotLoaded::Missing,
            _ => NotLoaded::Unusable(error.into()),
        })?;
        let mut copy = || -> io::Result<Component> {
            let mut file = self.code.new_file()?.into_file();
            io::copy(&mut installed, &mut file)?;
            let digest = digest(&mut file)?;
            Ok(Component { file, digest })
        };
        copy().map_err(|error| NotLoaded::Unusable(error.into()))
    }
}
