//! `kitbag toolkit deploy`

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::Method;
use indicatif::{ProgressBar, ProgressStyle};
use kitbag_base::sha256::Sha256;
use kitbag_toolkits::{Claim, DeployTerms, Deployed, Origin, Review, ToolkitError, VouchReason};
use serde::Deserialize;
use tokio::time::{Instant, interval_at};

use super::component::{self, Component, Place, parameters, size};
use super::diff::version_path;
use super::ownership::print_taken;
use super::{difference, print_refused_hosts, print_warnings, read, uploads};
use crate::cli::client::{Client, Connection};
use crate::cli::confirmation::Confirmation;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{note, say, stderr_is_terminal};
use crate::settings::Size;

/// Interval of progress lines if standard error is no terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Upload a component (or build it first) and make it live, or with --review only compare it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kitbag toolkit deploy toolkits/weather\n  kitbag toolkit deploy extension.ts\n  \
                        kitbag toolkit deploy dist/holidays.wasm --server https://kitbag.example.com\n  \
                        kitbag toolkit deploy dist/holidays.wasm --review\n  \
                        kitbag toolkit deploy dist/holidays.wasm --signature dist/holidays.wasm.sig\n  \
                        kitbag toolkit deploy oci://ghcr.io/acme/holidays:1.0.0\n\n\
                        From a registry it is pulled with your Docker credentials (`docker login`), with the signature that is \
                        beside it, if one is. The server keeps the reference and the digest that was found.\n\n\
                        A version that the server knows is refused with other bytes: raise `version` first."
)]
pub(in crate::cli) struct Deploy {
    /// A .wasm file, an extension.ts, the directory of one or of a crate, or `oci://REGISTRY/NAME[:TAG][@sha256:…]`.
    #[arg(value_parser = component::place)]
    path: Place,
    /// File with a publisher's signature of the component, as `kitbag toolkit sign` or `cosign sign-blob --bundle` writes it.
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// Largest component that is pulled from a registry.
    #[arg(long, env = "KITBAG_COMPONENT_SIZE", value_name = "SIZE")]
    component_size: Option<Size>,
    /// Leave out the signature that the registry has, such as that of a publisher whom the server does not know.
    #[arg(long, conflicts_with = "signature")]
    unsigned: bool,
    /// Make the toolkit yours where it is another operator's; what users have set for it is removed then.
    #[arg(long)]
    take_over: bool,
    /// Deploy nothing: the server checks the component and keeps it for a day, for an operator to deploy or discard.
    /// Prints what it would change.
    #[arg(long, conflicts_with = "take_over")]
    review: bool,
    /// Vouch for this version with a reason, which users read: none of them is asked to agree to what it reaches.
    #[arg(long, value_name = "REASON", conflicts_with = "review")]
    vouch: Option<VouchReason>,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl Deploy {
    pub(super) async fn run(self) -> Result<(), CliError> {
        self.path.expect()?;
        let signature = self.signature.as_deref().map(component::signature).transpose()?;
        if self.take_over {
            self.confirmation.ask(
                "If the toolkit is another operator's, it becomes yours: the secrets and settings that users have \
                 set for it are removed, and everybody who sees it sees that you took it over.",
            )?;
        }
        let claim = if self.take_over { Claim::TakeOver } else { Claim::OwnOnly };
        let terms = DeployTerms { claim, vouch: self.vouch };
        let client = self.connection.open().await?;
        let Component { bytes, manifest, place, mut origin } =
            self.path.obtain(self.component_size, signature.is_none() && !self.unsigned).await?;
        origin.signature = signature.or(origin.signature);
        if let Some(manifest) = manifest {
            refuse_taken_version(&client, &manifest, &bytes).await?;
        }
        note!("Uploading {} ({}) to {}", place, size(&bytes), client.server());
        let waiting = Waiting::begin();
        if self.review {
            let path = format!("/uploads{}", query(&parameters(&origin)));
            let review: Review =
                waiting.beside(client.send(Method::POST, &path, "application/wasm", bytes)).await?;
            return uploads::show(&client, &review);
        }
        let deployed = waiting.beside(upload_with(&client, bytes, &terms, &origin)).await?;
        report(&deployed, || print(&deployed))
    }
}

/// Progress output while the server works.
struct Waiting {
    /// Progress bar; `None` if standard error is no terminal.
    bar: Option<ProgressBar>,
    began: Instant,
}

impl Waiting {
    fn begin() -> Self {
        let bar = stderr_is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}: {elapsed}");
            let bar = ProgressBar::new_spinner().with_style(style.expect("the template is valid"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.with_message("The server checks and compiles it (usually for a second or two)")
        });
        Self { bar, began: Instant::now() }
    }

