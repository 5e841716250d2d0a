//! Authorization request and response, which pass through the browser (RFC 6749, section 4.1).

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag_base::sha256::Sha256;
use url::{Url, form_urlencoded};

use super::{AuthorizationServer, ClientError};

/// Authorization request with PKCE (RFC 7636) and a resource indicator (RFC 8707).
pub struct AuthorizationRequest<'a> {
    /// Client identifier.
    pub client_id: &'a str,
    /// Redirect URI of the response.
    pub redirect_uri: &'a str,
    /// The PKCE code verifier (RFC 7636, section 4.1).
    pub verifier: &'a str,
    /// Binds the response to this request (RFC 6749, section 4.1.1).
    pub state: &'a str,
}

/// Expected values for the validation of an authorization response.
pub struct ExpectedResponse {
    /// `state` of the request.
    pub state: String,
    /// Issuer that must be named in `iss`, if it is present (RFC 9207).
    pub issuer: String,
    /// Whether a response without `iss` is refused (RFC 9207, section 2.4).
    pub names_itself: bool,
}

impl AuthorizationRequest<'_> {
    /// URL of the authorization page for the browser.
    pub fn page(&self, server: &AuthorizationServer) -> Url {
        let mut page = server.authorization_endpoint.clone();
        page.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client_id)
            .append_pair("redirect_uri", self.redirect_uri)
            .append_pair("code_challenge", &challenge(self.verifier))
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", self.state)
            .append_pair("scope", &server.scope)
            .append_pair("resource", &server.resource);
        // OpenID Connect providers issue a refresh token only with `prompt=consent` (Core, section 11).
        if server.scope.split(' ').any(|scope| scope == "offline_access") {
            page.query_pairs_mut().append_pair("prompt", "consent");
        }
        page
    }
}

impl ExpectedResponse {
    /// Validates a response's query. Returns the authorization code or an error; `None` if the response does
    /// not belong to this request.
    pub fn judge(&self, query: &str) -> Option<Result<String, ClientError>> {
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()).into_owned() {
            if parameters.insert(name, value).is_some() {
                return None;
            }
        }
        if parameters.get("state") != Some(&self.state) {
            return None;
        }
        let named = parameters.get("iss");
        let by_another =
            named.is_some_and(|named| *named != self.issuer) || (named.is_none() && self.names_itself);
        if by_another {
            return Some(Err(ClientError::new(format!("the answer is not from {}", self.issuer))
                .hint("nothing was sent to anybody; sign in again")));
        }
        Some(match (parameters.remove("code"), parameters.get("error")) {
            (Some(code), None) => Ok(code),
            (_, Some(error)) => {
                let description = parameters.get("error_description").unwrap_or(error);
                Err(ClientError::new(format!(
                    "{} did not sign you in: {}",
                    self.issuer,
                    description.escape_debug()
                )))
            }
            (None, None) => {
                Err(ClientError::new(format!("{} sent neither a code nor an error", self.issuer)))
            }
        })
    }
}

/// PKCE code challenge of a verifier, with the method S256.
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(names_itself: bool) -> ExpectedResponse {
        ExpectedResponse { state: "s1".to_owned(), issuer: "https://id.example".to_owned(), names_itself }
    }

    #[test]
    fn only_the_answer_to_the_own_question_counts() {
        let expected = expected(true);

        for query in ["", "code=c", "code=c&state=s2&iss=https://id.example", "state=s1&state=s1&code=c"] {
            assert!(expected.judge(query).is_none(), "{query}");
        }
        let code = expected.judge("code=c&state=s1&iss=https://id.example").unwrap().unwrap();
        assert_eq!(code, "c");
    }

    #[test]
    fn an_answer_from_another_issuer_is_no_code() {
        for (names_itself, query, good) in [
            (true, "code=c&state=s1", false),
            (true, "code=c&state=s1&iss=https://evil.example", false),
            (false, "code=c&state=s1&iss=https://evil.example", false),
            (false, "code=c&state=s1", true),
        ] {
            let judged = expected(names_itself).judge(query).unwrap();
            assert_eq!(judged.is_ok(), good, "{query}");
        }
    }

    #[test]
    fn a_refusal_is_told_and_cannot_command_the_terminal() {
        let judged =
            expected(false).judge("state=s1&error=access_denied&error_description=no%1b[2J").unwrap();

        assert_eq!(judged.unwrap_err().to_string(), "https://id.example did not sign you in: no\\u{1b}[2J");
    }
}
