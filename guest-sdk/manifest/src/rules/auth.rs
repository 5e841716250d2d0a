//! Rules for `auth`, the sign-ins that the host performs.

use std::collections::HashSet;

use url::Url;

use super::egress::check_host;
use super::fields::is_upper_snake_case;
use crate::egress::{CONNECTION_HEADERS, allows, entry_for, has_user_information, is_protected};
use crate::{
    AccountName, ApiKey, Auth, Auths, KeyPlace, OAuth2AuthorizationCode, OWN_PARAMETERS, Problems,
    ToolkitDefinition,
};

/// Maximum number of `authorizationParams`.
const MAX_PARAMETERS: usize = 8;
/// Maximum length of a header name, a parameter's name or value, and a prefix, in bytes.
const MAX_TEXT_BYTES: usize = 500;
/// Maximum length of a URL, in bytes.
const MAX_URL_BYTES: usize = 2000;

pub(super) fn all(definition: &ToolkitDefinition, problems: &mut Problems) {
    let Auths(list) = &definition.auth;
    if list.len() > Auths::MAX {
        problems.add("auth", format!("may list at most {} sign-ins", Auths::MAX));
    }
    let mut hosts = HashSet::new();
    for (index, auth) in list.iter().enumerate() {
        let path = if list.len() == 1 { "auth".to_owned() } else { format!("auth[{index}]") };
        one(&path, auth, definition, problems);
        if !hosts.insert(auth.api_host()) {
            problems.add(format!("{path}.apiHost"), "is that of another entry, too: each has its own");
        }
        if let (Auth::AuthorizationCode(grant), Some(first)) = (auth, definition.auth.account())
            && (OAuth2AuthorizationCode { api_host: first.api_host.clone(), ..grant.clone() }) != *first
        {
            problems.add(
                path,
                "differs from the other entry of this type in more than apiHost: a toolkit has one account",
            );
        }
    }
}

fn one(path: &str, auth: &Auth, definition: &ToolkitDefinition, problems: &mut Problems) {
    match auth {
        Auth::ClientCredentials(it) => {
            listed_url(&format!("{path}.tokenUrl"), &it.token_url, definition, problems);
        }
        Auth::AuthorizationCode(it) => account(path, it, definition, problems),
        Auth::ApiKey(it) => api_key(path, it, problems),
        Auth::Basic(_) => {}
    }
    for (field, name) in auth.secrets() {
        let path = format!("{path}.{field}");
        match auth {
            Auth::ClientCredentials(_) if !definition.reads(name) => {
                problems.add(path, format!("{name:?} must be listed in secrets"));
            }
            _ if !is_upper_snake_case(name) => {
                problems.add(path, format!("{name:?} must be in UPPER_SNAKE_CASE"));
            }
            _ => {}
        }
    }
    let host = auth.api_host();
    let path = format!("{path}.apiHost");
    if let Err(message) = check_host(host) {
        problems.add(path, message);
    } else if !definition.egress.iter().any(|listed| listed == host) {
        problems.add(path, format!("must be listed in egress: add {host:?}"));
    }
}

fn account(
    path: &str,
    grant: &OAuth2AuthorizationCode,
    definition: &ToolkitDefinition,
    problems: &mut Problems,
) {
    let authorization_path = format!("{path}.authorizationUrl");
    if let Some(url) = protected_url(&authorization_path, &grant.authorization_url, problems) {
        for (name, _) in url.query_pairs() {
            if let Some(message) = parameter(&name) {
                problems.add(&authorization_path, format!("its parameter {name:?} {message}"));
            }
        }
    }
    listed_url(&format!("{path}.tokenUrl"), &grant.token_url, definition, problems);
    if let Some(url) = &grant.revocation_url {
        listed_url(&format!("{path}.revocationUrl"), url, definition, problems);
    }
    if let Some(name) = &grant.account_name {
        account_name(&format!("{path}.accountName"), name, definition, problems);
    }
    let params = &grant.authorization_params;
    let params_path = format!("{path}.authorizationParams");
    if params.len() > MAX_PARAMETERS {
        problems.add(&params_path, format!("may have at most {MAX_PARAMETERS} members"));
    }
    for (name, value) in params {
        let path = format!("{params_path}.{name}");
        if let Some(message) = parameter(name) {
            problems.add(path, message);
        } else if name.is_empty() || name.len() > MAX_TEXT_BYTES || value.len() > MAX_TEXT_BYTES {
            problems.add(path, format!("must have a name and a value of at most {MAX_TEXT_BYTES} bytes"));
        }
    }
}

