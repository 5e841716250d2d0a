//! Authentication at registries: HTTP Basic, and tokens of the service that a registry names (distribution
//! specification, "Token Authentication").

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderValue, Method, Request, header};
use http_body_util::Full;
use kitbag_base::loopback::is_loopback;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;
use url::form_urlencoded::Serializer;

use super::credential::{Credential, credential};
use super::registry::{Credentials, Registry};
use super::{RegistryError, answer};

/// Maximum size of a token response, in bytes.
const MAX_TOKEN_BYTES: u64 = 64 << 10;
/// Client identifier of this program at token services.
const CLIENT_ID: &str = "kitbag";

/// Requested access to a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Pull,
    Push,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// Authentication challenge of a registry.
enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<SecretString>,
    access_token: Option<SecretString>,
}

/// Returns the value of `Authorization` for the challenge in the `headers` of a 401 response.
pub(super) async fn authorization(
    registry: &Registry<'_>,
    headers: &HeaderMap,
    action: Action,
) -> Result<HeaderValue, RegistryError> {
    let host = registry.host();
    let credential = match registry.credentials() {
        Credentials::Docker => credential(host, registry.pace().patience).await?,
        Credentials::Nobody => None,
    };
    match (challenge(headers)?, credential) {
        (Challenge::Basic, Some(Credential::Password { user, password })) => Ok(basic(&user, &password)),
        (Challenge::Basic, _) => Err(registry.without_credentials()),
        (Challenge::Bearer { realm, service }, credential) => {
            let token = token(registry, &realm, service.as_deref(), action, credential.as_ref()).await?;
            Ok(sensitive(&format!("Bearer {}", token.expose_secret())))
        }
    }
}

/// Selects a supported challenge: the first Bearer challenge, or else Basic.
fn challenge(headers: &HeaderMap) -> Result<Challenge, RegistryError> {
    let mut takes_basic = false;
    let mut bearer = None;
    for value in headers.get_all(header::WWW_AUTHENTICATE) {
        let Ok(challenges) = http_auth::parse_challenges(value.to_str().unwrap_or_default()) else {
            continue;
        };
        for challenge in challenges {
            let parameter = |name: &str| {
                let found = challenge.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped())
            };
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                takes_basic = true;
            } else if challenge.scheme.eq_ignore_ascii_case("bearer") {
                bearer = bearer.or_else(|| Some((parameter("realm")?, parameter("service"))));
            }
        }
    }
    match bearer {
        Some((realm, service)) => Ok(Challenge::Bearer { realm, service }),
        None if takes_basic => Ok(Challenge::Basic),
        None => Err(RegistryError::Unreadable("it asks for a sign-in of an unknown kind".to_owned())),
    }
}

/// Requests a token. Without credentials it is anonymous, which suffices for public repositories.
async fn token(
    registry: &Registry<'_>,
    realm: &str,
    service: Option<&str>,
    action: Action,
    credential: Option<&Credential>,
) -> Result<SecretString, RegistryError> {
    let host = registry.host();
    let unprotected = || RegistryError::Unprotected { registry: host.to_owned(), realm: realm.to_owned() };
    let mut url: Url = realm.parse().map_err(|_| unprotected())?;
    let is_protected = match url.scheme() {
        "https" => true,
        "http" => is_loopback(&url) && registry.is_on_this_machine(),
        _ => false,
    };
    if !is_protected {
        return Err(unprotected());
    }
    let scope = format!("repository:{}:{}", registry.reference().name(), action.name());
    let mut parameters = vec![("scope", scope.as_str())];
    parameters.extend(service.map(|service| ("service", service)));
    let request = match credential {
        Some(Credential::IdentityToken(token)) => {
            parameters.extend([
                ("grant_type", "refresh_token"),
                ("client_id", CLIENT_ID),
                ("refresh_token", token.expose_secret()),
            ]);
            let form = Serializer::new(String::new()).extend_pairs(&parameters).finish();
            Request::builder()
                .method(Method::POST)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .uri(url.as_str())
                .body(Full::from(form))
        }
        credential => {
            url.query_pairs_mut().extend_pairs(&parameters);
            let mut request = Request::builder().uri(url.as_str());
            if let Some(Credential::Password { user, password }) = credential {
                request = request.header(header::AUTHORIZATION, basic(user, password));
            }
            request.body(Full::default())
        }
    };
    let request =
        request.map_err(|_| RegistryError::Unreadable(format!("{realm:?} is no URL of a service")))?;
    let response =
        registry.egress().send_within(request, &registry.policy(&url), registry.timeouts()).await?;
    let status = response.status();
    if status.is_client_error() {
        return Err(match credential {
            Some(_) => RegistryError::Refused { registry: host.to_owned() },
            None => registry.without_credentials(),
        });
    }
    let what = "a token";
    if !status.is_success() {
        return Err(RegistryError::Status { what, status, detail: String::new() });
    }
    let body = answer::read(response, host, what, MAX_TOKEN_BYTES, registry.pace().patience).await?;
    let TokenAnswer { token, access_token } = serde_json::from_slice(&body)
        .map_err(|_| RegistryError::Unreadable("its token service sends no token".to_owned()))?;
    let none = || RegistryError::Unreadable("its token service sends no token".to_owned());
    token.or(access_token).filter(|token| is_token(token.expose_secret())).ok_or_else(none)
}

/// Whether the token is a valid header value: visible ASCII.
fn is_token(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

fn basic(user: &str, password: &SecretString) -> HeaderValue {
    let pair = format!("{user}:{}", password.expose_secret());
    sensitive(&format!("Basic {}", BASE64_STANDARD.encode(pair)))
}

fn sensitive(text: &str) -> HeaderValue {
    let mut value = HeaderValue::from_str(text).expect("it is visible ASCII");
    value.set_sensitive(true);
    value
}
