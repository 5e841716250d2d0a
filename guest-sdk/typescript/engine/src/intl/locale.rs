//! Language tags, by ICU4X: canonical form, likely subtags, and the choice of a locale's data for a request.

use icu_locale::{LanguageIdentifier, Locale, LocaleCanonicalizer, LocaleDirectionality, LocaleExpander};

use super::data::{self, LocaleData};

/// Puts a language tag into its canonical form; `None` if it is not well-formed (ECMA-402, section 6.2).
pub(crate) fn canonicalize(tag: &str) -> Option<String> {
    if tag.contains('_') {
        return None;
    }
    let mut locale = Locale::try_from_str(tag).ok()?;
    LocaleCanonicalizer::new_extended().canonicalize(&mut locale);
    Some(locale.to_string())
}

/// Adds likely subtags.
pub(crate) fn maximize(tag: &str) -> Option<String> {
    let mut locale = Locale::try_from_str(tag).ok()?;
    LocaleExpander::new_extended().maximize(&mut locale.id);
    Some(locale.to_string())
}

/// Removes likely subtags.
pub(crate) fn minimize(tag: &str) -> Option<String> {
    let mut locale = Locale::try_from_str(tag).ok()?;
    LocaleExpander::new_extended().minimize(&mut locale.id);
    Some(locale.to_string())
}

/// Returns the direction of the script: `rtl` or `ltr`.
pub(crate) fn direction(tag: &str) -> &'static str {
    let id = Locale::try_from_str(tag).map(|locale| locale.id);
    if id.is_ok_and(|id| LocaleDirectionality::new_extended().is_right_to_left(&id)) { "rtl" } else { "ltr" }
}

/// Available locale, and the locale whose data it uses.
pub(crate) struct Available {
    pub(crate) name: String,
    pub(crate) data: LocaleData,
}

/// Finds the best available locale for a canonical tag without extensions (ECMA-402, section 9.2.2). Parents
/// listed in CLDR take precedence over those found by removing subtags: `es-AR` has the data of `es-419`.
pub(crate) fn best(tag: &str) -> Option<Available> {
    let supplemental = data::supplemental();
    let expanded = |tag: &str| {
        let mut id = LanguageIdentifier::try_from_str(tag).ok()?;
        LocaleExpander::new_extended().maximize(&mut id);
        Some(id)
    };
    let script = expanded(tag)?.script;
    let mut name = tag.to_owned();
    // Each step removes a subtag or goes to a parent; no locale needs 8 steps.
    for _ in 0..8 {
        if let Some(data) = data_for(&name) {
            return Some(Available { name, data });
        }
        let full = expanded(&name)?;
        let language = full.language.to_string();
        let with_script = full.script.map(|script| format!("{language}-{script}"));
        for candidate in with_script.iter().chain([&language]) {
            if let Some(data) = data_for(candidate).filter(|_| expanded(candidate).as_ref() == Some(&full)) {
                return Some(Available { name, data });
            }
        }
        if let Some(parent) = data::find(&supplemental.parents, &name) {
            name = String::from(*parent);
            continue;
        }
        let shorter = name.rsplit_once('-').map(|(shorter, _)| shorter.to_owned())?;
        // A shorter tag may imply another script, as `zh` does for `zh-HK`.
        name = if expanded(&shorter)?.script == script {
            shorter
        } else {
            with_script.filter(|scripted| *scripted != name)?
        };
    }
    None
}

fn data_for(name: &str) -> Option<LocaleData> {
    LocaleData::named(name).or_else(|| {
        let same = data::find(&data::supplemental().same, name)?;
        LocaleData::named(same)
    })
}

/// Returns the hour cycle that the locale's region prefers, as a pattern letter: `h`, `H`, `K` or `k`.
pub(crate) fn hour(tag: &str) -> char {
    let full = Locale::try_from_str(tag).ok().map(|locale| locale.id).map(|mut id| {
        LocaleExpander::new_extended().maximize(&mut id);
        (id.language.to_string(), id.region.map_or(String::new(), |region| region.to_string()))
    });
    let (language, region) = full.unwrap_or_default();
    let hours = &data::supplemental().hours;
    let of = |place: &str| {
        hours
            .iter()
            .find(|(known, _, _)| *known == place)
            .and_then(|(_, preferred, _)| preferred.chars().next())
    };
    of(&format!("{language}-{region}")).or_else(|| of(&region)).or_else(|| of("001")).unwrap_or('H')
}
