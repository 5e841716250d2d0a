//! Links for missing secrets, a missing account or a missing consent that made a call fail: a client that
//! supports URL mode elicitation gets a link for each, every other client the error.
//!
//! | revision | where the client declares support | what it receives | how the call continues |
//! |---|---|---|---|
//! | 2026-07-28 | `elicitation.url` among the capabilities of the request | a result `input_required` | the same call with `inputResponses` |
//! | 2025-11-25 | `elicitation.url` in `initialize` | error −32042 | the same call |
//!
//! `accept` in `inputResponses` means that the page was opened, not that the secret is set. So a call with it
//! waits for the page up to a timeout, and asks again if something is still missing.

use std::time::Duration;

use kitbag_access::values::vault::SecretSlot;
use kitbag_access::{AccessError, OwnSecret, User};
use kitbag_base::base_url::below;
use kitbag_base::shares::Shares;
use kitbag_identity::random_text;
use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ErrorCode, ErrorData, InputRequest,
    InputRequiredResult, InputResponses,
};
use serde_json::json;
use tokio::time::timeout;
use tracing::error;
use url::Url;

use super::headers::{Client, Revision};
use crate::{consents, secret_page};

/// `URLElicitationRequiredError` of 2025-11-25.
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);
/// Maximum wait of a call for the page: half of the usual timeout of clients.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of input responses that are read in a request; the server never asks for more.
const MAX_RESPONSES: usize = 16;

/// Key of the input request for an account. No secret can have this name.
const ACCOUNT: &str = "account";
/// Key of the input request for a consent.
const CONSENT: &str = "consent";

/// Limit per user of calls that wait for pages.
const MAX_WAITING_CALLS_PER_USER: usize = 16;
/// Limit for all users. A call beyond it continues without waiting.
const MAX_WAITING_CALLS: usize = 256;

/// Sends links to pages where users supply what a call lacked.
pub(super) struct Elicitation {
    base_url: Url,
    waiting: Shares,
}

/// Requirements whose absence made a call fail.
pub(super) struct Missing {
    /// Secrets of the toolkit that the user may set.
    pub(super) secrets: Vec<OwnSecret>,
    /// Whether the user may connect an account.
    pub(super) account: bool,
    /// Whether the user may consent to the toolkit's capabilities.
    pub(super) consent: bool,
}

impl Missing {
    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty() && !self.account && !self.consent
    }
}

/// Way to send links to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElicitationMode {
    /// A result with status `input_required`.
    InputRequired,
    /// An error (−32042).
    Error,
}

/// The client's response to links.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ElicitationResponse {
    /// No response: no links were sent.
    Nothing,
    /// The user opened the pages of these input requests.
    Opened(Vec<String>),
    /// The user declined or cancelled.
    Declined,
}

impl ElicitationMode {
    /// Mode of a client; `None` if it does not support links.
    pub(super) fn of(client: &Client) -> Option<Self> {
        client.abilities.opens_links.then_some(match client.revision {
            Revision::Current => Self::InputRequired,
            Revision::Older => Self::Error,
        })
    }
}

impl ElicitationResponse {
    /// Parses `inputResponses`, and ignores responses that the server did not ask for.
    pub(super) fn of(responses: Option<&InputResponses>) -> Self {
        let mut opened = Vec::new();
        for (name, response) in responses.into_iter().flatten().take(MAX_RESPONSES) {
            match response["action"].as_str() {
                Some("accept") => opened.push(name.clone()),
                Some("decline" | "cancel") => return Self::Declined,
                _ => {}
            }
        }
        if opened.is_empty() { Self::Nothing } else { Self::Opened(opened) }
    }
}

impl Elicitation {
    /// Creates the service for pages of the server at `base_url`.
    pub(super) fn new(base_url: Url) -> Self {
        Self { base_url, waiting: Shares::new(MAX_WAITING_CALLS, MAX_WAITING_CALLS_PER_USER) }
    }

    /// Waits until these secrets are set, the account is connected and the consent is given, or until a
    /// timeout.
    pub(super) async fn wait(&self, user: &User, toolkit: &str, names: &[String]) {
        // The names come from the client: only wait for a toolkit that the user can see.
        if user.toolkit(toolkit).is_err() {
            return;
        }
        let secrets: Vec<_> = names.iter().filter_map(|name| user.secret(toolkit, name).ok()).collect();
        let Ok(_place) = self.waiting.take(user.id(), 1) else { return };
        let done = async {
            user.until_set(&secrets).await?;
            if names.iter().any(|name| name == ACCOUNT) {
                user.until_connected(toolkit).await?;
            }
            if names.iter().any(|name| name == CONSENT) {
                user.until_agreed(toolkit).await?;
            }
            Ok::<_, AccessError>(())
        };
        // The tool is called in any case, and reports again what is missing.
        if let Ok(Err(cause)) = timeout(PAGE_TIMEOUT, done).await {
            error!(%cause, "a call does not wait for what its user does on a page");
        }
    }