/// Checks where the API says whose account it is. The token is sent there.
fn account_name(path: &str, name: &AccountName, definition: &ToolkitDefinition, problems: &mut Problems) {
    let url_path = format!("{path}.url");
    if let Some(url) = protected_url(&url_path, &name.url, problems) {
        let is_api = |auth: &Auth| match auth {
            Auth::AuthorizationCode(it) => allows(std::slice::from_ref(&it.api_host), &url),
            _ => false,
        };
        if !definition.auth.iter().any(is_api) {
            problems.add(url_path, format!("must be at apiHost, and not at {:?}", entry_for(&url)));
        }
    }
    let is_pointer = name.pointer.starts_with('/') && name.pointer.len() <= MAX_TEXT_BYTES;
    if !is_pointer {
        let message = format!("must be a JSON pointer such as /login, of at most {MAX_TEXT_BYTES} bytes");
        problems.add(format!("{path}.pointer"), message);
    }
}

/// Checks the name of a parameter of the authorization request; returns what is wrong with it. Providers may
/// ignore case, and read `name[]` and ` name` as `name`.
fn parameter(name: &str) -> Option<&'static str> {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if OWN_PARAMETERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        Some("is set by the server")
    } else if !name.bytes().all(is_name_byte) {
        // RFC 6749, section 8.2.
        Some("may have only letters, digits, -, . and _ in its name")
    } else {
        None
    }
}

fn api_key(path: &str, key: &ApiKey, problems: &mut Problems) {
    let name = key.name();
    let name_path = format!("{path}.name");
    match key.place {
        KeyPlace::Header => {
            let lower = name.to_ascii_lowercase();
            if name.is_empty() || name.len() > MAX_TEXT_BYTES || !name.bytes().all(is_token_byte) {
                problems.add(name_path, format!("{name:?} is no name of a header"));
            } else if CONNECTION_HEADERS.contains(&lower.as_str())
                || lower == "user-agent"
                || lower.starts_with("kitbag-")
            {
                problems.add(name_path, format!("the header {name:?} is not for keys"));
            }
        }
        KeyPlace::Query => {
            if key.name.as_ref().is_none_or(|name| name.is_empty() || name.len() > MAX_TEXT_BYTES) {
                problems.add(name_path, "is required: the name of the query parameter");
            }
        }
    }
    if let Some(prefix) = &key.prefix {
        let is_text = prefix.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        let prefix_path = format!("{path}.prefix");
        if key.place == KeyPlace::Query {
            problems.add(prefix_path, "is for a key in a header");
        } else if prefix.len() > MAX_TEXT_BYTES || !is_text {
            problems.add(prefix_path, format!("must be at most {MAX_TEXT_BYTES} printable ASCII characters"));
        }
    }
}

/// Checks a URL to which the server sends credentials.
fn listed_url(path: &str, url: &str, definition: &ToolkitDefinition, problems: &mut Problems) {
    if let Some(url) = protected_url(path, url, problems)
        && !allows(&definition.egress, &url)
    {
        problems.add(path, format!("its host must be listed in egress: add {:?}", entry_for(&url)));
    }
}

/// Parses a URL to which credentials may go: encrypted, or on the same machine only.
fn protected_url(path: &str, url: &str, problems: &mut Problems) -> Option<Url> {
    match Url::parse(url) {
        Ok(_) if url.len() > MAX_URL_BYTES => {
            problems.add(path, format!("is longer than {MAX_URL_BYTES} bytes"));
        }
        Ok(url) if is_protected(&url) => {
            if url.fragment().is_some() || has_user_information(&url) {
                problems.add(path, "must have no fragment, user name or password");
            }
            return Some(url);
        }
        Ok(_) => problems.add(path, "must be an https:// URL (http:// only on loopback)"),
        Err(error) => problems.add(path, format!("must be an https:// URL ({error})")),
    }
    None
}

/// Whether a byte may be part of a token (RFC 9110, section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
