//! Language detection, and rules for the words of each language.
//!
//! Invariant: the code of a language, and what its stemmer makes of a word, never change.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::Lang;

use super::fold::{fold, lowercase};
use super::tokens::words;

/// Language with a stemmer. Texts in other languages follow the rules of English, most of which do not affect
/// their words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Language {
    #[default]
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Danish,
    Norwegian,
    Finnish,
    Hungarian,
    Romanian,
    Russian,
    Turkish,
    Arabic,
}

/// Languages, indexed by code.
pub(super) const LANGUAGES: [Language; 16] = [
    Language::English,
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Portuguese,
    Language::Dutch,
    Language::Swedish,
    Language::Danish,
    Language::Norwegian,
    Language::Finnish,
    Language::Hungarian,
    Language::Romanian,
    Language::Russian,
    Language::Turkish,
    Language::Arabic,
];

// Sets of analyzers have one bit for each language with pairs of characters, and one without.
const _: () = assert!(2 * LANGUAGES.len() <= 64);

/// Bytes of a text that are used to detect its language.
const SAMPLE: usize = 4 << 10;

/// Longest word that is stemmed, in characters; longer ones are numbers, keys and the like.
const MAX_STEMMED_LENGTH: usize = 40;

/// Detects the language of a document; returns its ISO 639-3 code, or `None` if uncertain.
pub fn language_of(title: &str, text: &str) -> Option<&'static str> {
    Some(detect(title, text)?.code())
}

/// Whether the word is a stop word of any language.
pub(crate) fn is_stop_word(word: &str) -> bool {
    LANGUAGES.iter().any(|language| language.is_stop_word(word))
}

/// Detects the language from the beginning of the text.
fn detect(title: &str, text: &str) -> Option<Lang> {
    let beginning = |text: &str| text[..text.floor_char_boundary(SAMPLE)].to_owned();
    let sample = beginning(title) + "\n" + &beginning(text);
    let detected = whatlang::detect(&sample)?;
    if detected.is_reliable() {
        return Some(detected.lang());
    }
    // Letter statistics of a short text are unreliable, but it contains some of the most frequent words.
    let language = Language::detected(detected.lang())?;
    let [own, english] = [language, Language::English].map(|language| language.stop_words_in(&sample));
    let has_more = language == Language::English || own > english;
    (own > 1 && has_more).then_some(detected.lang())
}

impl Language {
    /// Language of a document, detected from the beginning of its text; English if uncertain.
    pub(crate) fn of(title: &str, text: &str) -> Self {
        detect(title, text).and_then(Self::detected).unwrap_or_default()
    }

    pub(super) fn code(self) -> u8 {
        self as u8
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        LANGUAGES.get(usize::from(code)).copied()
    }

