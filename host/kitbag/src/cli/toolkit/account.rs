//! `kitbag toolkit sign-in | sign-out`

use clap::Args;
use http::Method;
use kitbag_access::AccountStatus;
use kitbag_base::base_url::below;
use serde_json::json;

use crate::cli::client::Connection;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{note, say};

/// Connect an account of yours to a toolkit that acts with one, in a browser.
#[derive(Args, Debug)]
#[command(
    after_help = "The page says what the toolkit asks for. The server keeps the account's tokens and adds them to the \
                  toolkit's requests; the toolkit never sees them."
)]
pub(in crate::cli) struct SignIn {
    /// The toolkit's id.
    id: String,
    /// Print the page's URL only; open no browser.
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    connection: Connection,
}

/// End the account that you have connected to a toolkit, here and at its provider.
#[derive(Args, Debug)]
pub(in crate::cli) struct SignOut {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

impl SignIn {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let path = format!("/toolkits/{}/account", path_segment(&self.id));
        let account: AccountStatus = client.send(Method::GET, &path, "application/json", "").await?;
        let page = below(client.server(), &format!("/ui/toolkits/{}#account", path_segment(&self.id)));
        if !self.no_browser && open::that_detached(&page).is_err() {
            note!("no browser could be opened");
        }
        report(&json!({ "toolkit": self.id, "page": page, "account": account }), || {
            if let Some(at) = &account.connected_at {
                match &account.name {
                    Some(name) => say!("Connected as {} since {}.", name, at),
                    None => say!("Connected since {}.", at),
                }
            }
            for name in &account.missing {
                note!("{} must be set first: kitbag secret set {} {} --from-stdin", name, self.id, name);
            }
            say!("Connect your account on this page: {}", page);
        })
    }
}

impl SignOut {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let path = format!("/toolkits/{}/account", path_segment(&self.id));
        self.connection.open().await?.delete(&path).await?;
        report(&json!({ "toolkit": self.id }), || say!("No account of yours is connected to {}.", self.id))
    }
}
