//! How many requests are under way: of one user, and in all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Of one user.
const OF_ONE: usize = 4;
/// Of all users. Each may hold a request of full size.
const OF_ALL: usize = 16;

/// Counts requests under way; those beyond the bounds are refused, never queued.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<HashMap<String, usize>>>);

/// A request under way; dropped, it makes room for the next.
pub(super) struct Turn {
    turns: Turns,
    user: String,
}

impl Turns {
    /// Lets a request of `user` in, or returns nothing when it would be one too many.
    pub(super) fn take(&self, user: &str) -> Option<Turn> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_user = counts.get(user).copied().unwrap_or_default();
        if of_user >= OF_ONE || counts.values().sum::<usize>() >= OF_ALL {
            return None;
        }
        counts.insert(user.to_owned(), of_user + 1);
        Some(Turn { turns: self.clone(), user: user.to_owned() })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut counts = self.turns.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&self.user) {
            Some(count) if *count > 1 => *count -= 1,
            // The map holds only whoever asks now.
            _ => drop(counts.remove(&self.user)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_cannot_take_all_the_room_and_what_is_over_makes_room() {
        let turns = Turns::default();

        let mut of_ana: Vec<_> = (0..OF_ONE).map(|_| turns.take("ana").expect("there is room")).collect();
        assert!(turns.take("ana").is_none(), "ana has her share");
        let others: Vec<_> =
            (0..OF_ALL - OF_ONE).map(|user| turns.take(&user.to_string()).expect("there is room")).collect();
        assert!(turns.take("ben").is_none(), "the server is full");

        of_ana.pop();
        assert!(turns.take("ben").is_some(), "a request that is over makes room");
        drop((of_ana, others));
        assert!(turns.0.lock().expect("nobody panicked").is_empty(), "nobody is remembered");
    }
}
