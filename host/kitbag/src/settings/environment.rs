//! Environment variables whose names begin as those of settings do, and that are none.
//!
//! They are no errors: Kubernetes puts some into every pod beside a service, named after the service.

use tracing::{info, warn};

/// What all variables of settings begin with.
const PREFIX: &str = "KITBAG_";
/// How similar a name must be to be suggested, from 0 to 1 (Jaro-Winkler).
const MIN_SIMILARITY: f64 = 0.9;

/// A variable that is not a setting.
#[derive(Debug, PartialEq, Eq)]
enum Stray<'a> {
    /// Of a service beside the pod (Kubernetes, "Accessing the Service": environment variables).
    Service(&'a str),
    /// Probably misspelled, with the nearest name if one is near.
    Unknown(&'a str, Option<&'static str>),
}

/// Logs which variables are not used. `is_known` tells about names that a setting refers to.
pub(super) fn warn_of_strays(settings: &[&'static str], is_known: impl Fn(&str) -> bool) {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| name.starts_with(PREFIX) && !settings.contains(&name.as_str()) && !is_known(name))
        .collect();
    let mut services = Vec::new();
    for (name, value) in &variables {
        // A value is never logged: it may be a key.
        match stray(name, value, settings) {
            Stray::Service(name) => services.push(name),
            Stray::Unknown(variable, Some(nearest)) => {
                warn!(
                    variable,
                    nearest, "this environment variable is not a setting of Kitbag and is not used"
                );
            }
            Stray::Unknown(variable, None) => {
                warn!(variable, "this environment variable is not a setting of Kitbag and is not used");
            }
        }
    }
    if !services.is_empty() {
        info!(
            variables = services.join(" "),
            "these environment variables are of a Kubernetes service and are not used (enableServiceLinks: false \
             leaves them out)"
        );
    }
}

fn stray<'a>(name: &'a str, value: &str, settings: &[&'static str]) -> Stray<'a> {
    if is_of_a_service(name, value) {
        return Stray::Service(name);
    }
    // What all names begin with does not count.
    let similarity = |setting: &str| strsim::jaro_winkler(&setting[PREFIX.len()..], &name[PREFIX.len()..]);
    let nearest = settings.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    Stray::Unknown(name, nearest.filter(|setting| similarity(setting) >= MIN_SIMILARITY))
}

/// `…_SERVICE_HOST`, `…_SERVICE_PORT`, `…_SERVICE_PORT_<NAME>`; and of links as Docker made them, `…_PORT`,
/// `…_PORT_<NUMBER>_<PROTOCOL>` with `_PROTO`, `_PORT` or `_ADDR` after it.
fn is_of_a_service(name: &str, value: &str) -> bool {
    let is_url = || ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let is_number = || !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_port_of_link = || {
        name.match_indices("_PORT_").any(|(at, before)| {
            let (number, rest) = name[at + before.len()..].split_once('_').unwrap_or_default();
            number.parse::<u16>().is_ok() && ["TCP", "UDP", "SCTP"].iter().any(|it| rest.starts_with(it))
        })
    };
    name.ends_with("_SERVICE_HOST")
        || ((name.ends_with("_SERVICE_PORT") || name.contains("_SERVICE_PORT_")) && is_number())
        || (name.ends_with("_PORT") && is_url())
        || is_port_of_link()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: [&str; 4] = ["KITBAG_LISTEN", "KITBAG_CALL_TIME", "KITBAG_CALL_MEMORY", "KITBAG_DATA"];

    #[test]
    fn a_misspelled_setting_is_told_with_the_nearest_one() {
        for (name, nearest) in [
            ("KITBAG_CALL_TIEM", Some("KITBAG_CALL_TIME")),
            ("KITBAG_LISTENS", Some("KITBAG_LISTEN")),
            ("KITBAG_CALLMEMORY", Some("KITBAG_CALL_MEMORY")),
            ("KITBAG_SOMETHING_ELSE", None),
            ("KITBAG_", None),
        ] {
            assert_eq!(stray(name, "1", &SETTINGS), Stray::Unknown(name, nearest));
        }
    }

    #[test]
    fn variables_of_kubernetes_are_told_from_settings() {
        for (name, value) in [
            ("KITBAG_SERVICE_HOST", "10.0.0.1"),
            ("KITBAG_SERVICE_PORT", "8787"),
            ("KITBAG_SERVICE_PORT_HTTP", "8787"),
            ("KITBAG_PORT", "tcp://10.0.0.1:8787"),
            ("KITBAG_PORT_8787_TCP", "tcp://10.0.0.1:8787"),
            ("KITBAG_PORT_8787_TCP_PROTO", "tcp"),
            ("KITBAG_PORT_8787_TCP_PORT", "8787"),
            ("KITBAG_PORT_8787_TCP_ADDR", "10.0.0.1"),
            ("KITBAG_DATA_SERVICE_HOST", "10.0.0.2"),
        ] {
            assert_eq!(stray(name, value, &SETTINGS), Stray::Service(name));
        }
        // What a person means.
        assert_eq!(stray("KITBAG_PORT", "8080", &SETTINGS), Stray::Unknown("KITBAG_PORT", None));
    }
}
