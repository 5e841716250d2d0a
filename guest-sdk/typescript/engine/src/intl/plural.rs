//! Plural rules, by ICU4X.

use fixed_decimal::Decimal;
use icu_locale::Locale;
use icu_plurals::{PluralCategory, PluralRuleType, PluralRules};

/// Plural rules of a locale; if it has no rules, all numbers are `other`.
pub(crate) struct Plurals(Option<PluralRules>);

impl Plurals {
    pub(crate) fn new(locale: &str, kind: PluralRuleType) -> Self {
        let locale: Option<Locale> = locale.parse().ok();
        Self(locale.and_then(|locale| PluralRules::try_new((&locale).into(), kind.into()).ok()))
    }

    /// Returns the category of a number, which depends on the digits that are shown.
    pub(crate) fn category(&self, number: &Decimal) -> &'static str {
        self.0.as_ref().map_or("other", |rules| name(rules.category_for(number)))
    }

    /// Returns the plural categories in the order of ECMA-402.
    pub(crate) fn categories(&self) -> Vec<&'static str> {
        let order = ["few", "many", "one", "two", "zero", "other"];
        let known: Vec<_> = self.0.iter().flat_map(|rules| rules.categories().map(name)).collect();
        order.into_iter().filter(|category| *category == "other" || known.contains(category)).collect()
    }
}

fn name(category: PluralCategory) -> &'static str {
    match category {
        PluralCategory::Zero => "zero",
        PluralCategory::One => "one",
        PluralCategory::Two => "two",
        PluralCategory::Few => "few",
        PluralCategory::Many => "many",
        PluralCategory::Other => "other",
    }
}
