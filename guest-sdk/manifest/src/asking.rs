//! Error texts of questions to the calling user.

/// Error text: the calling client does not support forms (elicitation in form mode).
pub const UNSUPPORTED: &str = "This tool asks its user a question, and they cannot be asked here: their client shows no forms (elicitation in form mode).";

/// Returns the log text for a question that breaks a rule; `reason` names the rule.
pub fn refused(reason: &str) -> String {
    format!("the question cannot be asked: {reason}")
}

/// Returns the error text for an answer that does not fit its question's schema.
pub fn unfit(key: &str, reason: &str) -> String {
    format!("the answer to the question {key}: {reason}")
}
