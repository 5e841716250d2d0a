//! `kitbag toolkit push`

use std::path::PathBuf;

use clap::Args;
use kitbag_base::sha256::Sha256;
use kitbag_net::oci::{Artifact, Pushed, Reference, Registry};
use serde_json::json;

use super::component::{self, Component, Place, failed, registry_egress, size};
use super::inspect_locally;
use super::sign::signing_key;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{note, say};

/// Push a component (or build it first) to a registry, from which servers and `wkg` can pull it.
#[derive(Args, Debug)]
#[command(
    after_help = "Your Docker credentials are used where the registry asks for a sign-in: `docker login`. The component is checked \
                  first, as a deploy checks it. With --key or --signature its signature is pushed with it, and a deploy from there \
                  gives it to the server.\n\n\
                  Examples:\n  kitbag toolkit push toolkits/weather oci://ghcr.io/acme/weather:1.0.0\n  \
                  kitbag toolkit push dist/weather.wasm oci://ghcr.io/acme/weather:1.0.0 --key kitbag.key\n  \
                  kitbag toolkit deploy oci://ghcr.io/acme/weather:1.0.0"
)]
pub(in crate::cli) struct Push {
    /// A .wasm file, an extension.ts, or the directory of one or of a crate.
    path: PathBuf,
    /// Where it goes: `oci://REGISTRY/NAME[:TAG]`, by default with the tag `latest`.
    #[arg(value_name = "REF")]
    reference: Reference,
    /// Sign it with the private key in this file, as `kitbag toolkit sign` does.
    #[arg(long, conflicts_with = "signature")]
    key: Option<PathBuf>,
    /// File with its signature, as `kitbag toolkit sign` and `cosign sign-blob --bundle` write it.
    #[arg(long)]
    signature: Option<PathBuf>,
}

impl Push {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { path, reference, key, signature } = self;
        if reference.digest().is_some() {
            return Err(CliError::new("a digest names what is there already: give a tag, or none"));
        }
        let place = Place::Path(path);
        place.expect()?;
        let key = key.as_deref().map(signing_key).transpose()?;
        let signature = signature.as_deref().map(component::signature).transpose()?;
        let Component { bytes, .. } = place.obtain(None, false).await?;
        let definition = inspect_locally(bytes.to_vec()).await?.definition;
        let signature = key.map(|key| key.sign(&bytes)).or(signature);
        let digest = hex::encode(Sha256::digest(&bytes));
        note!(
            "Pushing {} {} ({}) to {}",
            definition.id,
            definition.version,
            size(&bytes),
            reference.to_string()
        );
        let artifact =
            Artifact::new(bytes.to_vec(), &definition.name, &definition.version, signature.as_ref());
        let egress = registry_egress();
        let pushed = Registry::of(&egress, reference.clone()).push(artifact).await;
        let Pushed { reference: pinned } = pushed.map_err(|error| failed(&error, &reference))?;
        let said = json!({
            "reference": pinned, "id": definition.id, "version": definition.version, "digest": digest,
            "signed": signature.is_some(),
        });
        let pinned = pinned.to_string();
        report(&said, || {
            say!("{}", pinned);
            note!("To deploy it: kitbag toolkit deploy {}", pinned);
        })
    }
}
