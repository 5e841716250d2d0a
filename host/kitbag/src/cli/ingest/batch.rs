//! Batches of documents, and uploads of files, to the server.

use http::Method;
use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded::Serializer;

use super::{Content, Document, File, Stored, Target};
use crate::cli::client::{Failed, GraphqlFailure};
use crate::cli::error::CliError;

/// Largest number of documents per batch.
const MAX_DOCUMENTS: usize = 200;
/// Largest total size of the texts of a batch, in bytes.
const MAX_BATCH_BYTES: usize = 8 << 20;
/// Largest file, in bytes: it is in memory while it is sent.
const MAX_FILE_BYTES: u64 = 256 << 20;

const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!, $collection: String) {
  ingest(documents: $documents, collection: $collection) { documents { id change } }
}";

/// Documents of one request, each with its name for messages.
#[derive(Default)]
pub(super) struct Batch {
    documents: Vec<(String, Document)>,
    bytes: usize,
}

type Outcomes = Vec<(String, Result<Stored, String>)>;

impl Batch {
    pub(super) fn is_full_with(&self, next: &Document) -> bool {
        self.documents.len() >= MAX_DOCUMENTS || self.bytes + size(next) > MAX_BATCH_BYTES
    }

    pub(super) fn add(&mut self, name: String, document: Document) {
        self.bytes += size(&document);
        self.documents.push((name, document));
    }

    /// Sends the batch. The server stores all documents or none: rejected ones are removed, and the others
    /// are sent again.
    pub(super) async fn send(mut self, target: &Target<'_>) -> Result<Outcomes, CliError> {
        #[derive(Deserialize)]
        struct IngestResponse {
            ingest: Ingested,
        }
        #[derive(Deserialize)]
        struct Ingested {
            documents: Vec<Stored>,
        }

        let mut outcomes = Vec::new();
        while !self.documents.is_empty() {
            let documents: Vec<_> = self.documents.iter().map(|(_, document)| document).collect();
            let variables = json!({ "documents": documents, "collection": target.collection });
            match target.client.ask(INGEST, variables).await {
                Ok(IngestResponse { ingest }) => {
                    let names = self.documents.drain(..).map(|(name, _)| name);
                    outcomes.extend(names.zip(ingest.documents.into_iter().map(Ok)));
                }
                Err(GraphqlFailure::Refused(refusal)) => {
                    let refused = refused(&refusal, self.documents.len());
                    if refused.is_empty() {
                        return Err(GraphqlFailure::Refused(refusal).into());
                    }
                    for (index, reason) in refused.into_iter().rev() {
                        outcomes.push((self.documents.remove(index).0, Err(reason)));
                    }
                }
                Err(GraphqlFailure::Failed(error)) => return Err(error),
            }
        }
        Ok(outcomes)
    }
}

/// Uploads a file unchanged.
pub(super) async fn upload(target: &Target<'_>, file: File) -> Result<Result<Stored, String>, CliError> {
    let File { content, about } = file;
    let (name, bytes) = match content.read() {
        Ok(read) => read,
        Err(reason) => return Ok(Err(reason)),
    };
    let path = address(&name, &about, target.collection.as_deref());
    match target.client.try_send(Method::POST, &path, "application/octet-stream", bytes).await {
        Ok(stored) => Ok(Ok(stored)),
        Err(Failed::Refused(error)) => Ok(Err(error.to_string())),
        Err(Failed::Unreachable(error)) => Err(error),
    }
}

/// Builds the upload path for a file, with its metadata as query parameters.
fn address(name: &str, about: &Document, collection: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("name", name);
    query.extend_pairs(collection.map(|id| ("collection", id)));
    if !about.title_is_name {
        query.append_pair("title", &about.title);
    }
    query.extend_pairs(about.url.iter().map(|url| ("url", url)));
    query.extend_pairs(about.author.iter().map(|author| ("author", author)));
    query.extend_pairs(about.mime_type.iter().map(|media_type| ("mimeType", media_type)));
    if about.capture_only {
        query.append_pair("captureOnly", "true");
    }
    if let Some(feed) = &about.feed {
        query.append_pair("feedKey", &feed.key).append_pair("feedName", &feed.name);
    }
    format!("/documents/file?{}", query.finish())
}

impl Content {
    /// Returns the file name and the bytes.
    fn read(self) -> Result<(String, Vec<u8>), String> {
        let path = match self {
            Self::Path(path) => path,
            Self::Bytes { name, bytes } => return Ok((name, bytes)),
        };
        let size = std::fs::metadata(&path).map_err(|error| error.to_string())?.len();
        if size > MAX_FILE_BYTES {
            return Err(format!("is larger than {MAX_FILE_BYTES} bytes"));
        }
        let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
        Ok((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes))
    }
}

/// Rejected documents of a batch, in order, by index and with the reason.
fn refused(refusal: &crate::cli::client::GraphqlError, count: usize) -> Vec<(usize, String)> {
    let mut refused: Vec<(usize, String)> = Vec::new();
    for problem in refusal.problems() {
        let Some((index, field)) = place(&problem.path) else { continue };
        if index >= count {
            continue;
        }
        let reason = format!("{field}: {}", problem.message);
        match refused.iter_mut().find(|(known, _)| *known == index) {
            Some((_, reasons)) => *reasons = format!("{reasons}; {reason}"),
            None => refused.push((index, reason)),
        }
    }
    refused.sort_by_key(|(index, _)| *index);
    refused
}

/// Parses the path of a problem: `documents[3].title` → 3, `title`.
fn place(path: &str) -> Option<(usize, &str)> {
    let (index, rest) = path.strip_prefix("documents[")?.split_once(']')?;
    Some((index.parse().ok()?, rest.trim_start_matches('.')))
}

fn size(document: &Document) -> usize {
    document.text.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_told_by_document() {
        let refusal = serde_json::from_value(json!({
            "message": "refused",
            "extensions": { "problems": [
                { "path": "documents[2].url", "message": "must be absolute" },
                { "path": "documents[0].title", "message": "must not be empty" },
                { "path": "documents[2].text", "message": "is required" },
                { "path": "documents[9].text", "message": "of no document" },
                { "path": "documents", "message": "of all" },
            ] },
        }));

        let refused = refused(&refusal.expect("a refusal"), 3);

        assert_eq!(
            refused,
            [
                (0, "title: must not be empty".to_owned()),
                (2, "url: must be absolute; text: is required".to_owned())
            ]
        );
    }
}
