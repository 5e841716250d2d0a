//! Redacts the caller's secrets in all output of a call.
//!
//! Invariant: all output of the sandbox is redacted here first. Reply, log and traces are created only from
//! the values returned here.

use std::borrow::Cow;
use std::mem::take;
use std::sync::Arc;

use kitbag_base::redaction::Redactor;
use kitbag_base::workers::{INLINE_BYTES, Workers};
use kitbag_manifest::question::Question;
use kitbag_sandbox::capabilities::progress::ProgressReport;
use kitbag_sandbox::contract::{CallError, ToolError, ToolResult};
use kitbag_sandbox::observations::{Transcript, json_or_string};
use kitbag_sandbox::{Ended, Fault, Report};
use kitbag_vault::UserSecrets;
use kitbag_vault::outbound_auth::AttachedTokens;

/// Maximum length of the message of a progress report, in bytes; a longer one is cut.
const MAX_PROGRESS_BYTES: usize = 1024;

/// The threads that redact large texts, in the turn of a user.
#[derive(Clone, Copy)]
pub(super) struct WorkersOf<'a> {
    pub(super) workers: &'a Workers,
    pub(super) user: &'a str,
}

/// Redacts the caller's secrets, and the tokens that the host has attached, in a report.
pub(super) async fn report(
    WorkersOf { workers, user }: WorkersOf<'_>,
    report: Report,
    secrets: &Arc<UserSecrets>,
    tokens: &AttachedTokens,
) -> Report {
    let redactor = tokens.redactor_with(secrets);
    if redactor.is_empty() {
        return report;
    }
    let bytes = size_of_end(&report.ended) + size(&report.log);
    workers.run(user, bytes, move || clean(report, &redactor)).await
}

fn clean(mut report: Report, redactor: &Redactor) -> Report {
    ended(redactor, &mut report.ended);
    transcript(redactor, &mut report.log);
    report
}

/// Redacts the log of a cancelled call.
pub(super) fn cancelled_log(written: &mut Transcript, secrets: &UserSecrets, tokens: &AttachedTokens) {
    transcript(&tokens.redactor_with(secrets), written);
}

/// Whether redaction takes too long for a thread that serves requests.
pub(super) fn is_large(written: &Transcript) -> bool {
    size(written) > INLINE_BYTES
}

/// Redacts one text of a reply.
pub(super) async fn text(
    WorkersOf { workers, user }: WorkersOf<'_>,
    mut text: String,
    secrets: &Arc<UserSecrets>,
) -> String {
    let secrets = secrets.clone();
    let bytes = text.len();
    let clean = move || {
        secrets.redactor().redact_string(&mut text);
        text
    };
    workers.run(user, bytes, clean).await
}

/// Redacts texts of a reply, each by itself.
pub(super) async fn texts(
    workers: WorkersOf<'_>,
    mut texts: Vec<String>,
    secrets: &Arc<UserSecrets>,
) -> Vec<String> {
    for one in &mut texts {
        *one = text(workers, take(one), secrets).await;
    }
    texts
}

fn transcript(redactor: &Redactor, transcript: &mut Transcript) {
    for argument in transcript.entries.iter_mut().flat_map(|entry| &mut entry.arguments) {
        if let Cow::Owned(clean) = redactor.redact_json_text(argument.get()) {
            *argument = json_or_string(&clean);
        }
    }
}

/// Redacts a progress report; returns `None` if its progress value itself contains a secret.
pub(super) fn progress(
    mut report: ProgressReport,
    secrets: &UserSecrets,
    tokens: &AttachedTokens,
) -> Option<ProgressReport> {
    let redactor = tokens.redactor_with(secrets);
    optional(&redactor, &mut report.message);
    if let Some(message) = &mut report.message {
        message.truncate(message.floor_char_boundary(MAX_PROGRESS_BYTES));
    }
    report.total = report.total.filter(|total| !redactor.is_in_number(total));
    Some(report).filter(|report| !redactor.is_in_number(&report.progress))
}

fn ended(redactor: &Redactor, ended: &mut Ended) {
    match ended {
        Ended::Returned(ToolResult { text, structured, content: blocks, messages }) => {
            redactor.redact_string(text);
            json(redactor, structured);
            for block in blocks {
                block.redact(redactor);
            }
            for message in messages {
                message.redact(redactor);
            }
        }
        Ended::Refused(CallError::Tool(ToolError { message, retryable: _, data })) => {
            redactor.redact_string(message);
            json(redactor, data);
        }
        Ended::Refused(CallError::InvalidParams(text) | CallError::Failure(text))
        | Ended::Faulted(Fault::Trap(text)) => redactor.redact_string(text),
        Ended::Asked(id, question) => {
            asked(redactor, question);
            id.key.clone_from(&question.key);
        }
        Ended::Faulted(_) => {}
    }
}

