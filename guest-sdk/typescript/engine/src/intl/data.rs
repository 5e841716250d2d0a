//! The locale data. Each section is unpacked on first use, and then stays in memory: sections that are used
//! while a component is built are part of its snapshot.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::thread::LocalKey;

use icu_collator::provider::CollationData;
use serde::Deserialize;

use super::schema;

use packed::{COLLATIONS, LOCALES, SPANS, SUPPLEMENTAL, ZONES};

/// The index that `build.rs` writes.
#[allow(clippy::unreadable_literal, reason = "offsets are generated")]
mod packed {
    include!(concat!(env!("OUT_DIR"), "/intl.rs"));
}

static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/intl.bin"));

type Text = &'static str;
pub(crate) type Numbers = schema::Numbers<Text>;
pub(crate) type System = schema::System<Text>;
pub(crate) type CurrencyNames = schema::CurrencyNames<Text>;
pub(crate) type Units = schema::Units<Text>;
pub(crate) type Calendar = schema::Calendar<Text>;
pub(crate) type Dates = schema::Dates<Text>;
pub(crate) type Zones = schema::Zones<Text>;
pub(crate) type Phrases = schema::Phrases<Text>;
pub(crate) type Supplemental = schema::Supplemental<Text>;

type Cache<T> = RefCell<BTreeMap<usize, &'static T>>;

/// A locale with data.
#[derive(Clone, Copy)]
pub(crate) struct LocaleData(&'static (&'static str, [usize; 6]));

impl LocaleData {
    /// Finds a locale by its exact name, such as `pt-PT`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        LOCALES.binary_search_by_key(&name, |(name, _)| name).ok().map(|found| Self(&LOCALES[found]))
    }

    pub(crate) fn name(self) -> &'static str {
        self.0.0
    }

    /// Returns the language subtag.
    pub(crate) fn language(self) -> &'static str {
        self.name().split('-').next().unwrap_or_default()
    }

    pub(crate) fn numbers(self) -> &'static Numbers {
        thread_local!(static CACHE: Cache<Numbers> = Cache::default());
        section(&CACHE, self.0.1[0])
    }

    pub(crate) fn currency_names(self) -> &'static CurrencyNames {
        thread_local!(static CACHE: Cache<CurrencyNames> = Cache::default());
        section(&CACHE, self.0.1[1])
    }

    pub(crate) fn units(self) -> &'static Units {
        thread_local!(static CACHE: Cache<Units> = Cache::default());
        section(&CACHE, self.0.1[2])
    }

    pub(crate) fn dates(self) -> &'static Dates {
        thread_local!(static CACHE: Cache<Dates> = Cache::default());
        section(&CACHE, self.0.1[3])
    }

    pub(crate) fn zones(self) -> &'static Zones {
        thread_local!(static CACHE: Cache<Zones> = Cache::default());
        section(&CACHE, self.0.1[4])
    }

    pub(crate) fn phrases(self) -> &'static Phrases {
        thread_local!(static CACHE: Cache<Phrases> = Cache::default());
        section(&CACHE, self.0.1[5])
    }
}

/// Returns the data that does not belong to one locale.
pub(crate) fn supplemental() -> &'static Supplemental {
    thread_local!(static CACHE: Cache<Supplemental> = Cache::default());
    section(&CACHE, SUPPLEMENTAL)
}

/// Finds a key in a sorted table.
pub(crate) fn find<'t, V>(table: &'t [(Text, V)], key: &str) -> Option<&'t V> {
    table.binary_search_by_key(&key, |(known, _)| known).ok().map(|found| &table[found].1)
}

/// Returns the text for a plural category, or the one for `other` if there is none.
pub(crate) fn plural(counts: &[(Text, Text)], category: &str) -> Text {
    let of = |wanted: &str| counts.iter().find(|(count, _)| *count == wanted).map(|(_, text)| *text);
    of(category).or_else(|| of("other")).unwrap_or("{0}")
}

/// Returns the collation tailoring of ICU4X for a locale, by the collation's name.
pub(crate) fn tailoring(locale: LocaleData, collation: &str) -> Option<&'static CollationData<'static>> {
    thread_local!(static CACHE: Cache<CollationData<'static>> = Cache::default());
    let of = COLLATIONS.iter().find(|(name, known, _)| *name == locale.name() && *known == collation);
    of.map(|(_, _, number)| section(&CACHE, *number))
}

/// Returns the canonical spelling and the `TZif` file of a zone in the IANA database; ignores case.
pub(crate) fn time_zone(name: &str) -> Option<(&'static str, Vec<u8>)> {
    let wanted = name.to_ascii_lowercase();
    let found = ZONES
        .binary_search_by(|(known, _)| {
            known.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(wanted.bytes())
        })
        .ok()?;
    let (name, number) = ZONES[found];
    Some((name, unpack(number)))
}

/// Returns the names of all zones.
pub(crate) fn time_zones() -> impl Iterator<Item = &'static str> {
    ZONES.iter().map(|(name, _)| *name)
}

/// Returns the names of all locales with data.
pub(crate) fn locales() -> impl Iterator<Item = &'static str> {
    LOCALES.iter().map(|(name, _)| *name)
}

/// Returns a section, unpacked. The memory is leaked: the number of sections is fixed, and each is unpacked
/// once.
fn section<T: Deserialize<'static>>(cache: &'static LocalKey<Cache<T>>, number: usize) -> &'static T {
    if let Some(known) = cache.with_borrow(|cache| cache.get(&number).copied()) {
        return known;
    }
    let section =
        postcard::from_bytes(unpack(number).leak()).expect("build.rs wrote the section with the same types");
    let section: &'static T = Box::leak(Box::new(section));
    cache.with_borrow_mut(|cache| cache.insert(number, section));
    section
}

fn unpack(number: usize) -> Vec<u8> {
    let (start, length) = SPANS[number];
    miniz_oxide::inflate::decompress_to_vec_with_limit(&BYTES[start..], length)
        .expect("build.rs deflated the section")
}
