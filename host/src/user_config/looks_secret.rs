//! Detects text that looks like a credential: by the format of known issuers, or by its randomness.

use std::collections::HashMap;

use url::Url;

/// Prefixes of the tokens of common issuers.
const PREFIXES: [&str; 33] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "SG.",
    "shpat_",
    "shpss_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "hf_",
    "lin_api_",
    "ntn_",
];

/// Minimum length of a token after such a prefix, in characters.
const MIN_TOKEN_LENGTH: usize = 12;
/// Minimum length of random text, in characters: shorter text cannot be told from a name.
const MIN_RANDOM_LENGTH: usize = 20;
/// Minimum entropy of random text, in bits per character. Prose and names have less.
const MIN_RANDOM_BITS: f64 = 3.3;
/// Minimum share of neighbouring characters of different kinds (lower case, upper case, digit) in random
/// text. Words have less.
const MIN_RANDOM_CHANGES: f64 = 0.3;

/// Returns why `text` looks like a credential, if it does. The reason does not quote it.
pub(super) fn looks_secret(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY") {
        return Some("a private key");
    }
    if PREFIXES.iter().any(|prefix| has_token(text, prefix)) {
        return Some("it begins like the tokens of a known service");
    }
    text.split(|separator: char| separator.is_whitespace() || "\"'`,;()<>{}".contains(separator))
        .find_map(word_looks_secret)
}

fn word_looks_secret(word: &str) -> Option<&'static str> {
    if word.split(['=', ':']).any(is_jwt) {
        return Some("a JSON Web Token");
    }
    let url = if word.contains("://") { Url::parse(word).ok() } else { None };
    if url.as_ref().is_some_and(|url| url.password().is_some()) {
        return Some("a URL with a password");
    }
    match url {
        Some(url) if matches!(url.scheme(), "http" | "https") => {
            url_holds_secret(&url).then_some("a URL with a key in it")
        }
        _ => {
            // E-mail addresses, hosts, file extensions and times are split into harmless parts.
            let is_random = word.split(['.', ':', '@', '|']).any(part_is_random)
                // Text that resembles a URL is checked between its slashes too.
                || (word.contains("://") && word.split(['/', '?', '&', '=', '#', ':', '@', '.']).any(part_is_random));
            is_random.then_some("a long string of random characters")
        }
    }
}

/// Whether a URL has a long random part that works as a credential, as those of webhooks have. URLs of pages
/// consist of words, dates and short identifiers.
fn url_holds_secret(url: &Url) -> bool {
    let path = url.path_segments().into_iter().flatten();
    let path = path.filter(|segment| !is_commit(segment)).flat_map(words_apart);
    let fragment = url.fragment().into_iter().flat_map(|text| text.split(['/', '&', '=', '?']));
    part_is_random(url.username())
        || path.chain(fragment).flat_map(plain_parts).any(part_is_random)
        || url
            .query_pairs()
            .any(|(name, value)| !names_an_identifier(&name) && plain_parts(&value).any(part_is_random))
}

/// Whether a parameter identifies a page or a click (`v`, `list`, `docid`, `gclid`): random, but public.
fn names_an_identifier(name: &str) -> bool {
    matches!(name, "v" | "list") || name.to_ascii_lowercase().ends_with("id")
}

/// Splits a segment that consists of words, so that an identifier at its end is checked by itself.
fn words_apart(segment: &str) -> Vec<&str> {
    let parts: Vec<_> = segment.split(['-', '_']).collect();
    let is_word = |part: &&&str| {
        part.bytes().all(|byte| byte.is_ascii_lowercase()) || part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_slug = parts.len() > 2 && parts.iter().filter(is_word).count() * 2 > parts.len();
    if is_slug { parts } else { vec![segment] }
}

/// Whether a segment is a SHA-1, as in URLs of repositories.
fn is_commit(segment: &str) -> bool {
    segment.len() == 40 && segment.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn plain_parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "+=_-".contains(letter)))
}

fn part_is_random(part: &str) -> bool {
    !is_uuid(part) && is_random(part)
}

/// Whether a word in `text` begins with `prefix`, and continues like a token and not a name: long, with a
/// digit.
fn has_token(text: &str, prefix: &str) -> bool {
    text.match_indices(prefix).any(|(at, _)| {
        let begins = !text[..at].ends_with(|before: char| before.is_alphanumeric() || "_-".contains(before));
        let rest = &text[at + prefix.len()..];
        let token = rest.split(|letter: char| !is_token_character(letter)).next().unwrap_or_default();
        begins && token.len() >= MIN_TOKEN_LENGTH && token.bytes().any(|byte| byte.is_ascii_digit())
    })
}

