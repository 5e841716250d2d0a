//! Entry points for `fuzz/`.

use tokio::sync::broadcast;

use super::Heard;
use super::hints::pass_on;

/// The hints in a notification that a process hears whose name is `me`, as they are written.
pub fn hints(payload: &str, me: &str) -> Vec<String> {
    let (sender, mut heard) = broadcast::channel(payload.len() + 1);
    pass_on(payload, me, &sender);
    let heard = std::iter::from_fn(|| heard.try_recv().ok());
    heard
        .map(|heard| match heard {
            Heard::Hint(hint) => hint.to_string(),
            Heard::Everything => "everything".to_owned(),
        })
        .collect()
}
