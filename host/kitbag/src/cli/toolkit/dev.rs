//! `kitbag toolkit dev`

mod served_crate;
mod sources;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::build::expect_sources;
use crate::cli::error::CliError;
use crate::cli::output::expect_text;
use crate::cli::serve::stop_signal;
use crate::settings::AddressRange;

/// Serve one toolkit over MCP on this machine, and again after each change.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kitbag toolkit dev\n  kitbag toolkit dev extension.ts --env-file .env --config units=metric\n\n\
                  An extension.ts runs in Node.js, under the same grants: a change is served within a second or two.\n\
                  A crate is built and runs in the sandbox of a server of its own, with data that is gone afterwards."
)]
pub(in crate::cli) struct Dev {
    /// An extension.ts, or the directory of one or of a crate.
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Loopback address to listen on.
    #[arg(long, default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// File of lines NAME=value: the credentials that the toolkit declares.
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// A setting, as a user would set it; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    config: Vec<(String, String)>,
    /// Addresses that requests may reach although they are not public, such as 127.0.0.0/8.
    #[arg(long, value_delimiter = ',', value_name = "RANGE")]
    allow_private_ranges: Vec<AddressRange>,
    /// Wall time of one call.
    #[arg(long, default_value = "30s", value_parser = humantime::parse_duration)]
    call_time: Duration,
}

impl Dev {
    pub(super) async fn run(self) -> Result<(), CliError> {
        expect_text("`kitbag toolkit dev` tells a person what it serves")?;
        if !self.listen.ip().is_loopback() {
            return Err(CliError::new(format!("{} is not on this machine alone", self.listen.ip()))
                .hint("--listen takes loopback addresses only, such as 127.0.0.1:8788"));
        }
        expect_sources(&self.path)?;
        if kitbag_toolchain::is_typescript(&self.path) {
            self.serve_typescript().await
        } else {
            served_crate::serve(self).await
        }
    }

    /// Serves an `extension.ts` with the npm package, whose process ends with this one in any case.
    async fn serve_typescript(self) -> Result<(), CliError> {
        let stop = stop_signal()?;
        let served = kitbag_toolchain::serve_typescript(&self.path, &self.arguments(), stop).await;
        let status = served.map_err(|error| CliError::new(error.to_string()))?;
        // The npm package has printed the error.
        if status.success() {
            Ok(())
        } else {
            Err(CliError::new(format!("the toolkit is not served any more ({status})")))
        }
    }

    /// Converts the options to arguments of the npm package.
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--listen".into(), self.listen.to_string().into()];
        if let Some(file) = &self.env_file {
            arguments.extend(["--env-file".into(), file.into()]);
        }
        for (key, value) in &self.config {
            arguments.push(format!("--config={key}={value}").into());
        }
        for range in &self.allow_private_ranges {
            arguments.push(format!("--allow-private-ranges={range}").into());
        }
        arguments.extend(["--call-time".into(), self.call_time.as_secs_f64().to_string().into()]);
        arguments
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}
