//! Redirects (Fetch Standard, "HTTP-redirect fetch").

use serde::Deserialize;
use url::{Host, Url, form_urlencoded};

use super::{Exchange, Following, Head, Responded, has_secret};
use crate::limits::MAX_REDIRECTS;
use crate::redaction::Redactor;

/// What a handler wants of redirects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RedirectMode {
    /// They are followed.
    #[default]
    Follow,
    /// They are the response.
    Manual,
    /// They are an error.
    Error,
}

/// Headers that describe a body.
const BODY_HEADERS: [&str; 5] =
    ["content-encoding", "content-language", "content-length", "content-location", "content-type"];
/// Headers that do not follow a redirect to another origin.
const CREDENTIAL_HEADERS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Returns the request that follows a redirect, or nothing if the response is not one to follow. `attached` is the
/// query parameter that was attached: servers copy the query, and it must not lead elsewhere.
pub(super) fn follow(
    exchange: &mut Exchange,
    head: &Head,
    response: &Responded,
    attached: Option<(&str, &str)>,
    secrets: &Redactor,
) -> Result<Option<Following>, String> {
    let is_redirect = [301, 302, 303, 307, 308].contains(&response.status);
    let Some(location) = response.locations.first().filter(|_| is_redirect) else { return Ok(None) };
    match response.mode {
        RedirectMode::Follow => {}
        RedirectMode::Manual => return Ok(None),
        RedirectMode::Error => {
            return Err(r#"the answer is a redirect, and the request has redirect: "error""#.to_owned());
        }
    }
    if response.locations.iter().any(|it| it != location) {
        return Err("it names several places".to_owned());
    }
    let here = Url::parse(&head.url).map_err(|error| error.to_string())?;
    let location = attached.map_or_else(|| location.clone(), |it| without_parameter(location, it));
    let there = target(&here, &location)?;
    if here.scheme() == "https" && there.scheme() != "https" {
        return Err("it leads from https to http".to_owned());
    }
    if exchange.redirects >= MAX_REDIRECTS {
        return Err("too many redirects".to_owned());
    }
    exchange.redirects += 1;
    let drops_body = becomes_get(response.status, &head.method);
    let is_same_origin = origin(&here) == origin(&there);
    let is_kept = |(name, value): &&(String, String)| {
        let name = name.to_ascii_lowercase();
        let has_credential = CREDENTIAL_HEADERS.contains(&name.as_str()) || has_secret(secrets, value);
        !(drops_body && BODY_HEADERS.contains(&name.as_str())) && (is_same_origin || !has_credential)
    };
    let headers = head.headers.iter().filter(is_kept).cloned().collect();
    let method = if drops_body { "GET".to_owned() } else { head.method.clone() };
    Ok(Some(Following::Follow { head: Head { method, url: there.into(), headers }, drops_body }))
}

fn target(here: &Url, location: &str) -> Result<Url, String> {
    let mut there = here.join(location).map_err(|_| "its Location is no URL".to_owned())?;
    if !matches!(there.scheme(), "http" | "https") {
        return Err("only http and https are possible".to_owned());
    }
    if !there.username().is_empty() || there.password().is_some() {
        return Err("user information is not allowed".to_owned());
    }
    there.set_fragment(None);
    Ok(there)
}

fn becomes_get(status: u16, method: &str) -> bool {
    match status {
        301 | 302 => method == "POST",
        303 => method != "GET" && method != "HEAD",
        _ => false,
    }
}

/// Returns the origin; a trailing dot does not change a name's meaning.
fn origin(url: &Url) -> (String, Option<String>, Option<u16>) {
    let host = url.host().map(|host| match host {
        Host::Domain(name) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        address => address.to_string(),
    });
    (url.scheme().to_owned(), host, url.port_or_known_default())
}

/// Returns a URL reference without a query parameter.
fn without_parameter(reference: &str, (name, value): (&str, &str)) -> String {
    let (rest, fragment) = reference.find('#').map_or((reference, ""), |at| reference.split_at(at));
    let Some((path, query)) = rest.split_once('?') else { return reference.to_owned() };
    let is_attached =
        |pair: &&str| form_urlencoded::parse(pair.as_bytes()).any(|(key, text)| key == name && text == value);
    let kept: Vec<_> = query.split('&').filter(|pair| !is_attached(pair)).collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    format!("{path}{query}{fragment}")
}
