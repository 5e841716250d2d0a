//! The error envelope that a client receives for a failed call, and all error texts that do not come from the
//! toolkit's author.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::{self, Schema};
use crate::{credentials, mismatch};

/// The error envelope: `{ ok: false, code, error, retryable }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    ok: bool,
    /// Type of failure.
    pub code: ErrorCode,
    /// Message for the model.
    pub error: String,
    /// Whether the model should consider trying again.
    pub retryable: bool,
}

/// Types of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The handler failed, or was terminated.
    ToolError,
    /// The arguments do not fit the tool's input; the handler never ran.
    InvalidParams,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::ToolError => "TOOL_ERROR",
            Self::InvalidParams => "INVALID_PARAMS",
        })
    }
}

impl Failure {
    /// Creates a failure with a message for the model; not retryable.
    pub fn tool_error(message: impl Into<String>) -> Self {
        Self { ok: false, code: ErrorCode::ToolError, error: message.into(), retryable: false }
    }

    /// Sets whether a retry may succeed.
    #[must_use]
    pub fn retryable(self, retryable: bool) -> Self {
        Self { retryable, ..self }
    }

    /// Creates the failure for a handler's error that is not for the model. It includes no details.
    pub fn of_handler() -> Self {
        Self::tool_error("The tool failed.")
    }

    /// Creates the failure for arguments that do not fit the input schema.
    pub fn invalid_params(violations: &[String]) -> Self {
        let error = format!("Invalid arguments: {}", violations.join("; "));
        Self { code: ErrorCode::InvalidParams, ..Self::tool_error(error) }
    }

    /// Creates the failure for a structured value that does not fit `output`.
    pub fn output_mismatch(violations: &[String]) -> Self {
        Self::tool_error(mismatch::of_output(violations))
    }

    /// Creates the failure for a result whose content has a hint that clients refuse.
    pub fn invalid_content(problem: &str) -> Self {
        Self::tool_error(format!("The tool's result is not valid: {problem}"))
    }

    /// Creates the failure for a result that is larger than the limit.
    pub fn result_too_large() -> Self {
        Self::tool_error("The tool's result is too large.")
    }

    /// Creates the failure for a call that was terminated at its deadline. The message includes the limit: it
    /// is not secret, and it helps the model to request less.
    pub fn deadline(limit: Duration) -> Self {
        Self::tool_error(format!("The tool ran longer than {} s and was stopped.", limit.as_secs_f64()))
    }

    /// Creates the failure for a call that was terminated at another limit, which the message names.
    pub fn limit(limit: &str) -> Self {
        Self::tool_error(format!("The tool reached its {limit} and was stopped."))
    }

    /// Creates the failure for a sign-in without the credentials of `auth` that the user has to set.
    pub fn missing_credentials(toolkit: &str, names: &[String]) -> Self {
        Self::tool_error(credentials::not_set(toolkit, names))
    }

    /// Creates the failure for a token endpoint that refused the credentials of `auth`. `code` is the OAuth
    /// error code of the response; the message omits a code that [`token_error`] does not know.
    pub fn refused_credentials(toolkit: &str, names: &[String], host: &str, status: u16, code: &str) -> Self {
        let code = token_error(code).map(|code| format!(" ({code})")).unwrap_or_default();
        let commands = credentials::set_commands(toolkit, names);
        Self::tool_error(format!(
            "The token endpoint {host} refused the credentials {} with HTTP status {status}{code}. \
             Set them with: {commands}",
            credentials::listed(names)
        ))
    }

    /// Creates the failure for a token endpoint that did not return a usable token.
    pub fn unusable_token(host: &str, reason: &str) -> Self {
        Self::tool_error(format!("The answer of the token endpoint {host} cannot be used: {reason}."))
    }

    /// Creates the failure for a token endpoint that is out of order, with the status of its response, or that
    /// cannot be reached.
    pub fn token_endpoint_down(host: &str, status: Option<u16>) -> Self {
        let problem = status.map_or_else(
            || "cannot be reached".to_owned(),
            |status| format!("answered with HTTP status {status}"),
        );
        Self::tool_error(format!("The token endpoint {host} {problem}. Try again later.")).retryable(true)
    }

