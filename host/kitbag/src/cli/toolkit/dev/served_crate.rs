//! Serves a crate in the real sandbox, on a server in local mode with a temporary data directory.
//!
//! Invariant: this server requires a token like any other. The command prints one for its user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kitbag_base::local_mode;
use kitbag_base::tasks::Interrupted;
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;

use super::Dev;
use super::sources::Sources;
use crate::app::App;
use crate::cli::client::{Client, Connection};
use crate::cli::error::CliError;
use crate::cli::serve::stop_signal;
use crate::cli::terminal::{Text, note, print_error, say, text};
use crate::cli::token::{DEFAULT_LIFETIME, mint};
use crate::cli::toolkit::{build, print_deployed, read, upload};
use crate::cli::{config, secret};
use crate::settings::Settings;
use crate::telemetry;

/// Builds and serves the crate until the stop signal; a failed build does not end the command.
pub(super) async fn serve(options: Dev) -> Result<(), CliError> {
    telemetry::start(telemetry::QUIET);
    let failed = |error: &dyn std::error::Error| CliError::new(error.to_string());
    let private = fs::Permissions::from_mode(0o700);
    let data = tempfile::Builder::new().permissions(private).tempdir().map_err(|error| failed(&error))?;
    let app = App::start(&settings(&options, data.path())?).await.map_err(|error| failed(&error))?;
    let mut stop = Box::pin(stop_signal()?);
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(app.serve(async {
        // A dropped sender also stops the server.
        let _ = stopped.await;
    }));

    let mut development = Development { options, data, live: None };
    say!("{}", development.connections().await?);
    tokio::select! {
        () = development.follow() => {}
        () = &mut stop => {}
    }
    drop(stopping);
    serving.await.map_err(|error| CliError::new(Interrupted::from(error).to_string()))
}

fn settings(options: &Dev, data: &Path) -> Result<Settings, CliError> {
    let ranges: Vec<_> = options.allow_private_ranges.iter().map(ToString::to_string).collect();
    let invalid = |name: &str| CliError::new(format!("--{name} cannot be used"));
    let defaults = Settings::default();
    Ok(Settings {
        listen: options.listen.into(),
        data: data.to_owned(),
        allow_private_ranges: if ranges.is_empty() {
            defaults.allow_private_ranges
        } else {
            ranges.join(",").parse().map_err(|_| invalid("allow-private-ranges"))?
        },
        call_time: format!("{}ms", options.call_time.as_millis())
            .parse()
            .map_err(|_| invalid("call-time"))?,
        ..Settings::default()
    })
}

struct Development {
    options: Dev,
    data: TempDir,
    /// Live toolkit: id and component.
    live: Option<(String, Vec<u8>)>,
}

impl Development {
    /// Deploys the crate, and deploys it again after each change. If a build fails, the previous version
    /// stays live.
    async fn follow(&mut self) {
        let mut sources = Sources::of(&self.options.path, self.options.env_file.iter().cloned().collect());
        loop {
            if let Err(error) = self.renew().await {
                print_error(&error);
                if let Some((id, _)) = &self.live {
                    note!("{} is served on: the version before this change", id);
                }
            }
            sources.changed().await;
        }
    }

    async fn renew(&mut self) -> Result<(), CliError> {
        let out = self.data.path().join("build");
        let component = read(&build::build(&self.options.path, Some(out)).await?.component)?;
        let client = self.client().await?;
        if self.live.as_ref().is_none_or(|(_, live)| *live != component) {
            let before = self.live.take();
            if let Some((id, _)) = &before {
                // The server would reject other bytes under a known version, so the toolkit is removed first.
                client.delete(&format!("/toolkits/{id}")).await?;
            }
            match upload(&client, component.clone()).await {
                Ok(deployed) => {
                    print_deployed(&deployed);
                    self.live = Some((deployed.id, component));
                }
                Err(refused) => {
                    self.restore(&client, before).await?;
                    return Err(refused);
                }
            }
        }
        self.settle(&client).await
    }

    /// Deploys the version again that was live before a version that the server has refused.
    async fn restore(&mut self, client: &Client, before: Option<(String, Vec<u8>)>) -> Result<(), CliError> {
        let Some((id, component)) = before else { return Ok(()) };
        upload(client, component.clone()).await?;
        self.live = Some((id, component));
        self.settle(client).await
    }

    /// Sets the author's credentials and settings. An invalid one is reported, and the rest is applied.
    async fn settle(&self, client: &Client) -> Result<(), CliError> {
        let Some((id, _)) = &self.live else { return Ok(()) };
        for (key, value) in &self.options.config {
            if let Err(error) = config::set(client, id, key, value).await {
                note!("warning: setting {}: {}", key, error);
            }
        }
        let Some(file) = &self.options.env_file else { return Ok(()) };
        let text = fs::read_to_string(file)
            .map_err(|error| CliError::new(format!("cannot read {}: {error}", file.display())))?;
        for (name, value) in credentials(&text) {
            if let Err(error) = secret::set(client, id, name, &value).await {
                note!("warning: credential {}: {}", name, error);
            }
        }
        Ok(())
    }

    async fn client(&self) -> Result<Client, CliError> {
        Connection::local(self.data.path().to_owned()).open().await
    }

    async fn connections(&self) -> Result<Text, CliError> {
        let data = self.data.path();
        let token = mint(data, local_mode::USER, DEFAULT_LIFETIME)?;
        let url = self.client().await?.server().join("mcp").expect("a server's URL can have a path");
        let authorization = format!("\"Authorization: Bearer {}\"", token.expose_secret());
        Ok(text!(
            "Serving {url} until Ctrl-C. The token is for this run only, and for this machine. Connect with\n\n  \
             curl -s {url} -H {authorization} -H 'Content-Type: application/json' -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}'\n  \
             claude mcp add --transport http kitbag-dev {url} --header {authorization}\n  \
             npx -y -p node@22 -p @modelcontextprotocol/inspector@2.12.0 mcp-inspector --cli {url} --transport http --header {authorization} --method tools/list\n\n\
             Calls and their logs: kitbag toolkit logs ID --follow --data {data}\n",
            url = url,
            authorization = authorization,
            data = data.display(),
        ))
    }
}

/// Parses lines of NAME=value. `#` begins a comment line; quotes around a value are removed.
fn credentials(text: &str) -> impl Iterator<Item = (&str, SecretString)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = value.trim();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)));
        let value = quoted.unwrap_or(value);
        (!name.starts_with('#') && !value.is_empty()).then(|| (name.trim(), SecretString::from(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_lines_of_a_name_and_a_value() {
        let text = "# of the test account\nA=b=c\n export B = \"d e\" \nC='f'\n\nD=\nE=\"\nno line\n#F=g\n";

        let read: Vec<_> =
            credentials(text).map(|(name, value)| (name, value.expose_secret().to_owned())).collect();

        let expected = [("A", "b=c"), ("B", "d e"), ("C", "f"), ("E", "\"")];
        assert_eq!(read, expected.map(|(name, value)| (name, value.to_owned())));
    }
}
