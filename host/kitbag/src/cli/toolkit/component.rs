//! Component that a command works on: a file, a build from sources, or an artifact in a registry.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use bytesize::ByteSize;
use kitbag_base::signatures::Signature;
use kitbag_net::egress::{Egress, EgressSettings};
use kitbag_net::oci::{self, Pulled, Reference, Registry, RegistryError};
use kitbag_toolkits::Origin;

use super::{build, read};
use crate::cli::documents::path_segment;
use crate::cli::error::{CliError, Exit};
use crate::cli::terminal::note;
use crate::settings::{Settings, Size, Sources};

/// Largest file with a signature or a key, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Location of a component.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A .wasm file, an extension.ts, or the directory of one or of a crate.
    Path(PathBuf),
    /// Reference to an artifact in a registry.
    Reference(Reference),
}

/// A component with its metadata.
pub(super) struct Component {
    pub(super) bytes: Bytes,
    /// Path of the manifest, if the component was built from sources.
    pub(super) manifest: Option<PathBuf>,
    /// Description of its location, for people.
    pub(super) place: String,
    pub(super) origin: Origin,
}

/// Parses a location from the command line.
pub(super) fn place(text: &str) -> Result<Place, oci::InvalidReference> {
    if text.starts_with(oci::SCHEME) {
        text.parse().map(Place::Reference)
    } else {
        Ok(Place::Path(text.into()))
    }
}

impl Place {
    /// Fails if there is nothing to read or build at the location.
    pub(super) fn expect(&self) -> Result<(), CliError> {
        match self {
            Self::Path(path) if is_source(path) => build::expect_sources(path),
            Self::Path(path) if !path.exists() => {
                Err(CliError::new(format!("there is no {}", path.display())))
            }
            _ => Ok(()),
        }
    }

    /// Reads or builds the component, or pulls it from the registry. `limit`: largest component to pull, by
    /// default the setting `component-size`. `wants_signature`: whether to use the signature in the registry.
    pub(super) async fn obtain(
        &self,
        limit: Option<Size>,
        wants_signature: bool,
    ) -> Result<Component, CliError> {
        match self {
            Self::Path(path) if is_source(path) => {
                let built = build::build(path, None).await?;
                from_file(&built.component, Some(built.manifest))
            }
            Self::Path(path) => from_file(path, None),
            Self::Reference(reference) => pull(reference, limit, wants_signature).await,
        }
    }
}

fn is_source(path: &Path) -> bool {
    path.is_dir() || kitbag_toolchain::is_typescript(path)
}

fn from_file(path: &Path, manifest: Option<PathBuf>) -> Result<Component, CliError> {
    let bytes = read(path)?.into();
    let place = path.display().to_string();
    Ok(Component { bytes, manifest, place, origin: Origin::default() })
}

async fn pull(
    reference: &Reference,
    limit: Option<Size>,
    wants_signature: bool,
) -> Result<Component, CliError> {
    let limit = if let Some(limit) = limit {
        limit
    } else {
        let settings = Settings::load(Sources::default(), None);
        settings.map_err(|error| CliError::new(error.to_string()))?.component_size
    };
    note!("Pulling {}", reference.to_string());
    let egress = registry_egress();
    let pulled = Registry::of(&egress, reference.clone()).pull(limit.bytes() as u64).await;
    let Pulled { component, reference: pinned, signature } =
        pulled.map_err(|error| failed(&error, reference))?;
    let signature = signature.filter(|_| wants_signature).map(|text| text.read()).transpose();
    let signature = signature.map_err(|error| {
        failed(&error, reference).hint("--unsigned deploys it without; --signature FILE with another one")
    })?;
    let reference = pinned;
    let place = reference.to_string();
    Ok(Component {
        bytes: component,
        manifest: None,
        place,
        origin: Origin { source: Some(reference), signature, ..Origin::default() },
    })
}

/// Client for registries, with a long response timeout for pushes.
pub(super) fn registry_egress() -> Egress {
    Egress::new(EgressSettings {
        response_timeout: std::time::Duration::from_mins(10),
        ..EgressSettings::default()
    })
}

/// Converts an error of a registry, with a hint.
pub(super) fn failed(error: &RegistryError, reference: &Reference) -> CliError {
    let said = CliError::new(format!("cannot use {reference}: {error}"));
    let registry = reference.registry();
    match error {
        RegistryError::Egress(kitbag_net::egress::EgressError::Tls { .. }) => said.exit(Exit::Unavailable).hint(
            "is its certificate from an authority that this machine trusts? SSL_CERT_FILE names a file with other authorities",
        ),
        RegistryError::Egress(_) | RegistryError::TooSlow { .. } | RegistryError::BrokenOff { .. } => {
            said.exit(Exit::Unavailable)
        }
        RegistryError::Status { status, .. } if status.is_server_error() => said.exit(Exit::Unavailable),
        RegistryError::NoCredentials { .. } | RegistryError::Refused { .. } => {
            said.hint(format!("sign in there with `docker login {registry}`"))
        }
        RegistryError::TooLarge { .. } => said.hint("--component-size takes larger ones, if the server does"),
        _ => said,
    }
}

/// Reads a signature file: base64, or a bundle.
pub(super) fn signature(path: &Path) -> Result<Signature, CliError> {
    Signature::from_file(&small_text(path)?)
        .map_err(|error| CliError::new(format!("{} is {error}", path.display())))
}

/// Reads a small file with a signature or a key.
pub(in crate::cli) fn small_text(path: &Path) -> Result<String, CliError> {
    let unreadable =
        |error: &dyn std::fmt::Display| CliError::new(format!("cannot read {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| unreadable(&error))?;
    let mut text = String::new();
    let read = io::Read::read_to_string(&mut io::Read::take(file, MAX_FILE_BYTES + 1), &mut text);
    read.map_err(|error| unreadable(&error))?;
    if text.len() as u64 > MAX_FILE_BYTES { Err(unreadable(&"it is too long")) } else { Ok(text) }
}

/// Query parameters that describe the origin of a component.
pub(super) fn parameters(origin: &Origin) -> Vec<String> {
    let source = origin.source.as_ref().map(|source| ("source", source.to_string()));
    let signature = origin.signature.as_ref().map(|signature| ("signature", signature.to_string()));
    source
        .into_iter()
        .chain(signature)
        .map(|(name, value)| format!("{name}={}", path_segment(&value)))
        .collect()
}

/// Formats the size for people.
pub(super) fn size(bytes: &[u8]) -> String {
    ByteSize::b(bytes.len() as u64).to_string()
}
