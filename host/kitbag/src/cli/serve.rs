//! `kitbag serve`

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use kitbag_base::ownership;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::warn;

use super::error::CliError;
use super::output::report;
use super::sign_in_code;
use super::terminal::{say, text, try_print};
use crate::app::{App, Reload};
use crate::settings::{Issuer, Settings, SettingsError, Sources};
use crate::telemetry;

/// Run a server.
#[derive(Args, Debug)]
#[command(
    after_help = "Every flag is also a variable, which is shown, and a key of kitbag.toml: `drain = \"5s\"`. In the file,\n\
                  those of calls and objects are tables: `call.time = \"30s\"`, `objects.location = \"folder\"`.\n\
                  SIGHUP reads the file again, and the certificate: `operators` and `egress-policy` apply at once, others after a restart.\n\
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
        let settings = self.settings().map_err(|error| CliError::new(error.to_string()))?;
        let app = App::start(&settings).await.map_err(|error| CliError::new(error.to_string()))?;
        let code = (settings.issuer == Issuer::Local).then(|| sign_in_code::command_for(&settings.data));
        // Before the address is printed: from then on, a caller may send a stop signal.
        let stop = stop_signal()?;
        let listening: Vec<_> = app.addresses().iter().map(ToString::to_string).collect();
        let data = json!({ "url": app.base_url(), "listening": listening, "signInCode": code });
        report(&data, || {
            say!("Kitbag serves {}", app.base_url());
            if let Some(command) = &code {
                // The reader may have closed the pipe.
                let _ = try_print(&text!("Sign-in in a browser asks for a code: `{}` prints it", command));
            }
        })?;
        // A closing terminal also sends SIGHUP, and then the server must end.
        if !std::io::stdin().is_terminal() {
            let hang_up = listen(SignalKind::hangup())?;
            tokio::spawn(self.reload_at(hang_up, app.reload()));
        }
        app.serve(stop).await;
        Ok(())
    }

    fn settings(&self) -> Result<Settings, SettingsError> {
        Settings::load(self.sources.clone(), self.config.as_deref())
    }

    /// Reloads the settings at each signal. Invalid settings leave the current ones in effect.
    async fn reload_at(self, mut signal: Signal, reload: Reload) {
        while signal.recv().await.is_some() {
            match self.settings() {
                Ok(settings) => reload.apply(&settings).await,
                Err(error) => warn!(%error, "the settings cannot be read again; those in effect stay"),
            }
        }
    }
}

fn listen(kind: SignalKind) -> Result<Signal, CliError> {
    signal(kind).map_err(|error| CliError::new(format!("cannot listen for signals: {error}")))
}

/// Resolves at the stop signal: SIGTERM, or SIGINT (Ctrl-C at a terminal). A second signal ends the process
/// at once.
pub(super) fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, CliError> {
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
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
