//! `kitbag login`

mod callback;

use std::path::{Path, PathBuf};

use clap::Args;
use kitbag_base::local_mode;
use kitbag_identity::client::{
    self as oauth, AuthorizationRequest, AuthorizationServer, Client, Code, ExpectedResponse, Http,
    Registration, challenge,
};
use kitbag_identity::{SignInCode, TicketRequest, random_text};
use serde_json::json;
use url::Url;

use self::callback::Callback;
use super::client::which_server;
use super::error::CliError;
use super::format::Format;
use super::output::report;
use super::session::{Session, SessionFile};
use super::terminal::{Text, note, print, print_note, say, text};

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
    /// by itself; by default the one that the server names (its setting mcp-client-id).
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
        // Fails before the user signs in if sessions cannot be stored.
        drop(file.lock().await?);

        let http = Http::default();
        let authorization_server = oauth::discover(&http, &server).await?;
        let callback = Callback::listen().await?;
        let named = self.client_id.or_else(|| authorization_server.shared_client_id.clone());
        let client_id = if let Some(client_id) = named {
            client_id
        } else {
            let program = Registration {
                backchannel_logout_uri: None,
                name: "Kitbag command line",
                // Public client with a loopback redirect (RFC 8252).
                application_type: "native",
                redirect_uri: callback.redirect_uri(),
                alternative: "register one there as a public client, and name it with --client-id",
            };
            authorization_server.register(&http, &program).await?
        };
        let verifier = random_text::<32>();
        let state = random_text::<16>();
        let redirect_uri = callback.redirect_uri().to_owned();
        let request = AuthorizationRequest {
            client_id: &client_id,
            redirect_uri: &redirect_uri,
            verifier: &verifier,
            state: &state,
        };
        let mut page = request.page(&authorization_server);
        if let Some(ticket) =
            self::ticket(self.data.as_deref(), &server, &authorization_server, &client_id, &verifier)
        {
            page.query_pairs_mut().append_pair("ticket", &ticket);
        }
        announce(&text!("To sign in to {}, open\n\n  {}\n", server, page));
        if !self.no_browser && open::that_detached(page.as_str()).is_err() {
            announce(&text!("(there is no browser here to open it)"));
        }
        let expected = ExpectedResponse {
            state,
            issuer: authorization_server.issuer.clone(),
            names_itself: authorization_server.names_itself,
        };
        let code = callback.code(expected).await?;
        let client = Client::public(&client_id);
        let code = Code { client: &client, redirect_uri: &redirect_uri, verifier: &verifier, value: &code };
        let tokens = oauth::redeem(&http, &authorization_server, &code).await?;
        let tokens = tokens.map_err(|refusal| refusal.of_sign_in(&authorization_server))?;

        let mut locked = file.lock().await?;
        let before = locked.sessions.insert(&server, Session::new(authorization_server, client_id, tokens));
        locked.store()?;
        drop(locked);
        report(&json!({ "server": server }), || {
            say!(
                "Signed in to {server}. `kitbag logout --server {server}` ends the session.",
                server = server
            );
        })?;
        // Otherwise the replaced session would stay valid.
        if let Some(before) = before
            && let Err(error) = before.revoke().await
        {
            note!("warning: the session before this one could not be ended: {}", error);
        }
        Ok(())
    }
}

/// Prints an instruction for the user: on standard error if standard output is JSON.
fn announce(text: &Text) {
    if Format::current().is_json() { print_note(text) } else { print(text) }
}

/// Creates a replacement for typing the sign-in code, if this user can read the server's data directory.
/// Other users of the machine may see the page's URL in the process list; [`SignInCode`] explains why it is
/// useless to them.
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
    let issuer = &authorization_server.issuer;
    let code_challenge = &challenge(verifier);
    Some(code.ticket(&TicketRequest { issuer, client_id, code_challenge }))
}
