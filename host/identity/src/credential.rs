//! Extraction of the single credential from a request's headers.

use http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use http::{HeaderMap, HeaderName};

use super::error::AuthError;
use super::error::invalid;
use super::origins::Origins;

/// Longest accepted token; larger than the tokens of any known provider.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
const SESSION_COOKIE: &str = "__session";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// An unverified token, borrowed from the request so that no copy outlives it.
pub(super) struct Credential<'a> {
    pub(super) token: &'a str,
    pub(super) source: Source<'a>,
}

/// Transport of the token in the request.
pub(super) enum Source<'a> {
    /// `Authorization: Bearer …`, which no browser adds on its own.
    Header,
    /// The session cookie, which a browser adds to requests of any page.
    Cookie {
        /// The request's `Origin`, already checked against the allowed origins.
        origin: Option<&'a str>,
    },
    /// The session cookie of a browser that opens a page, from any origin.
    Visit,
}

impl<'a> Credential<'a> {
    /// Finds the credential. If there is an `Authorization` header, even an invalid one, cookies are ignored.
    pub(super) fn from_headers(headers: &'a HeaderMap, origins: &Origins) -> Result<Self, AuthError> {
        let credential = match single(headers, &AUTHORIZATION, "more than one Authorization header")? {
            Some(value) => Self { token: bearer(value)?, source: Source::Header },
            None => Self::from_cookie(headers, origins)?,
        };
        credential.of_reasonable_size()
    }

    /// Wraps a token that the provider has just issued to this server.
    pub(super) fn issued(token: &'a str) -> Result<Self, AuthError> {
        Self { token, source: Source::Header }.of_reasonable_size()
    }

    fn of_reasonable_size(self) -> Result<Self, AuthError> {
        if self.token.len() > MAX_TOKEN_BYTES {
            return Err(invalid("a token of more than 16 KiB"));
        }
        Ok(self)
    }

    /// Finds the session cookie of a browser that opens a page.
    pub(super) fn of_visit(headers: &'a HeaderMap) -> Result<Self, AuthError> {
        let token = session_cookie(headers)?.ok_or(AuthError::Missing)?;
        Self { token, source: Source::Visit }.of_reasonable_size()
    }

    fn from_cookie(headers: &'a HeaderMap, origins: &Origins) -> Result<Self, AuthError> {
        let token = session_cookie(headers)?.ok_or(AuthError::Missing)?;
        let sites = headers.get_all(SEC_FETCH_SITE);
        if sites.iter().any(|site| site.as_bytes().eq_ignore_ascii_case(b"cross-site")) {
            return Err(invalid("a cookie in a cross-site request"));
        }
        let origin = single(headers, &ORIGIN, "more than one Origin header")?;
        if origin.is_some_and(|origin| !origins.contains(origin)) {
            return Err(invalid("a cookie with an Origin that is not allowed"));
        }
        Ok(Self { token, source: Source::Cookie { origin } })
    }
}

/// Returns the header's value as text. Repeated headers are refused: two parsers could read different values.
fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    repeated: &'static str,
) -> Result<Option<&'a str>, AuthError> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(invalid(repeated));
    }
    first.map(|value| value.to_str().map_err(|_| invalid("a header that is not ASCII"))).transpose()
}

fn bearer(value: &str) -> Result<&str, AuthError> {
    let (scheme, token) = value.split_once(' ').ok_or(invalid("an Authorization header without a token"))?;
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return Err(invalid("an Authorization scheme other than Bearer"));
    }
    Ok(token.trim_matches(' '))
}

/// Returns the session cookie's value. Two cookies are refused: another site of the same domain may have set
/// one.
fn session_cookie(headers: &HeaderMap) -> Result<Option<&str>, AuthError> {
    let mut found = None;
    for line in headers.get_all(COOKIE) {
        // Split as bytes: another site's cookie that is not UTF-8 must not lock the user out.
        for pair in line.as_bytes().split(|byte| *byte == b';') {
            let Some(value) = pair.trim_ascii_start().strip_prefix(SESSION_COOKIE.as_bytes()) else {
                continue;
            };
            let Some(value) = value.strip_prefix(b"=") else { continue };
            let value = std::str::from_utf8(value.trim_ascii_end())
                .map_err(|_| invalid("a cookie that is not text"))?;
            if found.replace(value).is_some() {
                return Err(invalid("more than one session cookie"));
            }
        }
    }
    Ok(found)
}
