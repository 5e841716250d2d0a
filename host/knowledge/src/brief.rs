//! Search over short texts that are not documents, such as declarations of tools: full-text and semantic,
//! like the search over documents. The caller stores the texts, and passes the candidates of each search:
//! inverse document frequencies depend on those alone.

use super::bm25::{Texts, frequencies};
use super::fusion::{Candidate, DEPTH, fuse};
use super::words::{self, Analyzer, Language, QueryWord, Term};

/// Weight of the semantic ranking, higher than for documents: a text of one or two sentences rarely contains
/// the words that people use for it (docs/decisions/0072).
const MEANING_WEIGHT: f64 = 0.85;

/// Largest number of indexed bytes per text; the rest is ignored.
const MAX_BYTES: usize = 8 << 10;

/// Short text, prepared for search.
#[derive(Debug)]
pub struct BriefText {
    analyzer: Analyzer,
    /// Length in words.
    length: u32,
    /// Distinct words, ascending, with term frequencies.
    counts: Box<[(Term, u16)]>,
}

/// Candidate of a search.
#[derive(Clone, Copy, Debug)]
pub struct BriefCandidate<'a> {
    /// Indexed words of the text.
    pub words: &'a BriefText,
    /// Cosine similarity with the query's vector, −1 to 1; `None` if unknown.
    pub cosine: Option<f32>,
}

impl BriefText {
    /// Prepares a text. Words of the title have twice the weight.
    pub fn new(title: &str, text: &str) -> Self {
        let [title, text] =
            [title, text].map(|text| words::plain(&text[..text.floor_char_boundary(MAX_BYTES)]));
        let counted = words::count(Language::of(&title, &text), &title, &text);
        let counted = words::counted(&counted).expect("these bytes were just written");
        Self { analyzer: counted.analyzer, length: counted.length, counts: counted.terms.collect() }
    }

    /// Term frequency of a query word in the text.
    fn count(&self, word: &QueryWord) -> u16 {
        let Some(term) = word.term(self.analyzer) else { return 0 };
        let place = self.counts.binary_search_by_key(&term, |(term, _)| *term);
        place.map_or(0, |place| self.counts[place].1)
    }
}

/// Ranks candidates by relevance to a query. Returns their indexes, best first; candidates without a common
/// word and without a cosine are left out.
pub fn rank(candidates: &[BriefCandidate<'_>], query: &str) -> Vec<usize> {
    let by_words = best_first(by_words(candidates, &words::plain(query)));
    let by_meaning = candidates.iter().zip(0..).filter_map(|(it, index)| Some((index, it.cosine?)));
    let by_meaning = best_first(by_meaning.filter(|(_, cosine)| cosine.is_finite()).collect());
    let candidate = |index| usize::try_from(index).ok().and_then(|index: usize| candidates.get(index));
    let cosine = |index| candidate(index).and_then(|candidate| candidate.cosine);
    let is_unread = |index: i64| !cosine(index).is_some_and(f32::is_finite);
    let ranking = fuse(&by_words, &by_meaning, MEANING_WEIGHT, is_unread).into_iter();
    ranking.filter_map(|found| usize::try_from(found.document).ok()).collect()
}

/// Indexes and BM25 scores of the texts that contain any query word.
fn by_words(candidates: &[BriefCandidate<'_>], query: &str) -> Vec<(i64, f32)> {
    let analyzers = candidates.iter().map(|it| it.words.analyzer).collect();
    let words = words::of_query(query, analyzers);
    let frequencies = frequencies(&words);
    let length = candidates.iter().map(|it| u64::from(it.words.length)).sum();
    let texts = Texts::new(candidates.len(), length);
    let mut scores = vec![0.0; candidates.len()];
    for (word, frequency) in frequencies {
        let having = candidates.iter().map(|it| u32::from(it.words.count(word))).zip(0..);
        let having: Vec<(u32, usize)> = having.filter(|(count, _)| *count > 0).collect();
        let weight = frequency * texts.inverse_document_frequency(having.len());
        for (count, index) in having {
            scores[index] += weight * texts.gain(count, candidates[index].words.length);
        }
    }
    (0..).zip(scores).filter(|(_, score)| *score > 0.0).collect()
}

/// Sorts by score, descending; ties are sorted by index.
fn best_first(mut scores: Vec<(i64, f32)>) -> Vec<Candidate> {
    scores.sort_by(|one, other| other.1.total_cmp(&one.1));
    scores.truncate(DEPTH);
    scores.into_iter().map(|(index, score)| Candidate { document: index, chunk: index, score }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<BriefText> {
        [
            ("weather forecast", "Hourly and daily forecast for a place."),
            ("mail send", "Sends an e-mail. place"),
            (
                "wetter vorhersage",
                "Zeigt die Vorhersage der nächsten Tage für einen Ort und warnt vor Stürmen.",
            ),
        ]
        .map(|(title, text)| BriefText::new(title, text))
        .into()
    }

    fn found(query: &str, cosines: [Option<f32>; 3]) -> Vec<usize> {
        let texts = texts();
        let candidates: Vec<_> =
            texts.iter().zip(cosines).map(|(words, cosine)| BriefCandidate { words, cosine }).collect();
        rank(&candidates, query)
    }

    #[test]
    fn words_are_found_in_all_their_forms_and_languages() {
        for (query, expected) in [
            ("forecasts", vec![0]),
            ("SENDING e-mails", vec![1]),
            ("Vorhersagen", vec![2]),
            ("forecast of a place", vec![0, 1]),
            ("nothing of that kind", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(found(query, [None; 3]), expected, "{query}");
        }
    }

    #[test]
    fn meaning_ranks_what_has_no_word_and_is_not_needed() {
        assert_eq!(found("rain", [Some(0.6), Some(0.1), Some(0.5)]), [0, 2, 1]);
        assert_eq!(found("send", [Some(0.2), Some(0.2), None]), [1, 0], "nothing is known of the last one");
        assert_eq!(found("rain", [Some(f32::NAN), None, Some(0.1)]), [2]);
    }

    #[test]
    fn a_text_of_any_length_takes_bounded_memory() {
        let words = (0..100_000).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");

        let text = BriefText::new(&words, &words);

        assert!(text.counts.len() < MAX_BYTES, "{}", text.counts.len());
        assert!(BriefText::new("", "").counts.is_empty());
    }
}
