//! Term extraction from a passage: by the rules of its language, and with or without pairs of characters.

use std::ops::Range;

use xxhash_rust::xxh32::xxh32;

use super::Term;
use super::fold::fold;
use super::language::Language;
use super::tokens::{self, Kind, Token};

/// Extracts terms from a text. Codes never change, since chunks store them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Analyzer {
    language: Language,
    /// Whether runs of Chinese, Japanese and Korean are compared by pairs of characters. Older chunks have
    /// single characters, and whole Korean words.
    has_pairs: bool,
}

/// Set of analyzers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Analyzers(u64);

/// Word of a text, with its term.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// Position in the text, in bytes.
    pub(crate) range: Range<usize>,
    pub(crate) term: Term,
    /// Whether this is a pair of characters, each of which is a word too.
    pub(super) is_pair: bool,
}

impl Analyzer {
    /// Analyzer for a passage in a language.
    pub(super) fn for_passage(language: Language, title: &str, text: &str) -> Self {
        Self { language, has_pairs: [title, text].into_iter().any(tokens::has_characters) }
    }

    pub(super) fn code(self) -> u8 {
        self.language.code() << 1 | u8::from(self.has_pairs)
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        Some(Self { language: Language::from_code(code >> 1)?, has_pairs: code & 1 == 1 })
    }

    /// Words of a text; for runs of Chinese, Japanese and Korean also each pair of characters.
    pub(crate) fn words(self, text: &str) -> impl Iterator<Item = Word> + '_ {
        let mut buffers = Default::default();
        self.tokens(text).map(move |token| self.word(text, token, &mut buffers))
    }

    /// Words of a query, each with whether it is a stop word of the language. Pairs replace their characters.
    pub(super) fn query_words(self, query: &str) -> Vec<(Word, bool)> {
        let tokens: Vec<_> = self.tokens(query).collect();
        // A pair follows its second character: as the next token, or the one after that.
        let is_paired = |at: usize| {
            let Token { range: Range { start, end }, kind } = &tokens[at];
            let covers = |next: &Token| {
                next.kind == Kind::Pair && next.range.start <= *start && *end <= next.range.end
            };
            *kind == Kind::Character && tokens[at + 1..].iter().take(2).any(covers)
        };
        let mut buffers = Default::default();
        let kept = (0..tokens.len()).filter(|at| !is_paired(*at)).map(|at| tokens[at].clone());
        kept.map(|token| {
            let is_stop_word =
                token.kind == Kind::Word && self.language.is_stop_word(&query[token.range.clone()]);
            (self.word(query, token, &mut buffers), is_stop_word)
        })
        .collect()
    }

    fn tokens(self, text: &str) -> impl Iterator<Item = Token> + '_ {
        // One of the two texts is empty.
        let (words, pairs) = if self.has_pairs { ("", text) } else { (text, "") };
        tokens::words(words).chain(tokens::words_and_pairs(pairs))
    }

    fn word(self, text: &str, Token { range, kind }: Token, buffers: &mut [String; 2]) -> Word {
        let word = &text[range.clone()];
        let term = if kind == Kind::Word {
            xxh32(self.language.stem(word, buffers).as_bytes(), 0)
        } else {
            let [folded, _] = buffers;
            fold(word, folded);
            xxh32(folded.as_bytes(), 0)
        };
        Word { range, term, is_pair: kind == Kind::Pair }
    }
}

impl Analyzers {
    pub(crate) fn contains(self, analyzer: Analyzer) -> bool {
        self.0 & Self::from(analyzer).0 != 0
    }

    pub(super) fn insert(&mut self, analyzer: Analyzer) {
        self.0 |= Self::from(analyzer).0;
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Analyzer> {
        (0..=u8::MAX).map_while(Analyzer::from_code).filter(move |analyzer| self.contains(*analyzer))
    }
}

impl From<Analyzer> for Analyzers {
    fn from(analyzer: Analyzer) -> Self {
        Self(1 << analyzer.code())
    }
}

impl FromIterator<Analyzer> for Analyzers {
    fn from_iter<T: IntoIterator<Item = Analyzer>>(analyzers: T) -> Self {
        let mut some = Self::default();
        analyzers.into_iter().for_each(|analyzer| some.insert(analyzer));
        some
    }
}
