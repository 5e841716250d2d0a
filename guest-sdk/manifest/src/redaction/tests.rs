use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::json;

use super::*;

/// Value with every kind of character that an encoding may change: quotes, a backslash, a slash, a plus, a
/// space, a line end.
const AWKWARD: &str = "p\"a\\s/s+w o\nrd&ü~kitbag";

pub(super) fn redactor(values: &[&str]) -> Redactor {
    let values: Vec<_> = values.iter().map(|value| SecretString::from(*value)).collect();
    Redactor::new(&values)
}

#[track_caller]
fn check(values: &[&str], text: &str, expected: &str) {
    assert_eq!(redactor(values).redact(text), expected);
}

#[test]
fn a_value_is_removed_wherever_it_stands() {
    check(&["hunter2hunter2"], "hunter2hunter2 is it: hunter2hunter2", "[redacted] is it: [redacted]");
    check(&["hunter2hunter2"], "nothing here", "nothing here");
    check(&["hunter2hunter2"], "http://HUNTER2hunter2.evil.example", "http://[redacted].evil.example");
}

#[test]
fn values_that_overlap_leave_nothing_of_either() {
    check(&["abcdefgh", "efghijkl"], "-abcdefghijkl-", "-[redacted]-");
    check(&["abcdefgh", "abcdefghijkl"], "-abcdefghijkl-", "-[redacted]-");
    check(&["cdefgh", "abcdefghijkl"], "-abcdefghijkl-", "-[redacted]-");
    check(&["aaaaaa"], "aaaaaaaaaaaaaa", "[redacted]");
}

#[test]
fn a_value_too_short_to_mean_anything_is_left_alone() {
    check(&["de", "", "12345"], "in de 12345", "in de 12345");
    check(&["123456"], "in de 123456", "in de [redacted]");
}

#[test]
fn a_value_is_found_in_the_encodings_it_travels_in() {
    let json = serde_json::to_string(AWKWARD).expect("a string");
    let in_json_in_json = serde_json::to_string(&json).expect("a string");
    let form: String = url::form_urlencoded::byte_serialize(AWKWARD.as_bytes()).collect();
    let percent = "p%22a%5Cs%2Fs%2Bw%20o%0Ard%26%C3%BC~kitbag";
    for text in [
        AWKWARD.to_owned(),
        json,
        in_json_in_json,
        r#"p\"a\\s\/s+w o\nrd&\u00fc~kitbag"#.to_owned(),
        // Default of Go's `encoding/json`.
        r#"p\"a\\s/s+w o\nrd\u0026ü~kitbag"#.to_owned(),
        form,
        percent.to_owned(),
        percent.to_lowercase(),
        hex::encode(AWKWARD),
        hex::encode_upper(AWKWARD),
    ] {
        let clean = redactor(&[AWKWARD]).redact(&format!("<{text}>")).into_owned();
        assert!(clean.contains("[redacted]") && !clean.to_lowercase().contains("kitbag"), "{text}: {clean}");
    }
}

#[test]
fn a_value_is_found_in_base64_at_every_offset() {
    for before in ["", "x", "xy", "xyz", "client-id:"] {
        for after in ["", "!", "!!", "!!!"] {
            for value in ["s3cr3t-value", AWKWARD, "123456"] {
                let whole = format!("{before}{value}{after}");
                for text in [BASE64_STANDARD.encode(&whole), BASE64_URL_SAFE_NO_PAD.encode(&whole)] {
                    let clean = redactor(&[value]).redact(&text).into_owned();
                    assert!(clean.contains("[redacted]"), "{whole} as {text}");
                }
            }
        }
    }
}

#[test]
fn each_line_of_a_value_counts_because_output_is_logged_by_line() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\r\n-----END KEY-----\n";
    check(&[key], "kqhkiG9w0BAQEF", "[redacted]");
    check(&[key], "MIIEvQIBADANBg and", "[redacted] and");
}

