//! JSON of a bounded size.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

/// Indented JSON, cut at a maximum size.
#[derive(Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Text up to the maximum size.
    pub text: String,
    /// Whether the text is complete.
    pub is_whole: bool,
}

/// Returns the first `max_bytes` of a value as indented JSON. Memory use is bounded by `max_bytes`.
pub fn beginning(value: &(impl Serialize + ?Sized), max_bytes: usize) -> Beginning {
    let mut out = Bounded::of_at_most(max_bytes);
    let is_whole = serde_json::to_writer_pretty(&mut out, value).is_ok();
    Beginning { text: out.into_text(), is_whole }
}

/// Returns JSON, indented unless that takes more than `max_bytes`.
pub fn indented(value: &(impl Serialize + ?Sized), max_bytes: usize) -> String {
    let Beginning { text, is_whole } = beginning(value, max_bytes);
    if is_whole { text } else { serde_json::to_string(value).expect("only the size was refused") }
}

/// Returns a value as JSON without white space; `None` beyond `max_bytes`, of which no more are written.
pub fn compact(value: &(impl Serialize + ?Sized), max_bytes: usize) -> Option<Vec<u8>> {
    let mut out = Bounded::of_at_most(max_bytes);
    serde_json::to_writer(&mut out, value).ok()?;
    Some(out.text)
}

/// Returns the length in bytes of a value as JSON without white space; `None` beyond `max_bytes`.
pub fn size(value: &Value, max_bytes: usize) -> Option<usize> {
    compact(value, max_bytes).map(|json| json.len())
}

/// Capacity to begin with, in bytes.
const USUAL_BYTES: usize = 128;

/// Writer that stores up to a number of bytes, and fails beyond it.
struct Bounded {
    text: Vec<u8>,
    room: usize,
}

impl Bounded {
    fn of_at_most(max_bytes: usize) -> Self {
        Self { text: Vec::with_capacity(USUAL_BYTES.min(max_bytes)), room: max_bytes }
    }

    /// Removes an incomplete character at the end.
    fn into_text(mut self) -> String {
        if let Err(error) = std::str::from_utf8(&self.text) {
            self.text.truncate(error.valid_up_to());
        }
        String::from_utf8(self.text).expect("it was cut where it is valid")
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        self.text.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_written_up_to_its_size_and_no_further() {
        let value = json!({ "a": ["é"] });
        let whole = "{\n  \"a\": [\n    \"é\"\n  ]\n}";

        assert_eq!(beginning(&value, whole.len()), Beginning { text: whole.to_owned(), is_whole: true });
        for max_bytes in 0..whole.len() {
            let Beginning { text, is_whole } = beginning(&value, max_bytes);
            assert_eq!((text.as_str(), is_whole), (&whole[..whole.floor_char_boundary(max_bytes)], false));
        }
        let nested = (0..100).fold(json!(vec![1; 50_000]), |inner, _| json!([inner]));
        assert!(beginning(&nested, 1000).text.len() <= 1000);
    }

    #[test]
    fn nested_values_are_on_one_line_where_indentation_takes_too_much() {
        let value = json!([[[1, 2]]]);

        assert_eq!(indented(&value, 9), "[[[1,2]]]");
        assert_eq!(indented(&json!([1]), 9), "[\n  1\n]");
    }

    #[test]
    fn sizes_are_those_of_json_without_white_space() {
        let value = json!({ "a": [1, "é"] });
        let bytes = value.to_string().len();

        assert_eq!(size(&value, bytes), Some(bytes));
        assert_eq!(size(&value, bytes - 1), None);
    }
}
