//! Removes the secrets of a caller from documents before they are stored.

use std::borrow::Cow;

use super::{DocumentText, NewDocument};
use crate::Problems;
use crate::redaction::Redactor;

/// Redacts secrets in texts. A URL or key that contains a secret is refused instead: a redacted one would
/// identify another document, or point elsewhere.
pub fn clean(mut documents: Vec<NewDocument>, redactor: &Redactor) -> Result<Vec<NewDocument>, Problems> {
    let mut problems = Problems::default();
    for (index, document) in documents.iter_mut().enumerate() {
        for DocumentText { field, is_fixed, text } in document.texts() {
            if !is_fixed {
                // The knowledge base drops NULs, which would join the parts of a secret.
                text.retain(|letter| letter != '\0');
                redactor.redact_string(text);
                continue;
            }
            // URL parsers drop these characters, so a secret must be found across them.
            let read = text.replace(['\t', '\n', '\r', '\0'], "");
            if matches!(redactor.redact(&read), Cow::Owned(_)) {
                let message = "holds a secret of the user, which must not be stored: leave it out";
                problems.add(format!("documents[{index}].{field}"), message);
            }
        }
    }
    if problems.0.is_empty() { Ok(documents) } else { Err(problems) }
}
