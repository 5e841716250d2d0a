//! Local mode: the server issues its own tokens.
//!
//! It is for one machine: the server is its own authorization server, on loopback addresses only. Not
//! constructed with an external provider.
//!
//! Invariant: codes and refresh tokens are stored only as SHA-256.

mod authorization;
mod authorization_server;
mod authorize;
mod client;
mod client_metadata;
mod code_change;
mod code_check;
mod granted_clients;
mod issuer;
mod issuer_error;
mod key_file;
mod metadata_document;
mod oauth_error;
mod parameters;
pub mod paths;
mod person;
mod pkce;
mod redirect_uri;
mod refresh_chain;
mod register;
mod scopes;
mod secret;
mod short_lived;
mod sign_in_code;
mod store;
#[cfg(test)]
mod tests;
mod token;

pub use self::authorization_server::{AuthorizationServer, Lifetimes};
pub use self::authorize::{AuthorizeError, Consent, Step};
pub use self::client::ClientSource;
pub use self::code_check::CodePrompt;
pub use self::granted_clients::GrantedClient;
pub use self::issuer::{AccessGrant, LocalIssuer};
pub use self::issuer_error::LocalIssuerError;
pub use self::oauth_error::{EndpointError, ErrorCode, OAuthError};
pub use self::person::SignInError;
pub use self::redirect_uri::{Destination, RedirectUri};
pub use self::register::Registration;
pub(super) use self::scopes::SCOPES;
pub use self::scopes::Scopes;
pub use self::secret::random_text;
pub use self::sign_in_code::{SignInCode, TicketRequest};
pub(super) use self::store::revoke_grants_of;
pub use self::token::Tokens;
