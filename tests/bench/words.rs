//! Meaningless texts.

/// Generates pseudorandom words, the same in every run, with frequencies as in a natural language.
pub(crate) fn words(seed: usize, count: usize) -> String {
    const VOCABULARY: f64 = 20_000.0;

    let mut state = seed as u64;
    let words: Vec<_> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The logarithm of the rank is uniformly distributed: Zipf's law.
            format!("w{:.0}", VOCABULARY.powf((state >> 40) as f64 / f64::from(1 << 24)))
        })
        .collect();
    words.join(" ")
}
