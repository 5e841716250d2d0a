//! The user's documents as resources, which clients list and people mention. Resources of toolkits are in
//! `offers`.
//!
//! ```text
//! kitbag://documents/<id>                 the beginning of the text of a document
//! kitbag://documents/<id>?offset=<n>      the text from that character on
//! ```
//!
//! Reading one is a call of the tool `fetch`: checked, redacted and recorded as such.

use std::borrow::Cow;

use jiff::Timestamp;
use kitbag_access::User;
use kitbag_access::values::dispatch::{ErrorCode, Reply};
use kitbag_access::values::knowledge::{KnowledgeError, Listing, StateName};
use kitbag_access::values::knowledge_tools::FETCH;
use rmcp::model::{
    Annotations, ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Map, json};
use tracing::error;
use url::Url;

use super::catalogue::InvalidCursor;

/// Prefix of the URIs of documents.
const PREFIX: &str = "kitbag://documents/";
/// Documents per page.
const PAGE_SIZE: u32 = 100;
/// Media type of the extracted text, whatever the type of the file.
const TEXT: &str = "text/plain";

/// URI of a document, or of its text from an offset.
#[derive(Debug, PartialEq, Eq)]
struct DocumentUri {
    id: String,
    offset: u64,
}

impl DocumentUri {
    /// Parses the URI of a document; `None` if it is not one.
    fn parse(uri: &str) -> Option<Self> {
        let url = Url::parse(uri).ok().filter(|_| uri.starts_with(PREFIX))?;
        let id = url.path().strip_prefix('/').filter(|id| !id.is_empty() && !id.contains('/'))?.to_owned();
        let mut offset = 0;
        for (name, value) in url.query_pairs() {
            if name == "offset" {
                offset = value.parse().ok()?;
            }
        }
        Some(Self { id, offset })
    }
}

/// URI template of all documents (RFC 6570).
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{PREFIX}{{id}}{{?offset}}"), "document")
        .with_title("A document, by its id")
        .with_description(
            "The text of a document that you may read; `offset` leaves out so many characters of it.",
        )
        .with_mime_type(TEXT)
}

/// Returns a page of the user's documents in the state `ready`, newest first.
pub(super) async fn list(user: &User, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let after = cursor.map(str::parse).transpose();
    let after = after.map_err(|_| ErrorData::invalid_params(InvalidCursor.to_string(), None))?;
    let listing = Listing { state: Some(StateName::Ready), after, limit: PAGE_SIZE, ..Listing::default() };
    let own = user.documents().of(None).map_err(|error| failed(&error.into()))?;
    let page = own.list(&listing).await.map_err(|error| failed(&error))?;
    let next = page.documents.last().filter(|_| page.has_more).map(|(cursor, _)| cursor.to_string());
    let titles = page.documents.iter().map(|(_, document)| document.title.clone()).collect();
    let titles = user.redacted(titles).await;
    let titles = titles.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let resources = page.documents.into_iter().zip(titles).map(|((_, document), title)| {
        let mut annotations = Annotations::default();
        annotations.last_modified =
            Timestamp::from_millisecond(document.updated_at).ok().map(|time| time.to_string());
        Resource::new(format!("{PREFIX}{}", document.id), title.clone())
            .with_title(title)
            .with_mime_type(TEXT)
            .with_annotations(annotations)
    });
    let mut result = ListResourcesResult::with_all_items(resources.collect());
    result.next_cursor = next;
    Ok(result)
}

/// Whether a URI has the prefix of documents.
pub(super) fn is_document(uri: &str) -> bool {
    uri.starts_with(PREFIX)
}

/// Reads the text of a document, from the offset in the URI.
pub(super) async fn read(user: &User, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(DocumentUri { id, offset }) = DocumentUri::parse(uri) else {
        return Err(unknown(uri, "unknown resource"));
    };
    let arguments = Map::from_iter([("id".to_owned(), id.into()), ("offset".to_owned(), offset.into())]);
    let reply = user.call(FETCH, arguments, None).await;
    let document = match reply.map_err(|error| ErrorData::internal_error(error.to_string(), None))? {
        Reply::Success(success) => success.structured.unwrap_or_default(),
        Reply::Failure(failure) => {
            let why = failure.envelope.error;
            return Err(match failure.envelope.code {
                ErrorCode::InvalidParams => ErrorData::invalid_params(why, None),
                ErrorCode::ToolError if why == KnowledgeError::NotFound.to_string() => unknown(uri, why),
                ErrorCode::ToolError => ErrorData::internal_error(why, None),
            });
        }
    };
    let text = document["text"].as_str().unwrap_or_default();
    let text = match document["metadata"]["nextOffset"].as_u64() {
        None => Cow::Borrowed(text),
        Some(next) => {
            let id = document["id"].as_str().unwrap_or_default();
            Cow::Owned(format!("{text}\n\n[The text goes on in {PREFIX}{id}?offset={next}]"))
        }
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
}

/// Error for a resource that does not exist or is not visible to the client.
pub(super) fn unknown(uri: &str, why: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::resource_not_found(why, Some(json!({ "uri": uri })))
}

fn failed(cause: &KnowledgeError) -> ErrorData {
    error!(%cause, "documents cannot be listed");
    ErrorData::internal_error("your documents cannot be listed at the moment", None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_one_uri_and_its_parts_have_an_offset() {
        let parsed = |uri: &str| DocumentUri::parse(uri).map(|DocumentUri { id, offset }| (id, offset));

        assert_eq!(parsed("kitbag://documents/d1"), Some(("d1".to_owned(), 0)));
        assert_eq!(parsed("kitbag://documents/d1?offset=50000"), Some(("d1".to_owned(), 50_000)));
        for other in [
            "kitbag://documents/",
            "kitbag://documents/a/b",
            "kitbag://documents/a?offset=-1",
            "kitbag://toolkits/a",
            "https://documents/a",
            "documents/a",
            "",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
