//! Paths of the local issuer's endpoints, relative to the base URL.

/// Authorization endpoint (RFC 6749, section 3.1).
pub const AUTHORIZE: &str = "/oauth/authorize";
/// Token endpoint (RFC 6749, section 3.2).
pub const TOKEN: &str = "/oauth/token";
/// Token revocation (RFC 7009).
pub const REVOKE: &str = "/oauth/revoke";
/// Dynamic client registration (RFC 7591).
pub const REGISTER: &str = "/oauth/register";
/// Public keys (RFC 7517).
pub const JWKS: &str = "/oauth/jwks";
