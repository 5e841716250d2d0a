//! Authentication: turns request headers into a [`Caller`], so that no handler sees a token. Also sign-in,
//! browser sessions, and keys of programs.
//!
//! A request goes `headers → one credential → cache of verified tokens, or (JWS header → key → signature →
//! claims) → rules for header or cookie → Caller`.
//!
//! Invariants:
//! - no claim is read before the signature over it was verified;
//! - the rules that depend on the request (cookie, `Origin`) are checked for every request, also
//!   when the token itself is cached;
//! - an error never contains the token or its signature. Reasons are fixed texts; [`AuthError::Unexpected`]
//!   also quotes a verified claim, clipped, for the log.
//!
//! # Modules
//!
//! - `identity`: verification of tokens and keys; `caller` is its result
//! - `issuer_record`: issuer whose users a data directory contains
//! - `client`: the OAuth client of `kitbag login` and of the pages: discovery, registration, codes,
//!   refresh tokens
//! - `subject`: the users to whom a grant applies, of toolkits and of collections
//! - `users`: who has signed in, and whose access was ended (docs/decisions/0099)
//! - `program_keys`: keys of programs that act for a user (docs/decisions/0063)
//! - `provisioning`: users and groups as the identity provider maintains them here (docs/decisions/0102)
//! - `browser_sessions`: sessions of browsers on the pages of `web`
//! - `provider_sign_in`: sign-in of browsers with an external provider, and the renewal and the end of
//!   their sessions (docs/decisions/0026)
//! - `local`: authorization server of local mode: registration → consent, with the sign-in code →
//!   authorization code → tokens → revocation; `web/oauth` has its HTTP routes

mod algorithms;
mod browser_sessions;
mod caller;
mod claims;
pub mod client;
mod clock;
mod credential;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod groups;
mod identity;
mod issuer_record;
mod jwks;
mod keys;
mod local;
mod logout_token;
mod origins;
mod program_keys;
mod provider_sign_in;
mod provisioning;
mod settings;
mod subject;
#[cfg(test)]
mod tests;
mod token;
mod token_cache;
mod users;
mod well_known;

pub use self::algorithms::Algorithms;
pub use self::browser_sessions::{BrowserSession, BrowserSessions, SessionLifetime};
pub use self::caller::{Caller, CallerKey, TokenProfile};
pub use self::claims::MAX_SUBJECT_BYTES;
pub use self::error::{AuthError, InvalidSettings};
pub use self::groups::Groups;
pub use self::identity::Identity;
pub use self::issuer_record::{IssuerChange, bind_issuer, record_issuer, recorded_issuer};
pub use self::local::{
    AccessGrant, AuthorizationServer, AuthorizeError, ClientSource, CodePrompt, Consent, Destination,
    EndpointError, ErrorCode, GrantedClient, Lifetimes, LocalIssuer, LocalIssuerError, OAuthError,
    RedirectUri, Registration, Scopes, SignInCode, SignInError, Step, TicketRequest, Tokens, paths,
    random_text,
};
pub use self::program_keys::{
    KeyError, KeyGroups, KeyLimits, NewKey, ProgramKey, ProgramKeys, revoke_keys_for,
};
pub use self::provider_sign_in::{
    Arrival, Departure, ProviderError, ProviderSignIn, SessionState, WebClient,
};
pub use self::provisioning::{
    GroupChange, MemberChange, Page, ProvisionedGroup, ProvisionedUser, Provisioner, Provisioning,
    ProvisioningError, ProvisioningLimits, ProvisioningToken, Selection, UserContent, UserIdAttribute,
};
pub use self::settings::{IdentitySettings, SessionAudience, UntypedTokens, UserIdClaim};
pub use self::subject::{InvalidSubject, Subject};
pub use self::users::{
    AccessEnd, EndUserError, EndedAccess, KnownUser, MAX_USERS_OF_PAGE, SignIns, Unadmitted, Users,
    is_deactivation,
};
