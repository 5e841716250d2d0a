//! Removes the caller's secrets from documents before they are stored.

use std::sync::Arc;

use kitbag_base::redaction::Redactor;
use kitbag_base::workers::Workers;
use kitbag_knowledge::NewDocument;
use kitbag_manifest::{Problems, documents};

/// Removes the secrets from a user's documents, as [`documents::clean`] does; from large ones on a thread of
/// `workers`.
pub(super) async fn documents(
    mut documents: Vec<NewDocument>,
    redactor: Arc<Redactor>,
    workers: &Workers,
    user: &str,
) -> Result<Vec<NewDocument>, Problems> {
    if redactor.is_empty() {
        return Ok(documents);
    }
    let size = documents.iter_mut().flat_map(NewDocument::texts).map(|it| it.text.len()).sum();
    workers.run(user, size, move || documents::clean(documents, &redactor)).await
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use futures::FutureExt;
    use kitbag_base::tasks::take_a_share;
    use kitbag_base::workers::INLINE_BYTES;
    use kitbag_knowledge::NewFeed;
    use kitbag_vault::UserSecrets;
    use kitbag_vault::outbound_auth::AttachedTokens;
    use secrecy::SecretString;

    use super::*;

    const SECRET: &str = "s3cr3t-value";

    /// Redactors of the sources of the secret: a secret of the caller, or a token attached by the host.
    fn sources() -> [Arc<Redactor>; 2] {
        let value = || SecretString::from(SECRET);
        let secrets = UserSecrets::of(HashMap::from([(("books".to_owned(), "KEY".to_owned()), value())]));
        [(secrets, AttachedTokens::default()), (UserSecrets::default(), AttachedTokens::of(value()))]
            .map(|(secrets, tokens)| tokens.redactor_with(&secrets))
    }

    fn workers() -> Workers {
        Workers::start("worker", take_a_share).expect("threads can be started")
    }

    /// Cleans documents of one user.
    async fn cleaned(
        documents: Vec<NewDocument>,
        redactor: &Arc<Redactor>,
    ) -> Result<Vec<NewDocument>, Problems> {
        super::documents(documents, redactor.clone(), &workers(), "ana").await
    }

    #[tokio::test]
    async fn large_documents_wait_for_their_users_turn_and_small_ones_do_not() {
        let workers = workers();
        let [redactor, _] = sources();
        let of_size = |size| vec![NewDocument { text: Some("-".repeat(size)), ..NewDocument::default() }];
        let clean = |user, size| documents(of_size(size), redactor.clone(), &workers, user);
        let (go_on, gate) = std::sync::mpsc::channel::<()>();
        let mut running = Box::pin(workers.run_in_turn("ana", move || gate.recv()));
        assert!((&mut running).now_or_never().is_none());

        let mut large = Box::pin(clean("ana", INLINE_BYTES + 1));
        assert!((&mut large).now_or_never().is_none());
        clean("ana", INLINE_BYTES).now_or_never().expect("little is done at once").expect("no address");
        clean("ben", INLINE_BYTES + 1).await.expect("no address");
        assert!((&mut large).now_or_never().is_none(), "one piece of ana at a time");

        go_on.send(()).expect("it waits");
        large.await.expect("no address");
    }

    #[tokio::test]
    async fn no_text_keeps_a_secret_however_large_it_is() {
        for (padding, redactor) in [0, INLINE_BYTES].into_iter().flat_map(|it| sources().map(|of| (it, of))) {
            let text = || format!("a {SECRET}");
            let document = NewDocument {
                title: text(),
                text: Some(format!("{}{}", "-".repeat(padding), text())),
                url: Some("https://a.example/".into()),
                author: Some(text()),
                feed: Some(NewFeed { key: "k".into(), name: text(), label: Some(text()) }),
                ..NewDocument::default()
            };

            let clean = cleaned(vec![document], &redactor).await.expect("no address holds it");

            let shown = format!("{clean:?}");
            assert!(!shown.contains(SECRET) && shown.matches("a [redacted]").count() == 5, "{shown:.300}");
            assert_eq!(clean[0].url.as_deref(), Some("https://a.example/"));
        }
    }

    #[tokio::test]
    async fn a_value_is_not_hidden_by_what_is_dropped_later() {
        for redactor in sources() {
            let parted = |by: &str| format!("{}{by}{}", &SECRET[..4], &SECRET[4..]);
            let text = NewDocument { text: Some(parted("\0")), ..NewDocument::default() };
            let address = format!("https://a.example/{}", parted("\t"));
            let address = NewDocument { file_url: Some(address), ..NewDocument::default() };

            let clean = cleaned(vec![text], &redactor).await.expect("no address holds it");
            let refused = cleaned(vec![address], &redactor).await;

            assert_eq!(clean[0].text.as_deref(), Some("[redacted]"));
            assert!(refused.is_err(), "{refused:?}");
        }
    }

    #[tokio::test]
    async fn an_address_with_a_secret_is_refused_and_the_refusal_does_not_quote_it() {
        for redactor in sources() {
            let url = || Some(format!("https://a.example/?key={SECRET}"));
            let feed = Some(NewFeed { key: SECRET.into(), name: "Feed".into(), label: None });
            let first = NewDocument { url: url(), file_url: url(), feed, ..NewDocument::default() };
            let second =
                NewDocument { audio_url: url(), mime_type: Some(SECRET.into()), ..NewDocument::default() };

            let problems = cleaned(vec![first, second], &redactor).await.expect_err("they hold it");

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
