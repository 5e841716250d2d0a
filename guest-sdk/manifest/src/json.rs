//! Measures JSON text before it is parsed: 8 MB of `0,0,…` take 100 MB of memory once parsed.

/// Size of the value that a JSON text parses to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Number of values at any depth, including the outermost.
    pub values: usize,
    /// Nesting depth of arrays and objects.
    pub levels: usize,
}

/// Measures a JSON text, and stops as soon as it has more than `max_values`. Does not check whether the text
/// is valid JSON.
pub fn measure(json: &[u8], max_values: usize) -> Measure {
    let mut measure = Measure { values: 1, levels: 0 };
    // Whether the previous byte (other than white space) opened an array or an object.
    let mut is_empty = false;
    let mut open = 0_usize;
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        if byte.is_ascii_whitespace() {
            continue;
        }
        let is_end = matches!(byte, b']' | b'}');
        if *byte == b',' || (is_empty && !is_end) {
            measure.values += 1;
            if measure.values > max_values {
                break;
            }
        }
        is_empty = matches!(byte, b'[' | b'{');
        if is_empty {
            open += 1;
            measure.levels = measure.levels.max(open);
        } else if is_end {
            open = open.saturating_sub(1);
        } else if *byte == b'"' {
            skip_string(&mut bytes);
        }
    }
    measure
}

/// Skips the rest of a string whose opening quote has been read.
fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_levels_are_those_of_what_would_be_built() {
        for (json, values, levels) in [
            ("0", 1, 0),
            ("[]", 1, 1),
            (" [ 1 , 2 ] ", 3, 1),
            (r#"{"a": [1, {"b": null}], "c": {}}"#, 6, 3),
            ("[[],[],[]]", 4, 2),
            (r#"["a,b[{", "\"],[", "\\"]"#, 4, 1),
        ] {
            assert_eq!(measure(json.as_bytes(), usize::MAX), Measure { values, levels }, "{json}");
        }
    }

    #[test]
    fn counting_ends_where_there_is_too_much() {
        let zeros = format!("[{}0]", "0,".repeat(1_000_000));

        assert_eq!(measure(zeros.as_bytes(), 100).values, 101);
        assert_eq!(measure(zeros.as_bytes(), usize::MAX).values, 1_000_002);
    }

    #[test]
    fn what_is_no_json_is_measured_too() {
        for text in ["", "]]", "\"", "\"\\", "{[,", "\u{0}"] {
            assert!(measure(text.as_bytes(), 10).values < 10, "{text:?}");
        }
    }
}