fn is_token_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-./+=".contains(letter)
}

/// Whether a word is a JWT (RFC 7519): three parts in base64url, the first two of which are JSON objects. (An
/// unsigned one ends in a dot.)
fn is_jwt(word: &str) -> bool {
    let parts: Vec<_> = word.split('.').collect();
    let is_base64 =
        |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    parts.len() == 3
        && parts[0].starts_with("eyJ")
        && parts[1].starts_with("eyJ")
        && parts.iter().all(is_base64)
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_random(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte));
    if text.len() < MIN_RANDOM_LENGTH || !is_plain {
        return false;
    }
    let kinds = |kind: fn(&u8) -> bool| text.bytes().filter(kind).count();
    let digits = kinds(u8::is_ascii_digit);
    let (lower, upper) = (kinds(u8::is_ascii_lowercase), kinds(u8::is_ascii_uppercase));
    // Names in one case often have a number; random text has more digits.
    let has_digits = digits >= if lower > 0 && upper > 0 { 1 } else { 3 };
    has_digits
        && lower + upper > 0
        && changes(text) >= MIN_RANDOM_CHANGES
        && bits_per_character(text) >= MIN_RANDOM_BITS
}

/// The share of neighbouring letters and digits that are of different kinds.
fn changes(text: &str) -> f64 {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    };
    let pairs = text.as_bytes().windows(2).filter_map(|pair| Some((kind(pair[0])?, kind(pair[1])?)));
    let (mut all, mut different) = (0_u32, 0_u32);
    for (one, other) in pairs {
        all += 1;
        different += u32::from(one != other);
    }
    f64::from(different) / f64::from(all.max(1))
}

