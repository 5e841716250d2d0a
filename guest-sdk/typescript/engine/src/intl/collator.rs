//! `Intl.Collator`, by ICU4X.

use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed};
use icu_locale::Locale;

/// A collator for a tag with the keywords `co`, `kf` and `kn`; `None` if the tag is not well-formed.
pub(crate) fn collator(tag: &str, sensitivity: &str, ignore_punctuation: bool) -> Option<CollatorBorrowed<'static>> {
    let locale = Locale::try_from_str(tag).ok()?;
    let mut options = CollatorOptions::default();
    options.strength = Some(match sensitivity {
        "base" | "case" => Strength::Primary,
        "accent" => Strength::Secondary,
        _ => Strength::Tertiary,
    });
    options.case_level = Some(if sensitivity == "case" { CaseLevel::On } else { CaseLevel::Off });
    options.alternate_handling =
        Some(if ignore_punctuation { AlternateHandling::Shifted } else { AlternateHandling::NonIgnorable });
    Collator::try_new((&locale).into(), options).ok()
}
