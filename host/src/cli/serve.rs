//! `kitbag serve`

use std::path::PathBuf;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::terminal::{say, text, try_print};
use super::{CliError, sign_in_code};
use crate::app::App;
use crate::ownership;
use crate::settings::{Issuer, Settings, Sources};
use crate::telemetry;

/// Run a server.
#[derive(Args, Debug)]
#[command(
    after_help = "Every flag is also a key of kitbag.toml (`call-time = \"30s\"`) and the variable shown.\n\
                  Without --issuer the server signs people in itself, on loopback only: `kitbag token` gives a token,\n\
                  and `kitbag sign-in-code` the code that its sign-in page asks for."
)]
pub(super) struct Serve {
    /// File to read settings from; by default kitbag.toml, where it exists.
    #[arg(long, env = "KITBAG_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
}

impl Serve {
    pub(super) async fn run(self) -> Result<(), CliError> {
        ownership::restrict_new_files();
        telemetry::start(telemetry::SERVING);
        let settings = Settings::load(self.sources, self.config.as_deref())
            .map_err(|error| CliError::new(error.to_string()))?;
        let app = App::start(&settings).await.map_err(|error| CliError::new(error.to_string()))?;
        say!("Kitbag serves {}", app.base_url());
        if settings.issuer == Issuer::Local {
            let command = sign_in_code::command_for(&settings.data);
            // Whoever has read what they wanted may have closed the pipe.
            let _ = try_print(&text!("Sign-in in a browser asks for a code: `{}` prints it", command));
        }
        app.serve(stop_signal()?).await;
        Ok(())
    }
}

/// Resolves when the process is asked to stop: SIGTERM, or Ctrl-C at a terminal. Whoever asks a
/// second time does not want to wait: then the process ends at once.
pub(super) fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, CliError> {
    let listen =
        |kind| signal(kind).map_err(|error| CliError::new(format!("cannot listen for signals: {error}")));
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let mut asked = async move || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(async move {
        asked().await;
        tokio::spawn(async move {
            asked().await;
            std::process::exit(1);
        });
    })
}
