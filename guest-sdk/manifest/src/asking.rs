//! Error texts of questions to the calling user.

/// Whoever calls cannot be asked.
pub const UNSUPPORTED: &str = "This tool asks its user a question, and they cannot be asked here: their client shows no forms (elicitation in form mode).";

/// The question breaks a rule, which `reason` names. For the log.
pub fn refused(reason: &str) -> String {
    format!("the question cannot be asked: {reason}")
}

/// The answer does not fit the question.
pub fn unfit(key: &str, reason: &str) -> String {
    format!("the answer to the question {key}: {reason}")
}