#[test]
fn json_is_cleaned_in_strings_keys_and_numbers() {
    let mut value = json!({ "k": ["s3cr3t-value", 1], "s3cr3t-value": { "n": 12_345_678, "m": 1234 } });

    redactor(&["s3cr3t-value", "12345678"]).redact_json(&mut value);

    assert_eq!(value, json!({ "k": ["[redacted]", 1], "[redacted]": { "n": "[redacted]", "m": 1234 } }));
}

#[test]
fn json_text_is_cleaned_however_its_strings_are_escaped() {
    let redactor = redactor(&["s3cr3t-value", "12345678"]);
    let check = |text: &str, expected: &str| assert_eq!(redactor.redact_json_text(text), expected);

    check(r#"{"a":"\u0073\u0033cr3t-value"}"#, r#"{"a":"[redacted]"}"#);
    check(r#"{"a":"s3cr3t-value","n":12345678}"#, r#"{"a":"[redacted]","n":"[redacted]"}"#);
    check(r#"{ "a": "nothing" }"#, r#"{ "a": "nothing" }"#);
    check("no JSON, but s3cr3t-value", "no JSON, but [redacted]");
}

#[test]
fn a_number_is_found_however_it_is_spelled_and_others_stay_as_they_are() {
    let redactor = redactor(&["12345678", "12345678901234567890123"]);
    let check = |text: &str, expected: &str| assert_eq!(redactor.redact_json_text(text), expected);

    for number in ["1.2345678e7", "1234567.8E+1", "123456780e-1", "0.12345678e8", "-12345678e-3"] {
        let clean = redactor.redact_json_text(number).into_owned();
        assert!(clean.contains("[redacted]") && !clean.contains("5678"), "{number}: {clean}");
    }
    // Parsed as a number it would be rounded: its last digits would change, and the others would stay.
    check(r#"{"n":12345678901234567890123}"#, r#"{"n":"[redacted]"}"#);
    check(r#"[1.7976931348623157e308, "1e5"]"#, r#"[1.7976931348623157e308, "1e5"]"#);
}

#[test]
fn a_long_value_is_removed_whole_and_only_where_it_stands_whole() {
    let key = format!("{}-end", "0123456789abcdef".repeat(20));
    let other = format!("{}-END of another", "0123456789abcdef".repeat(20));

    check(&[&key], &format!("<{key}>"), "<[redacted]>");
    check(&[&key, &other], &format!("<{other}>"), "<[redacted]>");
    check(&[&key], &key[..key.len() - 1], &key[..key.len() - 1]);
}

#[test]
fn what_go_and_php_make_of_a_value_by_default_is_found_whole() {
    let value = "<a/b&c>é-end-of-it";

    check(&[value], r"-\u003ca/b\u0026c\u003eé-end-of-it-", "-[redacted]-");
    check(&[value], r"-<a\/b&c>\u00e9-end-of-it-", "-[redacted]-");
}

#[test]
fn what_dotnet_rails_and_browsers_make_of_a_value_by_default_is_found_whole() {
    let value = "Zq7+'<é&x>Ü/🔑 w=";

    for text in [
        r"Zq7\u002B\u0027\u003C\u00E9\u0026x\u003E\u00DC/\uD83D\uDD11 w=",
        "%5A%71%37%2B%27%3C%C3%A9%26%78%3E%C3%9C%2F%F0%9F%94%91%20%77%3D",
        "Zq7%2B%27%3C%E9%26x%3E%DC/%uD83D%uDD11%20w%3D",
        "Zq7&#43;&#39;&lt;&eacute;&amp;x&gt;&Uuml;/&#128273; w=",
        "ZQ7+'<É&X>ü/🔑 W=",
        r"Zq7\\u002B\\u0027<\u00e9%2526x>Ü\/🔑+w=",
        "Zq7+'<é&x>Ü/🔑+w=",
    ] {
        check(&[value], &format!("-{text}-"), "-[redacted]-");
        check(&["Zq7+'<é&x>Ü/🔑 v="], text, text);
    }
    check(&[value], "Zq7 '<é&x>Ü/🔑 w=", "Zq7 '<é&x>Ü/🔑 w=");
}

#[test]
fn a_value_that_contains_escapes_is_found_as_it_is_and_decoded() {
    let value = r"a%41\u0042&lt;-end";

    for text in [value, "aAB<-end", r"a%2541\\u0042&amp;lt;-end", r"a%41\u0042&lt;\u002Dend"] {
        check(&[value], &format!("-{text}-"), "-[redacted]-");
    }
    check(&["%41%42"], "AB %41%42", "AB [redacted]");
}

#[test]
fn a_value_is_removed_from_bytes_that_are_no_text() {
    let mut bytes = b"\xff\x89s3cr3t-value\0s3cr3t-value\xfe".to_vec();

    redactor(&["s3cr3t-value"]).redact_bytes(&mut bytes);

    assert_eq!(bytes, b"\xff\x89[redacted]\0[redacted]\xfe");
}

#[test]
fn a_value_is_findable_when_any_of_its_lines_is() {
    for (value, expected) in [
        ("12345", false),
        ("123456", true),
        ("12345\n12345\n", false),
        ("  12345  ", false),
        ("1\n 123456", true),
    ] {
        assert_eq!(is_findable(value), expected, "{value:?}");
    }
}

#[test]
fn a_value_and_a_text_that_were_made_for_each_other_take_linear_time() {
    let almost = format!("{}b", "a".repeat(4 << 10));
    let text = "a".repeat(1 << 20);

    assert_eq!(redactor(&[&"a".repeat(4 << 10)]).redact(&text), REPLACEMENT);
    // The value does not occur, but checking that would exceed the step limit.
    assert_eq!(redactor(&[&almost]).redact(&text), REPLACEMENT);
}

#[test]
fn hostile_values_cost_the_same_for_each_byte_of_a_text() {
    // Many lines with the same head, which matches everywhere in the text; the lines themselves never match.
    let lines: Vec<_> = (0..400).map(|line| format!("{}{line:03}", "a".repeat(HEAD_BYTES + 40))).collect();
    let redactor = redactor(&[&lines.join("\n")]);
    let time = |length: usize| {
        let text = "a".repeat(length);
        let once = || {
            let began = std::time::Instant::now();
            assert_eq!(redactor.redact(&text), REPLACEMENT);
            began.elapsed()
        };
        (0..5).map(|_| once()).min().expect("it was measured")
    };

    let short = time(1 << 20);
    let long = time(4 << 20);

    assert!(long < short * 12, "{short:?} for a quarter of the text, {long:?} for all of it");
}

#[test]
fn secrets_that_share_their_beginning_do_not_use_up_the_steps_of_an_honest_text() {
    let header = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjEifQ";
    let tokens: Vec<_> = (0..8).map(|n| format!("{header}.{}", hex::encode([n; 200]))).collect();
    let values: Vec<_> = tokens.iter().map(String::as_str).collect();

    check(&values, &format!("a {} and {}", tokens[0], tokens[7]), "a [redacted] and [redacted]");
}

#[test]
fn a_part_has_nothing_of_a_value_that_it_cuts() {
    let redactor = Redactor::new([&SecretString::from("s3cr3t-value")]);
    for written in ["s3cr3t-value", r"s3cr3t\\u002Dvalue", "%733cr3t&#45;value"] {
        assert!(written.len() <= redactor.longest());
        let text = format!("öne {written} two");

        for start in text.char_indices().map(|(start, _)| start) {
            for end in (start + 1..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                let part = redactor.redact_part(&text, start..end);
                let touches = start < 5 + written.len() && 5 < end;
                assert_eq!(part.contains(REPLACEMENT), touches, "{start}..{end}: {part}");
                let left = part.replace(REPLACEMENT, "");
                assert!(!left.contains("3c") && !left.contains("val"), "{start}..{end}: {part}");
            }
        }
    }
}
