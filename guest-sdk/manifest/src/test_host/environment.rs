//! The environment that a test gives to a call.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{ToolkitDefinition, config};

/// Credentials and settings of the calling user.
#[derive(Clone, Default, Deserialize)]
pub struct Environment {
    /// Values of credentials by name.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// Access token of the user's connected account.
    #[serde(default)]
    pub account: Option<String>,
    /// The user's settings.
    #[serde(default)]
    pub config: Map<String, Value>,
}

impl Environment {
    /// Returns a message for each credential, account and setting that a server would not store for this toolkit.
    pub fn problems(&self, definition: &ToolkitDefinition) -> Vec<String> {
        let credentials = definition.credentials();
        let undeclared = self.secrets.keys().filter(|name| !credentials.contains(&name.as_str()));
        let undeclared = undeclared.map(|name| format!("secret {name}: not declared"));
        let account = self.account.iter().filter_map(|token| {
            if definition.auth.account().is_none() {
                Some("account: auth has no oauth2_authorization_code".to_owned())
            } else {
                (!is_token(token)).then(|| "account: has characters that a header cannot have".to_owned())
            }
        });
        let unfit = config::problems(&definition.config, &self.config);
        let unfit = unfit.into_iter().map(|(key, why)| format!("config {key}: {why}"));
        undeclared.chain(account).chain(unfit).collect()
    }
}

/// Maximum length of a token, in bytes; servers refuse longer headers.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Whether a text is valid as an access token in a header.
pub fn is_token(text: &str) -> bool {
    (1..=MAX_TOKEN_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}
