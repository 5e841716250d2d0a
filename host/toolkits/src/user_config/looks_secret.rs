//! Detects text that is a credential by its format. Long random text alone does not count: identifiers of
//! other services look like that.

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

/// Returns the reason why `text` looks like a credential, if it does. The reason does not quote the text.
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
    url.is_some_and(|url| url.password().is_some()).then_some("a URL with a password")
}

/// Whether a word in `text` begins with `prefix`, and continues like a token and not like a name: long, with
/// a digit.
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

/// Whether a word is a JWT (RFC 7519): three parts in base64url, the first two of which are JSON objects. The
/// third part of an unsigned one is empty.
fn is_jwt(word: &str) -> bool {
    let parts: Vec<_> = word.split('.').collect();
    let is_base64 =
        |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    parts.len() == 3
        && parts[0].starts_with("eyJ")
        && parts[1].starts_with("eyJ")
        && parts.iter().all(is_base64)
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
            "~/projects/kitbag/host/toolkits/src/user_config.rs",
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
            // Identifiers of Google Sheets, Docs, Drive, Calendar and Analytics, Notion, Trello, Airtable, Cloudflare, MongoDB,
            // YouTube, Spotify, Figma, Linear, Slack, Discord, Stripe, Contentful, Mapbox and Ethereum.
            "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms",
            "195j9eDD3ccgjQRttHhJPymLJUCOUjs-jmwTrekvdjFE",
            "0B7l10Bj_LprhQnpSRkpGMGV2eE0",
            "c_188amvh3kqm4ihmkn7d0nq7g3sgc8@group.calendar.google.com",
            "G-8F3KQ2ZL9X",
            "b55c9c91384d452b81dbd1ef79372b75",
            "5abbe4b7ddc1b351ef961414",
            "tblSZ1c0kRqDG5nDY",
            "023e105f4ecef8ad9ca31a8372d0c353",
            "507f1f77bcf86cd799439011",
            "UC_x5XG1OV2P6uZZ5FSM9Ttw",
            "37i9dQZF1DXcBWIGoYBM5M",
            "LKQ4FJ4bTnCSjedbRpk931",
            "9cfb482a-81e3-4154-b5b9-2c805e70a02d",
            "T01ABCDEFGH",
            "1098765432109876543",
            "acct_1032D82eZvKYlo2C",
            "cfexampleapi7a9b3kq2lm4x",
            "ck9bac9k71kxr1invzq0e8sjc",
            "0xde0B295669a9FD93d5F28D9Ec85E40f4cb697BAe",
            "d41d8cd98f00b204e9800998ecf8427e",
            "https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit#gid=0",
        ] {
            assert_eq!(looks_secret(text), None, "{text}");
        }
    }
}