    /// Stem of a word without accents; stored in one of the buffers.
    pub(super) fn stem<'a>(self, word: &str, [first, second]: &'a mut [String; 2]) -> Cow<'a, str> {
        if self != Self::English {
            self.prepare(word, first);
            let word = self.without_article(first);
            if word.chars().nth(MAX_STEMMED_LENGTH).is_none() && word.chars().all(|letter| self.has(letter)) {
                fold(&Stemmer::create(self.algorithm()).stem(word), second);
                if self == Self::Turkish {
                    // `I` may be the capital of `i` in a foreign word.
                    *second = second.replace('ı', "i");
                }
                return Cow::Borrowed(second);
            }
        }
        fold(word, first);
        let is_stemmed = first.len() <= MAX_STEMMED_LENGTH
            && first.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'\'');
        if is_stemmed { Stemmer::create(Algorithm::English).stem(first) } else { Cow::Borrowed(first) }
    }

    /// Whether the word is a stop word of the language.
    pub(super) fn is_stop_word(self, word: &str) -> bool {
        let mut lower = String::new();
        let mut folded = String::new();
        self.prepare(word, &mut lower);
        fold(self.without_article(&lower), &mut folded);
        STOP_WORDS[self as usize].contains(&folded)
    }

    /// Number of stop words in a text, except single ASCII letters, which are ambiguous.
    fn stop_words_in(self, text: &str) -> usize {
        let words = words(text).map(|word| &text[word.range]);
        words.filter(|word| word.len() > 1 && self.is_stop_word(word)).count()
    }

    /// Writes a word as its stemmer expects it, even if it was typed without accents.
    fn prepare(self, word: &str, prepared: &mut String) {
        if self == Self::Turkish {
            lowercase(&word.replace('I', "ı").replace('İ', "i"), prepared);
        } else {
            lowercase(word, prepared);
        }
        match self {
            // Letters with a cedilla are the older encoding, which the stemmer expects.
            Self::Romanian if !prepared.is_ascii() => {
                *prepared = prepared.replace('ș', "ş").replace('ț', "ţ");
            }
            Self::Russian => *prepared = prepared.replace('ё', "е"),
            Self::Spanish => replace_ending(prepared, &[("ion", "ión")]),
            // Includes the plural, for which the stemmer has another stem.
            Self::Portuguese => replace_ending(
                prepared,
                &[
                    ("cao", "ção"),
                    ("coes", "ção"),
                    ("ções", "ção"),
                    ("ao", "ão"),
                    ("oes", "ão"),
                    ("ões", "ão"),
                ],
            ),
            _ => {}
        }
    }

    /// Word without an attached article or the like: `l'avion`, `dell'arte`.
    fn without_article(self, word: &str) -> &str {
        let articles: &[&str] = match self {
            Self::French => {
                &["c", "d", "j", "jusqu", "l", "lorsqu", "m", "n", "puisqu", "qu", "quoiqu", "s", "t"]
            }
            Self::Italian => &[
                "agl", "all", "c", "coll", "d", "dagl", "dall", "degl", "dell", "gl", "l", "m", "negl",
                "nell", "quell", "quest", "s", "sugl", "sull", "t", "un", "v",
            ],
            _ => return word,
        };
        match word.split_once('\'') {
            Some((article, rest)) if articles.contains(&article) && !rest.is_empty() => rest,
            _ => word,
        }
    }

    /// Whether the stemmer supports words with this letter: in others it would find false endings.
    fn has(self, letter: char) -> bool {
        match self {
            Self::Russian => matches!(letter, 'а'..='я' | 'ё'),
            Self::Arabic => matches!(letter, '\u{620}'..='\u{65f}'),
            _ => letter == '\'' || letter.is_ascii_lowercase() || matches!(letter, '\u{df}'..='\u{24f}'),
        }
    }

    fn detected(lang: Lang) -> Option<Self> {
        let language = match lang {
            Lang::Eng => Self::English,
            Lang::Deu => Self::German,
            Lang::Fra => Self::French,
            Lang::Spa => Self::Spanish,
            Lang::Ita => Self::Italian,
            Lang::Por => Self::Portuguese,
            Lang::Nld => Self::Dutch,
            Lang::Swe => Self::Swedish,
            Lang::Dan => Self::Danish,
            Lang::Nob => Self::Norwegian,
            Lang::Fin => Self::Finnish,
            Lang::Hun => Self::Hungarian,
            Lang::Ron => Self::Romanian,
            Lang::Rus => Self::Russian,
            Lang::Tur => Self::Turkish,
            Lang::Ara => Self::Arabic,
            _ => return None,
        };
        Some(language)
    }

    fn algorithm(self) -> Algorithm {
        match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Swedish => Algorithm::Swedish,
            Self::Danish => Algorithm::Danish,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Finnish => Algorithm::Finnish,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Turkish => Algorithm::Turkish,
            Self::Arabic => Algorithm::Arabic,
        }
    }

    /// Name of the NLTK stop word list. (The longer ISO list has, in English, `system`, `computer`, `world`.)
    pub(super) fn stop_words(self) -> stop_words::Language {
        match self {
            Self::English => stop_words::Language::English,
            Self::German => stop_words::Language::German,
            Self::French => stop_words::Language::French,
            Self::Spanish => stop_words::Language::Spanish,
            Self::Italian => stop_words::Language::Italian,
            Self::Portuguese => stop_words::Language::Portuguese,
            Self::Dutch => stop_words::Language::Dutch,
            Self::Swedish => stop_words::Language::Swedish,
            Self::Danish => stop_words::Language::Danish,
            Self::Norwegian => stop_words::Language::Norwegian,
            Self::Finnish => stop_words::Language::Finnish,
            Self::Hungarian => stop_words::Language::Hungarian,
            Self::Romanian => stop_words::Language::Romanian,
            Self::Russian => stop_words::Language::Russian,
            Self::Turkish => stop_words::Language::Turkish,
            Self::Arabic => stop_words::Language::Arabic,
        }
    }
}

/// Replaces the first matching ending, unless fewer than two letters would remain before it.
fn replace_ending(word: &mut String, endings: &[(&str, &str)]) {
    for (ending, replacement) in endings {
        if word.strip_suffix(ending).is_some_and(|rest| rest.chars().nth(1).is_some()) {
            word.truncate(word.len() - ending.len());
            word.push_str(replacement);
            return;
        }
    }
}

/// Stop words of each language, folded, since queries often omit accents.
static STOP_WORDS: LazyLock<[HashSet<String>; LANGUAGES.len()]> = LazyLock::new(|| {
    LANGUAGES.map(|language| {
        let mut folded = String::new();
        let words = stop_words::get(language.stop_words()).iter();
        words
            .map(|word| {
                fold(word, &mut folded);
                folded.clone()
            })
            .collect()
    })
});
