//! `kitbag toolkit clear-cache`

use bytesize::ByteSize;
use clap::Args;
use http::Method;
use kitbag_vault::user_cache::CacheUsage;
use serde_json::json;

use crate::cli::client::Connection;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{counted, say};

/// Remove what a toolkit keeps for you between calls.
#[derive(Args, Debug)]
#[command(
    after_help = "A toolkit with the scope svc:cache keeps such things as ETags and cursors for your next calls, for 30 days at \
                  most. It works without them, perhaps more slowly.\n\n\
                  Example:\n  kitbag toolkit clear-cache github"
)]
pub(in crate::cli) struct ClearCache {
    /// The toolkit's id.
    id: String,
    #[command(flatten)]
    connection: Connection,
}

impl ClearCache {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, connection } = self;
        let client = connection.open().await?;
        let path = format!("/toolkits/{}/cache", path_segment(&id));
        let CacheUsage { values, bytes } = client.send(Method::DELETE, &path, "application/json", "").await?;
        report(&json!({ "toolkit": id, "values": values, "bytes": bytes }), || {
            let size = ByteSize(bytes).display().si().to_string();
            let count = counted(usize::try_from(values).unwrap_or(usize::MAX), "value");
            say!("{} of {} removed, {}.", count, id, size);
        })
    }
}