/// Shannon's entropy of the characters' frequencies.
#[expect(clippy::cast_precision_loss, reason = "a setting has a few thousand characters")]
fn bits_per_character(text: &str) -> f64 {
    let mut counts = HashMap::new();
    for byte in text.bytes() {
        *counts.entry(byte).or_insert(0_usize) += 1;
    }
    let length = text.len() as f64;
    counts.values().map(|count| *count as f64 / length).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_recognised() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
        for text in [
            "sk-proj-a8Zq03kfLmP2x9TnV5",
            "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "rk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "gho_16C7e42F292c6912E7710c838347Ae178B4a",
            "ghs_16C7e42F292c6912E7710c838347Ae178B4a",
            "github_pat_11ABCDEFG0abcdefghijkl_mnop",
            "glpat-0123456789abcdefghij",
            "xoxb-123456789012-abcdefghijkl",
            "xoxp-123456789012-abcdefghijkl",
            "AKIAIOSFODNN7EXAMPLE",
            "ASIAIOSFODNN7EXAMPLE",
            "AIzaSyA1234567890abcdefghijklmnopqrstuv",
            "ya29.a0AfH6SMBx1234567890",
            "SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf",
            "shpat_0123456789abcdef0123456789abcdef",
            "npm_0123456789abcdefghijABCDEFGHIJ012345",
            "pypi-AgEIcHlwaS5vcmcCJDAxMjM0",
            "dop_v1_0123456789abcdef0123456789abcdef",
            "hf_0123456789abcdefghijABCDEFGHIJ",
            "my key is ghp_16C7e42F292c6912E7710c838347Ae178B4a, keep it",
            "Authorization: Bearer sk-a8Zq03kfLmP2x9TnV5",
            jwt,
            &format!("token={jwt}"),
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
            "-----BEGIN PRIVATE KEY-----\nMIIE",
            "https://ana:hunter2@example.com/",
            "postgres://kitbag:s3cret@db.example/kitbag",
            "https://api.example.com/?api_key=Zk3vQ9xT7pLm2RwY8sBn",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "d41d8cd98f00b204e9800998ecf8427e",
            "0b0e1f2a-9c3d8e7f6a5b4c3d2e1f0a9b8c7d6e5f",
            "Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "k8f3j29dk3l5m7n1p0q4r6s8",
            "K8F3J29DK3L5M7N1P0Q4R6S8",
            "password: Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "Zk3vQ9xT7pLm2RwY8sBn+C4/dF6gHj==",
            // Not a URL, or one with another scheme: checked by its words.
            "://Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "key://Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "a=b://Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "https://Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj:x/",
            "s3://bucket/Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj/x",
            "otpauth://totp/ana?secret=JBSWY3DPEHPK3PXP7Q2A4Z6W",
            "token://x?Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            // Webhooks, and other URLs that are keys.
            "https://hooks.slack.example/services/T01ABCDEFGH/B01ABCDEFGH/Zk3vQ9xT7pLm2RwY8sBnC4dF",
            "https://discord.example/api/webhooks/123456789012345678/aB3dE5-gH7jK9_mN2pQ4rS6tU8vW0xY1zA3bC5dE7fG9hJ2kL4",
            "https://chat.example/webhook/123e4567-e89b-12d3-a456-426614174000/d41d8cd98f00b204e9800998ecf8427e",
            "https://hook.example/Zk3vQ9xT7pLm2RwY8sBn%2BC4dF6gHj",
            "https://hook.example/run?code=Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "https://hook.example/run?x=a,Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "https://app.example/#access=Zk3vQ9xT7pLm2RwY8sBnC4dF6gHj",
            "https://0b0e1f2a9c3d8e7f6a5b4c3d2e1f0a9b@errors.example/42",
        ] {
            assert!(looks_secret(text).is_some(), "{text}");
        }
    }

    #[test]
    fn preferences_pass() {
        for text in [
            "",
            "en",
            "de-AT",
            "zh-Hant-TW",
            "metric",
            "newest",
            "Ana María, Oberösterreich",
            "Answer briefly, in the second person, and mention at most 3 sources from 2024.",
            "日本語でおねがいします。長い文章でも問題ありません。",
            "https://example.com/a/b?page=2&sort=asc#top",
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf",
            "https://example.com/?monkey=banana",
            "https://news.example/2024/05/17/world/europe/elections-2024-what-to-know.html",
            "https://blog.example/@ana/how-we-moved-12-services-to-rust-in-2024-3f2a9c8d7e6b",
            "https://shop.example/dp/B08N5WRWNW/ref=sr_1_3?keywords=desk+lamp&qid=1715948400&sr=8-3",
            "https://example.com/documents/123e4567-e89b-12d3-a456-426614174000?v=3",
            "https://example.com/events/20240517T123000Z",
            "https://code.example/kitbag/commit/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
            "https://example.com/a?gclid=EAIaIQobChMI1b2c3D4e5F6g7H8i9J0k&utm_source=newsletter-2024-05",
            "https://en.example/wiki/Donaudampfschifffahrtsgesellschaft_(1829%E2%80%931995)",
            "https://maps.example/@48.2081743,16.3738189,15z/data=3m1",
            "file:///home/ana/documents/2024/quarterly-report-v2.pdf",
            "s3://kitbag-backups-eu-west-1/2024/05/17/",
            "https://ana@example.com/",
            "/usr/lib/x86_64-linux-gnu/libssl3.so.1.1",
            "docs/2024/q3/quarterly-report-v2-final.pdf",
            r"C:\Users\Ana\Documents\2024\report.docx",
            "~/projects/kitbag/host/src/user_config.rs",
            "123e4567-e89b-12d3-a456-426614174000",
            "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
            "2024-05-17",
            "2024-05-17T12:30:00.123456+02:00",
            "20240517T123000Z",
            "ana.maria+kitbag-2024@mail.example.co.uk",
            "DE89370400440532013000",
            "+43 660 1234567",
            "48.2082,16.3738",
            "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
            "America/Argentina/Buenos_Aires",
            "getting-started-2024-edition-v2-draft-3",
            "x86_64-unknown-linux-gnu",
            "my-project-123456789012-europe-west3",
            "THE_LARGEST_NUMBER_OF_RESULTS_2024",
            "getUserByIdAndVersionFromDatabase",
            "Donaudampfschifffahrtsgesellschaftskapitän",
            "sk-learn",
            "sk-bratislava-old-town",
            "npm_config_registry",
            "hf_transformers",
            "ASIA",
            "AKIA is a prefix",
            "1234567890123456789012345678901234567890",
            "#ff8800,#00ff88",
            "0.1.0-alpha.1+build.20240517",
            "-----BEGIN CERTIFICATE-----",
        ] {
            assert_eq!(looks_secret(text), None, "{text}");
        }
    }
}