/// Size of the data to redact, in bytes.
fn size_of_end(ended: &Ended) -> usize {
    match ended {
        Ended::Returned(result) => result.size(),
        Ended::Refused(CallError::Tool(ToolError { message, data, .. })) => {
            message.len() + length(data.as_deref())
        }
        Ended::Refused(CallError::InvalidParams(text) | CallError::Failure(text))
        | Ended::Faulted(Fault::Trap(text)) => text.len(),
        Ended::Asked(..) | Ended::Faulted(_) => 0,
    }
}

/// Redacts a question to the user. If the redacted schema is not valid any more, it is replaced by the
/// default one.
fn asked(redactor: &Redactor, question: &mut Question) {
    redactor.redact_string(&mut question.key);
    redactor.redact_string(&mut question.message);
    let schema = serde_json::to_string(&question.schema).expect("JSON always serialises");
    if let Cow::Owned(clean) = redactor.redact_json_text(&schema) {
        question.schema = serde_json::from_str(&clean).unwrap_or_default();
    }
}

fn length(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

fn size(transcript: &Transcript) -> usize {
    let arguments = transcript.entries.iter().flat_map(|entry| &entry.arguments);
    arguments.map(|argument| argument.get().len()).sum()
}

fn optional(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(text) = text {
        redactor.redact_string(text);
    }
}

fn json(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(Cow::Owned(clean)) = text.as_deref().map(|text| redactor.redact_json_text(text)) {
        *text = Some(clean);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use kitbag_base::tasks::take_a_share;
    use kitbag_manifest::content::{
        Content, ContentAnnotations, ContentBlock, EmbeddedResource, Media, PromptMessage, ResourceBody,
        ResourceLink,
    };
    use kitbag_sandbox::observations::{LogEntry, Source, UsageSnapshot, json_string};
    use secrecy::SecretString;

    use super::*;

    const SECRET: &str = "s3cr3t-value";

    /// The sources of the secret: a secret of the caller, or a token attached by the host.
    fn sources() -> [(Arc<UserSecrets>, AttachedTokens); 2] {
        let value = || SecretString::from(SECRET);
        let secrets = UserSecrets::of(HashMap::from([(("books".to_owned(), "KEY".to_owned()), value())]));
        [(Arc::new(secrets), AttachedTokens::default()), (Arc::default(), AttachedTokens::of(value()))]
    }

    async fn redacted(given: Report, secrets: &Arc<UserSecrets>, tokens: &AttachedTokens) -> Report {
        let workers = Workers::start("worker", take_a_share).expect("threads can be started");
        report(WorkersOf { workers: &workers, user: "ana" }, given, secrets, tokens).await
    }

    fn report_of(ended: Ended, logged: &str) -> Report {
        let entry = LogEntry { source: Source::Log, arguments: vec![json_string(logged)] };
        let log = Transcript { entries: vec![entry], dropped: 0 };
        let usage = UsageSnapshot::default();
        let duration = Duration::ZERO;
        Report { ended, log, usage, duration, stages: None, held: None, instance: None }
    }

    /// Returns every kind of content, with the secret in every part of it.
    fn contents() -> Vec<ContentBlock> {
        let text = || format!("a {SECRET}");
        let some = || Some(text());
        let bytes = || [b"\xff".as_slice(), text().as_bytes()].concat();
        let media = || Media { data: bytes(), media_type: text() };
        let resource = |body| Content::Resource(EmbeddedResource { uri: text(), media_type: some(), body });
        let blocks = [
            Content::Image(media()),
            Content::Audio(media()),
            resource(ResourceBody::Text(text())),
            resource(ResourceBody::Blob(bytes())),
            Content::Link(ResourceLink {
                uri: text(),
                name: text(),
                title: some(),
                description: some(),
                media_type: some(),
                size: None,
            }),
        ];
        blocks.map(|content| ContentBlock::new(content).priority(0.5).last_modified(text())).into()
    }

    #[tokio::test]
    async fn no_part_of_a_result_keeps_a_secret_however_large_it_is() {
        for (padding, (secrets, tokens)) in
            [0, INLINE_BYTES].into_iter().flat_map(|it| sources().map(|of| (it, of)))
        {
            let text = format!("{}{SECRET}", "-".repeat(padding));
            let structured = Some(format!(r#"{{"a":"{SECRET}"}}"#));
            let messages = [PromptMessage::user(format!("a {SECRET}"))].into_iter();
            let blocks = contents().into_iter().map(PromptMessage::assistant);
            let messages = messages.chain(blocks).collect();
            let result = ToolResult { text, structured, content: contents(), messages };

            let clean = redacted(report_of(Ended::Returned(result), SECRET), &secrets, &tokens).await;

            let Ended::Returned(result) = &clean.ended else { panic!("it was a result") };
            let shown = format!("{:?} {:?} {:?}", result.text, result.structured, clean.log);
            assert!(!shown.contains(SECRET) && shown.contains("[redacted]"), "{shown:.300}");
            let said = format!("{:?}", result.messages);
            assert!(!said.contains(SECRET) && said.matches("a [redacted]").count() == 13, "{said}");
            let parts = format!("{:?}", result.content);
            assert!(!parts.contains(SECRET) && parts.matches("a [redacted]").count() == 12, "{parts}");
            for block in &result.content {
                let hints = ContentAnnotations { priority: Some(0.5), ..ContentAnnotations::default() };
                assert_eq!(block.annotations, hints);
                if let Content::Image(Media { data, .. }) | Content::Audio(Media { data, .. }) =
                    &block.content
                {
                    assert_eq!(data, b"\xffa [redacted]");
                }
                if let Content::Resource(EmbeddedResource { body: ResourceBody::Blob(data), .. }) =
                    &block.content
                {
                    assert_eq!(data, b"\xffa [redacted]");
                }
            }
        }
    }

    #[test]
    fn what_is_told_on_the_way_keeps_no_secret() {
        for (secrets, tokens) in sources() {
            let message = Some(format!("at {SECRET}"));
            let report = ProgressReport { progress: 1.0, total: None, message };

            let told = progress(report, &secrets, &tokens).expect("its progress is no secret");

            assert_eq!(told.message.as_deref(), Some("at [redacted]"));
        }
    }

    #[test]
    fn a_message_that_is_cut_keeps_no_part_of_a_secret() {
        for (secrets, tokens) in sources() {
            for before in MAX_PROGRESS_BYTES - SECRET.len()..MAX_PROGRESS_BYTES {
                let message =
                    Some(format!("{}{SECRET}{}", "-".repeat(before), "é".repeat(MAX_PROGRESS_BYTES)));
                let report = ProgressReport { progress: 1.0, total: None, message };

                let told = progress(report, &secrets, &tokens).expect("its progress is no secret");

                let message = told.message.expect("a message");
                let expected = format!("{}[redacted]{}", "-".repeat(before), "é".repeat(MAX_PROGRESS_BYTES));
                assert!(
                    expected.starts_with(&message) && MAX_PROGRESS_BYTES - message.len() < 2,
                    "{message}"
                );
            }
        }
    }

    #[tokio::test]
    async fn numbers_keep_no_secret() {
        let secrets = Arc::new(UserSecrets::of(HashMap::from([(
            ("books".to_owned(), "PIN".to_owned()),
            "48151623".into(),
        )])));
        let tokens = AttachedTokens::default();
        let link = ResourceLink::new("a:b", "b").size(48_151_623);
        let content = vec![ContentBlock::new(link).priority(48_151_623.0)];
        let result = ToolResult { content, ..ToolResult::default() };

        let clean = redacted(report_of(Ended::Returned(result), ""), &secrets, &tokens).await;

        let Ended::Returned(ToolResult { content, .. }) = &clean.ended else { panic!("it was a result") };
        assert_eq!(content, &[ContentBlock::new(ResourceLink::new("a:b", "b"))]);
        let of = |progress, total| ProgressReport { progress, total: Some(total), message: None };
        assert!(self::progress(of(48_151_623.0, 1.0), &secrets, &tokens).is_none());
        let told =
            self::progress(of(1.0, 48_151_623.0), &secrets, &tokens).expect("its progress is no secret");
        assert_eq!((told.progress, told.total), (1.0, None));
    }

    #[test]
    fn a_redactor_is_made_once_however_often_a_guest_reports() {
        let secrets = UserSecrets::default();
        let tokens = AttachedTokens::of("beta-gamma".into());

        assert!(Arc::ptr_eq(&tokens.redactor_with(&secrets), &tokens.redactor_with(&secrets)));
    }

    #[tokio::test]
    async fn of_a_secret_and_a_token_that_overlap_no_part_is_kept() {
        let secrets = Arc::new(UserSecrets::of(HashMap::from([(
            ("books".to_owned(), "KEY".to_owned()),
            "alpha-beta".into(),
        )])));
        let tokens = AttachedTokens::of("beta-gamma".into());
        let result = ToolResult { text: "alpha-beta-gamma".to_owned(), ..ToolResult::default() };

        let clean = redacted(report_of(Ended::Returned(result), ""), &secrets, &tokens).await;

        let Ended::Returned(ToolResult { text, .. }) = &clean.ended else { panic!("it was a result") };
        assert_eq!(text, "[redacted]");
    }
}
