//! Entry points for `fuzz/`.

use tokio::sync::broadcast;

use super::Heard;
use super::hints::pass_on;

/// Returns the hints that a process named `me` receives from a notification, as text.
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