    /// Creates the failure for a sign-in that the server itself cannot complete at the moment.
    pub fn sign_in_busy() -> Self {
        Self::tool_error("The server cannot sign in for this tool at the moment. Try again in a moment.")
            .retryable(true)
    }

    /// Creates the failure for a credential of `auth` with an unusable value. `reason` completes the sentence
    /// "it …", such as `has a colon`.
    pub fn unusable_credential(toolkit: &str, name: &str, reason: &str) -> Self {
        let command = credentials::set_commands(toolkit, &[name]);
        Self::tool_error(format!("The credential {name} cannot be used: it {reason}. Set it with: {command}"))
    }

    /// Creates the failure for a user without a connected account.
    pub fn no_account(toolkit: &str, host: &str) -> Self {
        Self::tool_error(format!(
            "This tool acts with your account at {host}, and none is connected. {}",
            credentials::connect(toolkit)
        ))
    }

    /// Creates the failure for a connected account that is no longer valid, for a reason such as
    /// `it was revoked`.
    pub fn account_ended(toolkit: &str, host: &str, reason: &str) -> Self {
        Self::tool_error(format!(
            "Your account at {host} is no longer connected: {reason}. {}",
            credentials::connect(toolkit)
        ))
    }

    /// Creates the failure for a connected account that the API refuses and that cannot be renewed.
    pub fn account_refused(toolkit: &str, host: &str, status: u16) -> Self {
        Self::tool_error(format!(
            "{host} did not accept your connected account (HTTP status {status}). It may have been revoked, or lack \
             a permission. {}",
            credentials::connect(toolkit)
        ))
    }

    /// Creates the failure for a call that was not started because too many are running.
    pub fn busy() -> Self {
        Self::tool_error("Too many calls are running at the moment. Try again in a moment.").retryable(true)
    }
}

/// Returns a warning for the author if a tool's text is much longer than its structured value. Some clients
/// (Claude Code, VS Code) give the model only the structured value.
pub fn text_warning(tool: &str, text_bytes: usize, structured: Option<&Value>) -> Option<String> {
    /// Length of a text that may express the value in sentences, in bytes.
    const MAX_SENTENCES: usize = 300;

    let value = structured?.to_string();
    (text_bytes > MAX_SENTENCES + 2 * value.len()).then(|| {
        format!(
            "the text of {tool:?} says much more than its structured value, which some clients give to the model alone: put into structured what the model needs"
        )
    })
}

/// Problem with the successful response of a token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenProblem {
    /// The body is not a JSON object, or has no token.
    NoToken,
    /// The token type is not Bearer.
    NotBearer,
    /// The token has characters that are not allowed in a header.
    NotAHeaderValue,
}

impl TokenProblem {
    /// Returns the reason for [`Failure::unusable_token`].
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoToken => "it is no JSON object with access_token",
            Self::NotBearer => "its token_type is not Bearer",
            Self::NotAHeaderValue => "its access_token cannot stand in a header",
        }
    }
}

/// Problem with the value of a credential that is to be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialProblem {
    /// The value has characters that are not allowed in a header.
    NotAHeaderValue,
    /// The value is a user name with a colon (RFC 7617, section 2).
    Colon,
}

impl CredentialProblem {
    /// Returns the reason for [`Failure::unusable_credential`].
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotAHeaderValue => "has characters that a header cannot have",
            Self::Colon => "has a colon, which separates it from the password",
        }
    }
}

/// Returns a token endpoint's error code if it is a known one (RFC 6749, section 5.2, and common additions).
/// Others are dropped: an endpoint could return a credential there, which would then be logged.
pub fn token_error(code: &str) -> Option<&'static str> {
    const CODES: [&str; 12] = [
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
        "server_error",
        "temporarily_unavailable",
        "bad_refresh_token",
        "invalid_refresh_token",
        "token_expired",
        "token_revoked",
    ];
    CODES.into_iter().find(|known| *known == code)
}

