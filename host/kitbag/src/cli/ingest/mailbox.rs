//! Reader for the messages of a mailbox (mbox, RFC 4155), one at a time.

use std::io::{BufRead, Read};

/// Maximum size of a message, in bytes; a longer one is truncated, because the server would reject it.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// Reads messages. Each starts after a line `From …` at the beginning of the file or after an empty line.
pub(super) struct Mailbox {
    input: Box<dyn BufRead + Send>,
    number: usize,
}

impl Mailbox {
    pub(super) fn of(input: impl BufRead + Send + 'static) -> Self {
        Self { input: Box::new(input), number: 0 }
    }

    /// Returns the number of the next message, with its bytes or the error.
    pub(super) fn next(&mut self) -> Option<(usize, Result<Vec<u8>, String>)> {
        let mut message = Vec::new();
        let mut is_after_blank = true;
        loop {
            let mut line = Vec::new();
            let limit = MAX_MESSAGE_BYTES as u64;
            match (&mut self.input).take(limit).read_until(b'\n', &mut line) {
                Err(error) => return Some((self.number + 1, Err(error.to_string()))),
                Ok(0) => return self.ended(message),
                Ok(_) if is_after_blank && line.starts_with(b"From ") => {
                    if let Some(ended) = self.ended(std::mem::take(&mut message)) {
                        return Some(ended);
                    }
                }
                Ok(_) => {
                    is_after_blank = line.trim_ascii().is_empty();
                    // In a mailbox, a text line that begins with `From ` is escaped as `>From `.
                    let line = if line.starts_with(b">From ") { &line[1..] } else { &line };
                    if message.len() + line.len() <= MAX_MESSAGE_BYTES {
                        message.extend_from_slice(line);
                    }
                }
            }
        }
    }

    fn ended(&mut self, message: Vec<u8>) -> Option<(usize, Result<Vec<u8>, String>)> {
        if message.trim_ascii().is_empty() {
            return None;
        }
        self.number += 1;
        Some((self.number, Ok(message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_has_a_message_for_each_line_that_begins_one() {
        let text = "From ana Tue Jul  1\nSubject: one\n\nFirst.\n>From here on.\nFrom the start.\n\nFrom ben Tue\nSubject: two\n\nSecond.\n";
        let mut mailbox = Mailbox::of(text.as_bytes());

        let messages: Vec<_> = std::iter::from_fn(|| mailbox.next())
            .map(|(number, message)| {
                (number, String::from_utf8(message.expect("it is read")).expect("UTF-8"))
            })
            .collect();

        assert_eq!(
            messages,
            [
                (1, "Subject: one\n\nFirst.\nFrom here on.\nFrom the start.\n\n".to_owned()),
                (2, "Subject: two\n\nSecond.\n".to_owned()),
            ]
        );
        assert!(Mailbox::of(&b""[..]).next().is_none());
    }
}
