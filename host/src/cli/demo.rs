//! `kitbag demo`
use clap::Args;
use super::CliError;
/// Build the example toolkits, serve them, call one, and keep serving.
#[derive(Args, Debug)]
pub(super) struct Demo {}
impl Demo {
    pub(super) async fn run(self) -> Result<(), CliError> { Ok(()) }
}