/// Checks the arguments of a call.
pub fn check_arguments(input: &Schema, arguments: &Value) -> Result<(), Failure> {
    let violations = input.violations(arguments);
    if violations.is_empty() { Ok(()) } else { Err(Failure::invalid_params(&violations)) }
}

/// Checks the structured value of a result, given as JSON, against `output`. Returns the value for the
/// client; `None` if `output` is not declared or there is no value.
pub fn check_structured(output: Option<&Schema>, structured: Option<&str>) -> Result<Option<Value>, Failure> {
    let (Some(schema), Some(json)) = (output, structured) else { return Ok(None) };
    let violations = match schema::parse(json) {
        Err(violation) => vec![violation],
        Ok(value) => match schema.violations(&value) {
            violations if violations.is_empty() => return Ok(Some(value)),
            violations => violations,
        },
    };
    Err(Failure::output_mismatch(&violations))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_envelope_has_its_members_in_order() {
        let failure = Failure::tool_error("Closed.").retryable(true);

        let envelope = serde_json::to_string(&failure).expect("it serialises");

        assert_eq!(envelope, r#"{"ok":false,"code":"TOOL_ERROR","error":"Closed.","retryable":true}"#);
    }

    #[test]
    fn a_text_that_says_much_more_than_its_structured_value_is_told() {
        let counts = json!({ "added": 1 });

        assert_eq!(text_warning("diff", 300, Some(&counts)), None);
        assert_eq!(text_warning("diff", 10_000, None), None);
        assert_eq!(text_warning("diff", 10_000, Some(&json!({ "diff": "x".repeat(9000) }))), None);
        let warning = text_warning("diff", 1000, Some(&counts)).expect("a warning");
        assert!(warning.starts_with("the text of \"diff\" says much more"), "{warning}");
    }

    #[test]
    fn credentials_that_are_missing_or_refused_are_named_with_the_command_that_sets_them() {
        let names = ["ID".to_owned(), "SECRET".to_owned()];
        let both = "kitbag secret set books ID --from-stdin and kitbag secret set books SECRET --from-stdin";

        for (failure, error) in [
            (
                Failure::missing_credentials("books", &names[..1]),
                "The credential ID is not set. Set it with: kitbag secret set books ID --from-stdin"
                    .to_owned(),
            ),
            (
                Failure::missing_credentials("books", &names),
                format!("The credentials ID and SECRET are not set. Set them with: {both}"),
            ),
            (
                Failure::refused_credentials("books", &names, "auth.example", 401, "invalid_client"),
                format!(
                    "The token endpoint auth.example refused the credentials ID and SECRET \
                     with HTTP status 401 (invalid_client). Set them with: {both}"
                ),
            ),
        ] {
            assert_eq!(failure, Failure::tool_error(error));
        }
        let odd = Failure::refused_credentials("books", &names, "auth.example", 400, "canary");
        assert!(odd.error.contains("status 400. Set") && !odd.error.contains("canary"), "{}", odd.error);
    }

    #[test]
    fn arguments_and_structured_values_that_do_not_fit_are_failures() {
        let schema = Schema::compile(&json!({ "type": "object", "required": ["a"] })).expect("it is valid");
        let error = |result: Result<Option<Value>, Failure>| result.expect_err("it does not fit").error;

        let failure = check_arguments(&schema, &json!({})).expect_err("a is missing");
        assert_eq!(failure.code, ErrorCode::InvalidParams);
        assert_eq!(failure.error, "Invalid arguments: /: \"a\" is a required property");
        assert_eq!(
            error(check_structured(Some(&schema), Some("{}"))),
            "The tool's structured result does not match its output schema: /: \"a\" is a required property"
        );
        assert!(error(check_structured(Some(&schema), Some("{"))).ends_with("/: not valid JSON"));
        assert_eq!(check_structured(None, Some("{}")), Ok(None));
        assert_eq!(check_structured(Some(&schema), Some(r#"{"a":1}"#)), Ok(Some(json!({ "a": 1 }))));
    }
}
