//! Validates documents by the rules of `kitbag-manifest`, which the SDKs apply in tests too, and adds what
//! storage needs.

use kitbag_manifest::Problems;
use kitbag_manifest::documents::{CheckedDocument, NewDocument, check, check_upload};

use super::ValidDocument;
use super::identity::{content_digest, identity};

/// Checks a batch against every rule, and normalises its documents for storage.
pub(crate) fn validate(documents: Vec<NewDocument>) -> Result<Vec<ValidDocument>, Problems> {
    Ok(check(documents)?.into_iter().map(Into::into).collect())
}

/// Checks one document with an uploaded file; the paths in its problems are field names only.
pub(crate) fn validate_upload(document: NewDocument) -> Result<ValidDocument, Problems> {
    check_upload(document).map(Into::into)
}

impl From<CheckedDocument> for ValidDocument {
    fn from(checked: CheckedDocument) -> Self {
        // The same file under another name is not a change.
        let given_title = if checked.title_is_name { "" } else { checked.title.as_str() };
        let identity = identity(checked.identity());
        let digest = content_digest(given_title, &checked.text);
        let CheckedDocument { title, title_is_name, text, url, author, file_url, claimed_type, .. } = checked;
        let CheckedDocument { capture_only, feed, .. } = checked;
        Self {
            title,
            title_is_name,
            text,
            url,
            author,
            file_url,
            upload: None,
            claimed_type,
            capture_only,
            feed,
            identity,
            digest,
        }
    }
}
