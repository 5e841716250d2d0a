//! Removes the secrets of a caller from documents before they are stored.

use std::borrow::Cow;

use super::NewDocument;
use crate::Problems;
use crate::redaction::Redactor;

/// Redacts secrets in texts. A URL or key that contains a secret is refused instead: a redacted one would
/// identify another document, or point elsewhere.
pub fn clean(mut documents: Vec<NewDocument>, redactor: &Redactor) -> Result<Vec<NewDocument>, Problems> {
    let mut problems = Problems::default();
    for (index, document) in documents.iter_mut().enumerate() {
        let NewDocument {
            title,
            title_is_name: _,
            text,
            url,
            author,
            file_url,
            audio_url,
            mime_type,
            capture_only: _,
            feed,
        } = document;
        let (key, name, label) = match feed {
            Some(feed) => (Some(&feed.key), Some(&mut feed.name), feed.label.as_mut()),
            None => (None, None, None),
        };
        let addresses = [
            ("url", url.as_ref()),
            ("fileUrl", file_url.as_ref()),
            ("audioUrl", audio_url.as_ref()),
            ("mimeType", mime_type.as_ref()),
            ("feed.key", key),
        ];
        for (field, value) in addresses {
            let holds_one = |value: &String| {
                // URL parsers drop these characters, so a secret must be found across them.
                let read = value.replace(['\t', '\n', '\r', '\0'], "");
                matches!(redactor.redact(&read), Cow::Owned(_))
            };
            if value.is_some_and(holds_one) {
                let message = "holds a secret of the user, which must not be stored: leave it out";
                problems.add(format!("documents[{index}].{field}"), message);
            }
        }
        let texts = [Some(title), text.as_mut(), author.as_mut(), name, label];
        for text in texts.into_iter().flatten() {
            // The knowledge base drops NULs, which would join the parts of a secret.
            text.retain(|letter| letter != '\0');
            redactor.redact_string(text);
        }
    }
    if problems.0.is_empty() { Ok(documents) } else { Err(problems) }
}
