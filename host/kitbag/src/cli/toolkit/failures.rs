//! `kitbag toolkit failures`

use clap::Args;
use http::Method;
use kitbag_toolkits::invocations::Failing;

use crate::cli::client::Connection;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{counted, say};

/// List the toolkits with failed calls in the last day, for operators.
#[derive(Args, Debug)]
#[command(
    after_help = "`kitbag toolkit logs ID --outcome any-failure` shows the failed calls of one of them."
)]
pub(in crate::cli) struct Failures {
    #[command(flatten)]
    connection: Connection,
}

impl Failures {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let failing: Vec<Failing> = client.send(Method::GET, "/failures", "application/json", "").await?;
        report(&failing, || {
            if failing.is_empty() {
                say!("No call has failed in the last day.");
            }
            for Failing { toolkit, calls, failures } in &failing {
                let calls = counted(usize::try_from(*calls).unwrap_or(usize::MAX), "call");
                say!("{:<24} {} of {} failed", toolkit, failures, calls);
            }
        })
    }
}
