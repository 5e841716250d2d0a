//! Manifests of components, in the formats of `wasm-to-oci` and of `wkg`
//! (<https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/>).

use std::collections::BTreeMap;

use kitbag_base::sha256::Sha256;
use kitbag_base::signatures::Signature;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wasmparser::{Parser, Payload};

use super::error::{beginning, malformed};
use super::reference::ContentDigest;
use super::{Reference, RegistryError};

/// Media types of manifests and indexes.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// Media types that a manifest request accepts. Includes indexes, so that the error can report one.
pub(super) const ACCEPTED: [&str; 4] = [MANIFEST, DOCKER_MANIFEST, INDEX, DOCKER_INDEX];

/// Media type of a component's configuration.
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// Media type of the component's layer.
const LAYER: &str = "application/wasm";
/// Media type of the component's layer as written by `wasm-to-oci`.
const OLD_LAYER: &str = "application/vnd.wasm.content.layer.v1+wasm";
/// Layer annotation with the signature of the layer's bytes, in base64. `cosign` sets it on the layers that
/// it creates.
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// Creation time in every configuration: constant, so that the same component always has the same digest.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// Parsed members of a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    media_type: Option<String>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    /// Entries, if the document is an index.
    manifests: Option<Vec<serde::de::IgnoredAny>>,
}

/// Descriptor of a blob in a manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

/// Unparsed signature annotation of a component. It is parsed on demand, so that a malformed one does not
/// matter to callers that need no signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureText(String);

/// Component to push: its blobs, and its manifest.
pub struct Artifact {
    pub(super) config: Vec<u8>,
    pub(super) component: Vec<u8>,
    pub(super) manifest: Vec<u8>,
}

impl Descriptor {
    fn of(media_type: &str, content: &[u8]) -> Self {
        let digest = ContentDigest::of_sha256(Sha256::digest(content)).to_string();
        let media_type = media_type.to_owned();
        let size = content.len() as u64;
        Self { media_type, digest, size, annotations: BTreeMap::new() }
    }

    /// Parses the digest. Fails if it is not a SHA-256 digest.
    pub(super) fn content_digest(&self) -> Result<ContentDigest, RegistryError> {
        let digest = self.digest.parse();
        digest.map_err(|why: &str| {
            RegistryError::Unreadable(format!("{:?} of its layer: {why}", beginning(&self.digest)))
        })
    }

    /// Signature annotation of the layer, unparsed.
    pub(super) fn signature(&self) -> Option<SignatureText> {
        self.annotations.get(SIGNATURE).cloned().map(SignatureText)
    }
}

impl SignatureText {
    /// Parses the signature. Does not verify it.
    pub fn read(&self) -> Result<Signature, RegistryError> {
        self.0.parse().map_err(|error| {
            RegistryError::Unreadable(format!("the annotation {SIGNATURE} of its layer is {error}"))
        })
    }
}

/// Returns the component's layer from a manifest. `content_type` applies if the manifest has no `mediaType`.
pub(super) fn layer(
    reference: &Reference,
    manifest: &[u8],
    content_type: &str,
) -> Result<Descriptor, RegistryError> {
    let manifest: Manifest =
        serde_json::from_slice(manifest).map_err(|error| malformed("its manifest", &error))?;
    let reference = reference.to_string();
    let kind = manifest.media_type.as_deref().unwrap_or(content_type);
    if let Some(manifests) =
        manifest.manifests.as_ref().or([INDEX, DOCKER_INDEX].contains(&kind).then_some(&Vec::new()))
    {
        return Err(RegistryError::Index { reference, count: manifests.len() });
    }
    if ![MANIFEST, DOCKER_MANIFEST].contains(&kind) {
        return Err(RegistryError::NotComponent {
            reference,
            found: format!("it is of the type {:?}", beginning(kind)),
        });
    }
    match manifest.layers.as_slice() {
        [layer] if [LAYER, OLD_LAYER].contains(&layer.media_type.as_str()) => Ok(layer.clone()),
        [layer] => {
            let found = format!("its layer is of the type {:?}", beginning(&layer.media_type));
            Err(RegistryError::NotComponent { reference, found })
        }
        layers => {
            let found = format!("it has {} layers", layers.len());
            Err(RegistryError::NotComponent { reference, found })
        }
    }
}

impl Artifact {
    /// Creates the artifact of a component, with title and version from its declaration. The same component
    /// with the same signature always has the same manifest.
    pub fn new(component: Vec<u8>, title: &str, version: &str, signature: Option<&Signature>) -> Self {
        let mut layer = Descriptor::of(LAYER, &component);
        if let Some(signature) = signature {
            layer.annotations.insert(SIGNATURE.to_owned(), signature.to_string());
        }
        let (imports, exports) = names(&component);
        let config = json!({
            "created": CREATED, "author": null, "architecture": "wasm", "os": "wasip2", "layerDigests": [layer.digest],
            "component": { "exports": exports, "imports": imports, "target": null },
        })
        .to_string()
        .into_bytes();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": Descriptor::of(CONFIG, &config), "layers": [layer],
            "annotations": {
                "org.opencontainers.image.title": title, "org.opencontainers.image.version": version,
            },
        });
        Self { config, component, manifest: manifest.to_string().into_bytes() }
    }
}

/// Returns the names of a component's imports and exports.
fn names(component: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut imports = Vec::new();
    let mut exports = Vec::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                imports.extend(section.into_iter().flatten().map(|import| import.name.name.to_owned()));
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                exports.extend(section.into_iter().flatten().map(|export| export.name.name.to_owned()));
            }
            _ => {}
        }
    }
    (imports, exports)
}
