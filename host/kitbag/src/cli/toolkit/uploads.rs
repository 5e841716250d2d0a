//! `kitbag toolkit uploads list | show | deploy | discard`

use clap::{Args, Subcommand};
use http::Method;
use kitbag_manifest::portability;
use kitbag_toolkits::{Claim, DeployTerms, Deployed, Review, UploadRecord, VouchReason};
use serde_json::json;

use super::deploy::{parameters_of, query};
use super::difference;
use super::{print_deployed, print_refused_hosts, print_warnings};
use crate::cli::client::{Client, Connection};
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::format::Format;
use crate::cli::output::report;
use crate::cli::terminal::{say, text};

/// List, show, deploy and discard components that were uploaded for review.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "`kitbag toolkit deploy --review FILE` uploads one. Operators alone see it, and it is removed after a day."
)]
pub(in crate::cli) enum Uploads {
    /// List the components that wait.
    List(List),
    /// Show what one would change.
    Show(Show),
    /// Make one live, after showing what it changes.
    Deploy(Deploy),
    /// Remove one.
    Discard(Discard),
}

/// List the components that wait.
#[derive(Args, Debug)]
pub(in crate::cli) struct List {
    #[command(flatten)]
    connection: Connection,
}

/// Show what one would change.
#[derive(Args, Debug)]
pub(in crate::cli) struct Show {
    /// SHA-256 of the component, as `list` prints it.
    digest: String,
    #[command(flatten)]
    connection: Connection,
}

/// Make one live, after showing what it changes.
#[derive(Args, Debug)]
#[command(
    after_help = "It is refused if another version goes live while you read, or the upload is replaced."
)]
pub(in crate::cli) struct Deploy {
    /// SHA-256 of the component, as `list` prints it.
    digest: String,
    /// Make the toolkit yours where it is another operator's; what users have set for it is removed then.
    #[arg(long)]
    take_over: bool,
    /// Vouch for this version with a reason, which users read: none of them is asked to agree to what it reaches.
    #[arg(long, value_name = "REASON")]
    vouch: Option<VouchReason>,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

/// Remove one.
#[derive(Args, Debug)]
pub(in crate::cli) struct Discard {
    /// SHA-256 of the component, as `list` prints it.
    digest: String,
    #[command(flatten)]
    connection: Connection,
}

impl Uploads {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Deploy(command) => command.run().await,
            Self::Discard(command) => command.run().await,
        }
    }
}

impl List {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let uploads: Vec<UploadRecord> = client.send(Method::GET, "/uploads", "application/json", "").await?;
        report(&uploads, || {
            if uploads.is_empty() {
                say!("No component waits. `kitbag toolkit deploy --review FILE` uploads one.");
            }
            for UploadRecord {
                digest, id, version, uploaded_by, uploaded_at, expires_at, provenance, ..
            } in &uploads
            {
                say!("{}", digest);
                let by = if uploaded_by.is_empty() { "this server" } else { uploaded_by };
                say!("  {} {}, by {}, {}; until {}", id, version, by, uploaded_at, expires_at);
                say!("  {}", provenance.told());
            }
        })
    }
}

impl Show {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let review = review(&client, &self.digest).await?;
        show(&client, &review)
    }
}

impl Deploy {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let review = review(&client, &self.digest).await?;
        if Format::current() == Format::Text {
            print(&review);
        }
        let mut consequence = format!("{} {} becomes live.", review.upload.id, review.upload.version);
        if self.take_over || (review.released && review.needs_owner) {
            consequence.push_str(
                " If the toolkit is another operator's, it becomes yours, and what users have set for it is removed.",
            );
        }
        self.confirmation.ask(&consequence)?;
        let claim = if self.take_over { Claim::TakeOver } else { Claim::OwnOnly };
        let terms = DeployTerms { claim, vouch: self.vouch };
        let path = format!("/uploads/{}/deploy{}", self.digest, query(&parameters_of(&terms)));
        let reviewed = json!(review.reviewed()).to_string();
        let deployed: Deployed = client.send(Method::POST, &path, "application/json", reviewed).await?;
        report(&deployed, || print_deployed(&deployed))
    }
}

impl Discard {
    async fn run(self) -> Result<(), CliError> {
        self.connection.open().await?.delete(&format!("/uploads/{}", self.digest)).await?;
        report(&json!({ "digest": self.digest }), || say!("The upload is discarded."))
    }
}

/// Prints an upload, and the command that deploys it.
pub(super) fn show(client: &Client, review: &Review) -> Result<(), CliError> {
    report(review, || {
        print(review);
        let digest = &review.upload.digest;
        if let Ok(page) = client.server().join(&format!("ui/operate/uploads/{digest}")) {
            say!("Nothing is deployed. Review it at {}", page);
        }
        say!("or run: kitbag toolkit uploads deploy {}", digest);
    })
}

fn print(review: &Review) {
    let live = match &review.live {
        Some(live) => text!("live now: {}", live.version),
        None => text!("not deployed yet"),
    };
    say!("{} {} ({})", review.upload.id, review.upload.version, live);
    say!("  {}", review.upload.provenance.told());
    say!("  SHA-256 {}", review.upload.digest);
    difference::print(&review.difference, &review.secret_users);
    print_refused_hosts(&review.refused_hosts);
    print_warnings(&portability::warnings(&review.manifest));
}

async fn review(client: &Client, digest: &str) -> Result<Review, CliError> {
    client.send(Method::GET, &format!("/uploads/{digest}"), "application/json", "").await
}
