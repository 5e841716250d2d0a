//! Removes the caller's secrets from documents before they are stored.

use std::sync::Arc;

use kitbag_base::tasks::off_thread;
use kitbag_knowledge::NewDocument;
use kitbag_manifest::{Problems, documents};
use kitbag_vault::UserSecrets;
use kitbag_vault::outbound_auth::AttachedTokens;

/// Maximum size of documents that are redacted on the current thread, in bytes. Larger ones are redacted on a
/// blocking thread.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// Removes the secrets from documents, as [`documents::clean`] does.
pub(super) async fn documents(
    mut documents: Vec<NewDocument>,
    secrets: &Arc<UserSecrets>,
    tokens: &AttachedTokens,
) -> Result<Vec<NewDocument>, Problems> {
    let redactor = tokens.redactor_with(secrets);
    if redactor.is_empty() {
        return Ok(documents);
    }
    let size: usize = documents.iter_mut().flat_map(NewDocument::texts).map(|it| it.text.len()).sum();
    let clean = move || documents::clean(documents, &redactor);
    if size > MAX_INLINE_BYTES { off_thread(clean).await } else { clean() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use kitbag_knowledge::NewFeed;
    use secrecy::SecretString;

    use super::*;

    const SECRET: &str = "s3cr3t-value";

    /// The sources of the secret: a secret of the caller, or a token attached by the host.
    fn sources() -> [(Arc<UserSecrets>, AttachedTokens); 2] {
        let value = || SecretString::from(SECRET);
        let secrets = UserSecrets::of(HashMap::from([(("books".to_owned(), "KEY".to_owned()), value())]));
        [(Arc::new(secrets), AttachedTokens::default()), (Arc::default(), AttachedTokens::of(value()))]
    }

    #[tokio::test]
    async fn no_text_keeps_a_secret_however_large_it_is() {
        for (padding, (secrets, tokens)) in
            [0, MAX_INLINE_BYTES].into_iter().flat_map(|it| sources().map(|of| (it, of)))
        {
            let text = || format!("a {SECRET}");
            let document = NewDocument {
                title: text(),
                text: Some(format!("{}{}", "-".repeat(padding), text())),
                url: Some("https://a.example/".into()),
                author: Some(text()),
                feed: Some(NewFeed { key: "k".into(), name: text(), label: Some(text()) }),
                ..NewDocument::default()
            };

            let clean = documents(vec![document], &secrets, &tokens).await.expect("no address holds it");

            let shown = format!("{clean:?}");
            assert!(!shown.contains(SECRET) && shown.matches("a [redacted]").count() == 5, "{shown:.300}");
            assert_eq!(clean[0].url.as_deref(), Some("https://a.example/"));
        }
    }

    #[tokio::test]
    async fn a_value_is_not_hidden_by_what_is_dropped_later() {
        for (secrets, tokens) in sources() {
            let parted = |by: &str| format!("{}{by}{}", &SECRET[..4], &SECRET[4..]);
            let text = NewDocument { text: Some(parted("\0")), ..NewDocument::default() };
            let address = format!("https://a.example/{}", parted("\t"));
            let address = NewDocument { file_url: Some(address), ..NewDocument::default() };

            let clean = documents(vec![text], &secrets, &tokens).await.expect("no address holds it");
            let refused = documents(vec![address], &secrets, &tokens).await;

            assert_eq!(clean[0].text.as_deref(), Some("[redacted]"));
            assert!(refused.is_err(), "{refused:?}");
        }
    }

    #[tokio::test]
    async fn an_address_with_a_secret_is_refused_and_the_refusal_does_not_quote_it() {
        for (secrets, tokens) in sources() {
            let url = || Some(format!("https://a.example/?key={SECRET}"));
            let feed = Some(NewFeed { key: SECRET.into(), name: "Feed".into(), label: None });
            let first = NewDocument { url: url(), file_url: url(), feed, ..NewDocument::default() };
            let second =
                NewDocument { audio_url: url(), mime_type: Some(SECRET.into()), ..NewDocument::default() };

            let problems = documents(vec![first, second], &secrets, &tokens).await.expect_err("they hold it");

            let paths: Vec<_> = problems.0.iter().map(|problem| problem.path.as_str()).collect();
            assert_eq!(
                paths,
                [
                    "documents[0].url",
                    "documents[0].fileUrl",
                    "documents[0].feed.key",
                    "documents[1].audioUrl",
                    "documents[1].mimeType",
                ]
            );
            assert!(!problems.to_string().contains(SECRET), "{problems}");
        }
    }
}
