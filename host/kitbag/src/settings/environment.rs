//! Detects environment variables with the prefix of settings that are not settings.
//!
//! They are not errors: Kubernetes sets such variables in every pod, named after services.

use tracing::{info, warn};

/// Common prefix of the variables of all settings.
pub(super) const PREFIX: &str = "KITBAG_";
/// Minimum similarity of a suggested name, from 0 to 1 (Jaro-Winkler).
const MIN_SIMILARITY: f64 = 0.9;

/// A variable that is not a setting.
#[derive(Debug, PartialEq, Eq)]
enum Stray<'a> {
    /// Variable for a Kubernetes service ("Accessing the Service": environment variables).
    Service(&'a str),
    /// Unknown variable, probably misspelled, with the most similar setting if any.
    Unknown(&'a str, Option<&'static str>),
}

/// Logs which variables are not used. `is_known`: whether a setting refers to a variable of this name.
pub(super) fn warn_of_strays(settings: &[&'static str], is_known: impl Fn(&str) -> bool) {
    let variables: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| name.starts_with(PREFIX) && !settings.contains(&name.as_str()) && !is_known(name))
        .collect();
    let mut services = Vec::new();
    for (name, value) in &variables {
        // Values are never logged: they may be keys.
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
    // The common prefix does not count towards the similarity.
    let similarity = |setting: &str| strsim::jaro_winkler(&setting[PREFIX.len()..], &name[PREFIX.len()..]);
    let nearest = settings.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
    Stray::Unknown(name, nearest.filter(|setting| similarity(setting) >= MIN_SIMILARITY))
}

/// Whether a variable has the form `…_SERVICE_HOST`, `…_SERVICE_PORT` or `…_SERVICE_PORT_<NAME>`, or that of
/// a Docker link: `…_PORT`, or `…_PORT_<NUMBER>_<PROTOCOL>`, optionally with `_PROTO`, `_PORT` or `_ADDR`.
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
        // A plausible guess of a user, but no setting.
        assert_eq!(stray("KITBAG_PORT", "8080", &SETTINGS), Stray::Unknown("KITBAG_PORT", None));
    }
}