    /// Asks for the missing requirements of a failed call; `missing` is not empty. The client returns the
    /// state with its response.
    pub(super) async fn ask(
        &self,
        mode: ElicitationMode,
        user: &User,
        (toolkit, state): (&str, Option<String>),
        missing: &Missing,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut questions = Vec::with_capacity(missing.secrets.len() + 1);
        for secret in &missing.secrets {
            questions.push((secret.slot().name.clone(), self.question(user, secret).await?));
        }
        if missing.account {
            questions.push((ACCOUNT.to_owned(), self.question_about_account(toolkit)));
        }
        if missing.consent {
            questions.push((CONSENT.to_owned(), self.question_about_consent(toolkit)));
        }
        match mode {
            ElicitationMode::InputRequired => {
                let requests = questions
                    .into_iter()
                    .map(|(name, it)| (name, InputRequest::Elicitation(ElicitRequest::new(it))));
                Ok(InputRequiredResult::new(Some(requests.collect()), state).into())
            }
            ElicitationMode::Error => {
                let (names, questions): (Vec<_>, Vec<_>) = questions.into_iter().unzip();
                let message =
                    format!("{toolkit} needs what its user has not given yet: {}", names.join(", "));
                Err(ErrorData::new(
                    URL_ELICITATION_REQUIRED,
                    message,
                    Some(json!({ "elicitations": questions })),
                ))
            }
        }
    }

    /// URL of the toolkit's page, where the user sets secrets and connects an account, or of its consent
    /// page.
    pub(super) fn page_of(&self, toolkit: &str, missing: &Missing) -> String {
        if missing.consent {
            return consents::page_of(&self.base_url, toolkit);
        }
        let section = if missing.account { "account" } else { "secrets" };
        below(&self.base_url, &format!("/ui/toolkits/{toolkit}#{section}"))
    }

    fn question_about_account(&self, toolkit: &str) -> ElicitRequestParams {
        let message = format!(
            "The toolkit {toolkit} acts with an account of yours. Connect it on the page that this link opens; its tokens \
             stay with the server at {} and do not go through this application.",
            self.base_url.host_str().unwrap_or_default()
        );
        link_question(message, below(&self.base_url, &format!("/ui/toolkits/{toolkit}#account")))
    }

    fn question_about_consent(&self, toolkit: &str) -> ElicitRequestParams {
        let message = format!(
            "The toolkit {toolkit} reaches further than you have agreed to. The page that this link opens shows what is \
             new, and has the button to agree; nothing of yours is given to the toolkit before."
        );
        link_question(message, consents::page_of(&self.base_url, toolkit))
    }

    async fn question(&self, user: &User, secret: &OwnSecret) -> Result<ElicitRequestParams, ErrorData> {
        let SecretSlot { toolkit, name, .. } = secret.slot();
        let message = format!(
            "The toolkit {toolkit} needs your credential {name}. Set it on the page that this link opens; \
             it goes to the server at {} and not through this application.",
            self.base_url.host_str().unwrap_or_default()
        );
        let link = user.link_to(secret).await.map_err(|cause| {
            error!(%cause, "no link can be given: the vault failed");
            ErrorData::internal_error("the vault cannot be used at the moment", None)
        })?;
        Ok(link_question(message, secret_page::url(&self.base_url, secret, &link)))
    }
}

/// Elicitation request that opens a link.
fn link_question(message: String, url: String) -> ElicitRequestParams {
    ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message,
        url,
        // Identifies the question and not the link: clients may log this id, but would not log a link.
        // Revisions after 2025-11-25 have no such member; their clients ignore it.
        elicitation_id: random_text::<16>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_yes_only_when_nothing_in_it_is_a_no() {
        for (responses, expected) in [
            (json!({}), ElicitationResponse::Nothing),
            (json!({ "A": {}, "B": 7, "C": { "action": "else" } }), ElicitationResponse::Nothing),
            (json!({ "A": { "action": "accept" } }), ElicitationResponse::Opened(vec!["A".to_owned()])),
            (
                json!({ "A": { "action": "accept" }, "B": { "action": "decline" } }),
                ElicitationResponse::Declined,
            ),
            (json!({ "A": { "action": "cancel" } }), ElicitationResponse::Declined),
        ] {
            let responses = serde_json::from_value(responses).expect("responses");

            assert_eq!(ElicitationResponse::of(Some(&responses)), expected, "{responses:?}");
        }
        assert_eq!(ElicitationResponse::of(None), ElicitationResponse::Nothing);
    }
}
