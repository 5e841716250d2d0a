//! `index` jobs: bodies → chunks.

use futures::{StreamExt, stream};
use kitbag_base::tasks::Interrupted;
use tokio::task::spawn_blocking;
use tracing::error;

use super::Context;
use crate::passages::Splitter;
use crate::search::last_segment;
use crate::store::{Failed, Kind, NewChunk, Subject};
use crate::words;

/// Largest number of documents whose chunks are written in one transaction.
const MAX_ROUND_DOCUMENTS: usize = 64;
/// Approximate number of bytes of text that are split before they are written, at least one document. A write
/// transaction blocks other writers.
const MAX_ROUND_BYTES: usize = 2 << 20;
/// Largest number of documents that are split at the same time.
const MAX_CONCURRENT: usize = 2;

/// Runs due jobs forever; each document then gets a job of kind `next`.
pub(super) async fn run(context: Context, splitter: Splitter, next: Option<Kind>) {
    let mut last_holder = String::new();
    loop {
        context.room().await;
        match round(&context, &splitter, next, &mut last_holder).await {
            Ok(0) => context.rest(Kind::Index, 0).await,
            Ok(_) => {}
            Err(cause) => context.failed(Kind::Index, &cause).await,
        }
    }
}

/// Indexes some documents, the same number of each holder. Returns the number of jobs that were examined.
pub(super) async fn round(
    context: &Context,
    splitter: &Splitter,
    next: Option<Kind>,
    last_holder: &mut String,
) -> kitbag_database::Result<usize> {
    let mut taken = 0;
    let mut bytes = 0;
    let mut bodies = Vec::new();
    for mut job in context.take(Kind::Index, last_holder, MAX_ROUND_DOCUMENTS).await? {
        job.holder.key().clone_into(last_holder);
        taken += 1;
        // A document that was deleted has no job any more.
        let Some(subject) = context.store.subject(&job).await? else { continue };
        job.revision = subject.revision;
        let (title, text) = indexed(subject);
        bytes += title.len() + text.len();
        bodies.push((job, title, text));
        if bytes >= MAX_ROUND_BYTES {
            // The remaining jobs are given back before the next ones are claimed.
            break;
        }
    }
    let mut split = stream::iter(bodies.into_iter().map(|(job, title, text)| {
        let splitter = splitter.clone();
        async move {
            let chunks = spawn_blocking(move || chunks(&splitter, &title, &text)).await;
            (job, chunks.map_err(Interrupted::from))
        }
    }))
    .buffered(MAX_CONCURRENT);
    let mut done = Vec::new();
    while let Some((job, chunks)) = split.next().await {
        match chunks {
            Ok(chunks) => done.push((job, chunks)),
            Err(cause) => {
                error!(document = job.document, %cause, "a document cannot be split");
                let reason = "its text could not be indexed: this is a fault of the server";
                let failed = Failed { reason, ..Failed::default() };
                context.store.give_up(Kind::Index, &job, failed).await?;
            }
        }
    }
    if !done.is_empty() {
        context.store.put_chunks(&done, next).await?;
        if let Some(next) = next {
            context.wakes.wake(next);
        }
    }
    Ok(taken)
}

fn chunks(splitter: &Splitter, title: &str, text: &str) -> Vec<NewChunk> {
    let passages = splitter.split(title, text);
    passages.into_iter().map(|passage| NewChunk { text: passage.text, terms: passage.terms }).collect()
}

/// Title and text to index: the title with the name of the file, if that is another one; and the body, or the
/// document's metadata if there is no body.
fn indexed(subject: Subject) -> (String, String) {
    let title = match subject.file_name.filter(|name| *name != subject.title) {
        Some(name) => format!("{} {name}", subject.title),
        None => subject.title,
    };
    let known = [subject.author, subject.url, file_name(subject.file_url.as_deref()), subject.file_url];
    let body = subject.body;
    let text = if body.trim().is_empty() {
        known.into_iter().flatten().collect::<Vec<_>>().join("\n")
    } else {
        body
    };
    (words::plain(&title).into_owned(), words::plain(&text).into_owned())
}

/// Words of the last segment of a URL's path.
fn file_name(url: Option<&str>) -> Option<String> {
    Some(last_segment(url?)?.replace(['-', '_', '.', '+'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::TitleOrigin;

    #[test]
    fn what_has_no_body_is_found_by_what_is_known_of_it() {
        let file_url = "https://a.example/files/annual_report-2025%20final.pdf?x=y".to_owned();
        let subject = Subject {
            revision: 1,
            source: "user".to_owned(),
            title: "Report".to_owned(),
            title_origin: TitleOrigin::File,
            file_name: Some("r-2025".to_owned()),
            url: None,
            author: Some("Ana".to_owned()),
            file_url: Some(file_url.clone()),
            claimed_type: None,
            capture_only: true,
            artifact: None,
            body: " ".to_owned(),
        };

        let (title, text) = indexed(subject.clone());
        let (_, with_body) = indexed(Subject { body: "The body.".to_owned(), ..subject });

        assert_eq!(title, "Report r-2025");
        assert_eq!(text, format!("Ana\nannual report 2025 final pdf\n{file_url}"));
        assert_eq!(with_body, "The body.");
    }
}
