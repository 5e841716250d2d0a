//! `Intl.Segmenter`, by ICU4X without its dictionaries: it does not find word boundaries within Thai, Lao,
//! Khmer, Burmese, Chinese and Japanese text.

use icu_segmenter::options::{SentenceBreakInvariantOptions, WordBreakInvariantOptions};
use icu_segmenter::{GraphemeClusterSegmenter, SentenceSegmenter, WordSegmenter};

/// Returns the end of each segment in UTF-16 code units, times two; plus one if the segment is word-like.
pub(crate) fn segment(text: &str, granularity: &str) -> Vec<u32> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let end = |index: usize| u32::try_from(index).unwrap_or(u32::MAX / 2) << 1;
    match granularity {
        "word" => {
            let mut ends = WordSegmenter::new_for_non_complex_scripts(WordBreakInvariantOptions::default())
                .segment_utf16(&units);
            let mut found = Vec::new();
            while let Some(index) = ends.next() {
                found.push(end(index) | u32::from(ends.is_word_like()));
            }
            found.split_off(1.min(found.len()))
        }
        "sentence" => SentenceSegmenter::new(SentenceBreakInvariantOptions::default())
            .segment_utf16(&units)
            .skip(1)
            .map(end)
            .collect(),
        _ => GraphemeClusterSegmenter::new().segment_utf16(&units).skip(1).map(end).collect(),
    }
}
