//! Reader for files with one JSON document per line.

use std::io::{BufRead, Read};

use kitbag_base::json_object::JsonObject;

use super::Document;

/// Longest line in bytes: a text of maximum length, escaped.
const MAX_LINE_BYTES: u64 = 32 << 20;

/// Reads one document from each non-empty line.
pub(super) struct Lines {
    input: Box<dyn BufRead + Send>,
    number: usize,
    is_over: bool,
}

impl Lines {
    pub(super) fn of(input: impl BufRead + Send + 'static) -> Self {
        Self { input: Box::new(input), number: 0, is_over: false }
    }

    /// Returns the number of the next line, with its document or the error.
    pub(super) fn next(&mut self) -> Option<(usize, Result<Document, String>)> {
        while !self.is_over {
            self.number += 1;
            let mut line = Vec::new();
            let read = (&mut self.input).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line);
            match read {
                Err(error) => {
                    self.is_over = true;
                    return Some((self.number, Err(error.to_string())));
                }
                Ok(0) => self.is_over = true,
                Ok(length) if length as u64 > MAX_LINE_BYTES => {
                    // Skipping to the next line might never end.
                    self.is_over = true;
                    return Some((self.number, Err(format!("is longer than {MAX_LINE_BYTES} bytes"))));
                }
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => {
                    let document = serde_json::from_slice(&line).map(|JsonObject(document)| document);
                    return Some((self.number, document.map_err(|error| format!("is no document: {error}"))));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_document_and_a_bad_one_stops_none() {
        let input = "{\"title\":\"A\",\"text\":\"a\"}\n\n{\"title\":\"B\",\"texts\":\"b\"}\nnothing\n\
                     {\"title\":\"C\",\"fileUrl\":\"https://c.example/\",\"feed\":{\"key\":\"k\",\"name\":\"K\"}}";
        let mut lines = Lines::of(input.as_bytes());

        let read: Vec<_> = std::iter::from_fn(|| lines.next())
            .map(|(number, document)| (number, document.map(|document| document.title)))
            .collect();

        assert_eq!(read.len(), 4);
        assert_eq!((&read[0], &read[3]), (&(1, Ok("A".to_owned())), &(5, Ok("C".to_owned()))));
        assert!(matches!(&read[1], (3, Err(reason)) if reason.contains("texts")), "{read:?}");
        assert!(matches!(&read[2], (4, Err(reason)) if reason.contains("is no document")), "{read:?}");
    }

    #[test]
    fn a_list_is_no_document() {
        let mut lines = Lines::of(&b"[\"A\", \"a\"]\n"[..]);

        assert!(matches!(lines.next(), Some((1, Err(reason))) if reason.contains("expected a JSON object")));
    }

    #[test]
    fn a_line_without_end_is_not_read_to_its_end() {
        let mut lines = Lines::of(std::io::BufReader::new(std::io::repeat(b'x')));

        assert!(matches!(lines.next(), Some((1, Err(reason))) if reason.contains("longer")));
        assert!(lines.next().is_none());
    }
}