    /// Shows progress until the response arrives.
    async fn beside<T>(self, answer: impl Future<Output = T>) -> T {
        let mut signs = interval_at(self.began + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
        let mut answer = std::pin::pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => {
                    if let Some(bar) = &self.bar {
                        bar.finish_and_clear();
                    }
                    return answer;
                }
                _ = signs.tick(), if self.bar.is_none() => {
                    note!("The server is at work ({} s)", self.began.elapsed().as_secs());
                }
            }
        }
    }
}

/// Fails early if the server has the same version with other bytes, as it would after the upload and its
/// checks. Any other response is ignored: the upload reports it.
async fn refuse_taken_version(client: &Client, manifest: &Path, component: &[u8]) -> Result<(), CliError> {
    #[derive(Deserialize)]
    struct Declared {
        id: String,
        version: String,
    }
    #[derive(Deserialize)]
    struct Known {
        digest: String,
    }

    let Ok(Declared { id, version }) = serde_json::from_slice(&read(manifest)?) else { return Ok(()) };
    match client.try_send(Method::GET, &version_path(&id, &version), "application/json", "").await {
        Ok(Known { digest }) if digest != hex::encode(Sha256::digest(component)) => {
            Err(CliError::new(ToolkitError::VersionTaken { id, version }.to_string()))
        }
        _ => Ok(()),
    }
}

/// Deploys a component without further options.
pub(in crate::cli) async fn upload(client: &Client, component: Vec<u8>) -> Result<Deployed, CliError> {
    let terms = DeployTerms { claim: Claim::OwnOnly, vouch: None };
    upload_with(client, component.into(), &terms, &Origin::default()).await
}

async fn upload_with(
    client: &Client,
    component: Bytes,
    terms: &DeployTerms,
    origin: &Origin,
) -> Result<Deployed, CliError> {
    let path = format!("/toolkits{}", query(&[parameters_of(terms), parameters(origin)].concat()));
    client.send(Method::POST, &path, "application/wasm", component).await
}

/// Query parameters of a request that makes a version live.
pub(super) fn parameters_of(terms: &DeployTerms) -> Vec<String> {
    let take_over = (terms.claim == Claim::TakeOver).then(|| "takeOver=true".to_owned());
    let vouch = terms.vouch.as_ref().map(|reason| format!("vouch={}", path_segment(reason.as_str())));
    take_over.into_iter().chain(vouch).collect()
}

/// Formats parameters as a query string.
pub(super) fn query(parameters: &[String]) -> String {
    if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) }
}

/// Prints the live version and its permissions.
pub(in crate::cli) fn print(deployed: &Deployed) {
    say!("{} {} is live: {}", deployed.id, deployed.version, deployed.tools.join(", "));
    say!("  {}", deployed.provenance.told());
    say!("  SHA-256 {}", deployed.digest);
    for capability in &deployed.capabilities {
        let new = if deployed.changes.added.contains(capability) { " (new)" } else { "" };
        say!("  may {}{}", difference::worded(capability), new);
    }
    for capability in &deployed.changes.removed {
        say!("  may no longer {}", difference::worded(capability));
    }
    print_refused_hosts(&deployed.refused_hosts);
    print_warnings(&deployed.warnings);
    if let Some(taken) = &deployed.taken_over {
        print_taken(&deployed.id, taken);
    }
}
