//! Extracts the text of e-mail messages (RFC 5322, RFC 2045). Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

mod body;
mod calendar;
mod envelope;
mod message;

use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use extractor_text::Flow;
use mail_parser::MessageParser;

/// The extractor for messages.
pub struct MailExtractor;

impl Guest for MailExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        let file = envelope::opened(&file);
        let message = MessageParser::default().parse(file.as_ref()).filter(|it| !it.headers().is_empty());
        let message = message.ok_or_else(|| ExtractError::Damaged("it has no header".to_owned()))?;
        let mut flow = Flow::default();
        message::write(&message, 0, &mut flow);
        let (text, truncated) = flow.finish();
        let title = message.subject().and_then(extractor_text::title);
        Ok(Extracted { title, text, truncated })
    }
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/current/extractor", world: "extractor" });

    use super::MailExtractor;
    export!(MailExtractor);
}
