//! `kitbag toolkit reset-publisher`

use clap::Args;
use http::Method;
use kitbag_toolkits::SignedBy;
use serde_json::json;

use crate::cli::client::Connection;
use crate::cli::confirmation::Confirmation;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Let versions of a toolkit follow that its publisher has not signed.
#[derive(Args, Debug)]
#[command(
    after_help = "For when a publisher has another key, or a toolkit another publisher. It is recorded in the audit log. The first \
                  signed version that is deployed afterwards binds the toolkit again. It works for a removed toolkit, too."
)]
pub(in crate::cli) struct ResetPublisher {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    connection: Connection,
}

impl ResetPublisher {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        self.confirmation.ask(&format!(
            "The next version of {} may be signed by anybody, or by nobody, and this is recorded.",
            self.id
        ))?;
        let path = format!("/toolkits/{}/publisher", self.id);
        let was: SignedBy = client.send(Method::DELETE, &path, "application/json", "").await?;
        let said = json!({ "toolkit": self.id, "publisher": was.publisher, "key": was.key });
        report(&said, || say!("{} is no longer bound to {}.", self.id, was.publisher))
    }
}
