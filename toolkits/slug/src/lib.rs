//! Parts of URLs from titles, in every script.
//!
//! A toolkit of its own, because of its table: the transliterations of all scripts are half a megabyte, and each call, of
//! whichever tool, begins with all initial data of its toolkit.

use deunicode::deunicode;
use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

/// The toolkit's definition.
pub fn toolkit() -> Toolkit {
    Toolkit::new("slug", "Slugs")
        .description("Makes parts of URLs and names of files from titles.")
        .icon("🐌")
        .version(env!("CARGO_PKG_VERSION"))
        .visibility(Visibility::Shared)
        .tool(
            Tool::new("make", make)
                .title("Make a slug")
                .description(
                    "Turns a title into a slug for URLs and file names: lower-case ASCII words joined \
                     by hyphens. Other scripts are transliterated.",
                )
                .idempotent_hint(true),
        )
}

#[derive(Deserialize, JsonSchema)]
struct MakeArgs {
    /// The title.
    title: String,
    /// Maximum length of the slug, in characters. It is cut between words if possible.
    #[schemars(range(min = 1))]
    max_length: Option<usize>,
}

async fn make(args: MakeArgs, _ctx: Ctx) -> Result<String> {
    let slug = slugify(&args.title, args.max_length.unwrap_or(usize::MAX));
    if slug.is_empty() {
        return Err(ToolError::new("The title has no letter or digit that a slug could be made of.").into());
    }
    Ok(slug)
}

fn slugify(title: &str, max_length: usize) -> String {
    // An apostrophe is part of its word: "don't" is "dont", not "don-t".
    let ascii = deunicode(title).to_ascii_lowercase().replace('\'', "");
    let mut slug = String::new();
    for word in
        ascii.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
    {
        let separator = if slug.is_empty() { "" } else { "-" };
        if slug.len() + separator.len() + word.len() > max_length {
            if slug.is_empty() {
                slug.push_str(&word[..max_length]);
            }
            break;
        }
        slug.push_str(separator);
        slug.push_str(word);
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug(arguments: Value) -> Outcome {
        dispatch(&toolkit(), Call::new("make").args(arguments))
    }

    #[test]
    fn the_declaration_keeps_every_rule() {
        toolkit().check().expect("the declaration is valid");
    }

    #[test]
    fn words_are_joined_by_single_hyphens() {
        let outcome = slug(json!({ "title": "  Don't panic -- it's 42% über, Straße & Ćevapi! " }));

        assert_eq!(outcome.text(), "dont-panic-its-42-uber-strasse-cevapi");
    }

    #[test]
    fn other_scripts_are_transliterated() {
        assert_eq!(slug(json!({ "title": "Москва 北京" })).text(), "moskva-bei-jing");
    }

    #[test]
    fn a_long_slug_is_cut_between_words() {
        assert_eq!(slug(json!({ "title": "one two three", "max_length": 9 })).text(), "one-two");
        assert_eq!(slug(json!({ "title": "incomprehensible", "max_length": 5 })).text(), "incom");
    }

    #[test]
    fn a_title_without_letters_is_an_error_that_the_model_reads() {
        let outcome = slug(json!({ "title": "!?" }));

        assert_eq!(outcome.failure().code, ErrorCode::ToolError);
        assert!(outcome.failure().error.contains("no letter or digit"));
        assert!(!outcome.failure().retryable);
    }
}
