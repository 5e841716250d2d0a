//! Medians and percentiles.

/// Returns the value below which `share` (0 to 1) of `values` lie. Sorts the values.
pub(crate) fn percentile<T: Copy + PartialOrd>(values: &mut [T], share: f64) -> Option<T> {
    values.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let last = values.len().checked_sub(1)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `last`")]
    let index = (last as f64 * share).round() as usize;
    values.get(index).copied()
}

/// Returns the median; 0 if there are no values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    percentile(&mut values, 0.5).unwrap_or_default()
}
