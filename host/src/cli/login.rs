//! `kitbag login`

mod callback;

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Args;
use url::Url;

use self::callback::{Callback, Expected};
use super::CliError;
use super::client::which_server;
use super::oauth::{self, AuthorizationServer, Code, Http};
use super::session::{Session, SessionFile};
use super::terminal::{note, say};
use crate::identity::{SignInCode, TicketRequest, random_text};
use crate::local_mode;
use crate::sha256::Sha256;

/// Sign in at a server, in a browser.
#[derive(Args, Debug)]
#[command(
    after_help = "The session is kept in $XDG_STATE_HOME/kitbag (~/.local/state/kitbag), for you alone; \
                        every command that talks to the server uses and renews it."
)]
pub(super) struct Login {
    /// URL of the server; by default the one with a session, or else the local one that last ran here.
    #[arg(long, env = "KITBAG_SERVER")]
    server: Option<Url>,
    /// Print the page's URL only; open no browser.
    #[arg(long)]
    no_browser: bool,
    /// Identifier of a public client to sign in as, for a provider that lets no program register
    /// by itself.
    #[arg(long)]
    client_id: Option<String>,
    /// Data directory of a local server, which is then meant; by default kitbag-data.
    #[arg(long, env = "KITBAG_DATA")]
    data: Option<PathBuf>,
}

impl Login {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let server = which_server(self.server, self.data.as_deref())?;
        let file = SessionFile::of_this_user().ok_or_else(|| {
            CliError::new("there is no place to keep a session").hint("set HOME or XDG_STATE_HOME")
        })?;
        // Fails early, before the user signs in.
        drop(file.lock().await?);

        let http = Http::new();
        let authorization_server = oauth::discover(&http, &server).await?;
        let callback = Callback::listen().await?;
        let client_id = match self.client_id {
            Some(client_id) => client_id,
            None => authorization_server.register(&http, callback.redirect_uri()).await?,
        };
        let (verifier, state) = (random_text::<32>(), random_text::<16>());
        let mut page = page(&authorization_server, &client_id, callback.redirect_uri(), &verifier, &state);
        if let Some(ticket) =
            self::ticket(self.data.as_deref(), &server, &authorization_server, &client_id, &verifier)
        {
            page.query_pairs_mut().append_pair("ticket", &ticket);
        }
        say!("To sign in to {}, open\n\n  {}\n", server, page);
        if !self.no_browser && open::that_detached(page.as_str()).is_err() {
            say!("(there is no browser here to open it)");
        }
        let redirect_uri = callback.redirect_uri().to_owned();
        let expected = Expected {
            state,
            issuer: authorization_server.issuer.clone(),
            names_itself: authorization_server.names_itself,
        };
        let code = callback.code(expected).await?;
        let code =
            Code { client_id: &client_id, redirect_uri: &redirect_uri, verifier: &verifier, value: &code };
        let tokens = oauth::redeem(&http, &authorization_server, &code).await?;

        let mut locked = file.lock().await?;
        let before = locked.sessions.insert(&server, Session::new(authorization_server, client_id, tokens));
        locked.store()?;
        drop(locked);
        say!("Signed in to {server}. `kitbag logout --server {server}` ends the session.", server = server);
        // Otherwise the session that is replaced would stay valid.
        if let Some(before) = before
            && let Err(error) = before.revoke().await
        {
            note!("warning: the session before this one could not be ended: {}", error);
        }
        Ok(())
    }
}

/// The URL of the page that asks the person (RFC 6749, section 4.1.1; RFC 7636; RFC 8707).
fn page(
    server: &AuthorizationServer,
    client_id: &str,
    redirect_uri: &str,
    verifier: &str,
    state: &str,
) -> Url {
    let mut page = server.authorization_endpoint.clone();
    page.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", client_id)
        .append_pair("redirect_uri", redirect_uri)
        .append_pair("code_challenge", &challenge(verifier))
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", state)
        .append_pair("scope", &server.scope)
        .append_pair("resource", &server.resource);
    // Without it, a provider of OpenID Connect gives no refresh token (Core, section 11).
    if server.scope.split(' ').any(|scope| scope == "offline_access") {
        page.query_pairs_mut().append_pair("prompt", "consent");
    }
    page
}

/// Replaces the sign-in code where the server's data directory can be read, so that it need not be typed. Other users
/// of the machine may see the page's URL in the list of processes; [`SignInCode`] says why it is useless to them.
fn ticket(
    data: Option<&Path>,
    server: &Url,
    authorization_server: &AuthorizationServer,
    client_id: &str,
    verifier: &str,
) -> Option<String> {
    let data = data.unwrap_or(Path::new(local_mode::DEFAULT_DATA));
    if local_mode::announced(data).ok().flatten().as_ref() != Some(server) {
        return None;
    }
    let code = SignInCode::read(data).ok().flatten()?;
    let (issuer, code_challenge) = (&authorization_server.issuer, &challenge(verifier));
    Some(code.ticket(&TicketRequest { issuer, client_id, code_challenge }))
}

/// Of RFC 7636, with the method S256.
fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
