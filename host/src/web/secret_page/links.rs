//! Links to the page on which a person sets one secret, as long as they are good.
//!
//! Invariants:
//! - a link is for one user, one secret, and a toolkit as long as it is its owner's; it sets that secret once, and
//!   is forgotten after ten minutes;
//! - no user can make the server keep more than a few, nor push out those of others with them.
//!
//! They are kept in the memory of one process. Several processes behind one base URL would have to share
//! them, or a person could reach one that does not know the link.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::access::OwnSecret;
use crate::identity::random_text;

/// How long a link is good.
const LIFETIME: Duration = Duration::from_mins(10);
/// A link that is good for less than this is not given out again.
const MIN_REMAINING: Duration = Duration::from_mins(5);
/// Links of one user; beyond as many, the user's oldest is forgotten.
const MAX_LINKS_PER_USER: usize = 16;
/// Links of all users; beyond as many, the oldest is forgotten.
const MAX_LINKS: usize = 4096;
/// Calls that wait for the same secret.
const MAX_WAITING_CALLS: usize = 4;

/// All links that are good at the moment.
#[derive(Default)]
pub(in crate::web) struct Links(Mutex<Vec<Link>>);

/// One link. Whoever waits for it goes on when it is dropped.
struct Link {
    secret: OwnSecret,
    /// 256 random bits.
    id: SecretString,
    expires: Instant,
    /// Whether somebody is setting the secret with it at the moment.
    is_claimed: bool,
    waiting: Arc<Semaphore>,
    over: CancellationToken,
    _ends_waiting: DropGuard,
}

/// The right to set one secret, once. Dropped, it leaves the link as it was.
pub(super) struct Claim<'a> {
    links: &'a Links,
    id: SecretString,
}

/// A call that waits until a link has been used, or is good no more.
pub(in crate::web) struct Wait {
    over: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Links {
    /// Returns the id of a link to the page of `secret`: the one that was given out before, unless it expires soon, so
    /// that a page which is open stays valid.
    pub(in crate::web) fn give(&self, secret: OwnSecret) -> SecretString {
        let mut links = self.good();
        let worth_giving = Instant::now() + MIN_REMAINING;
        if let Some(link) = links.iter().find(|link| link.secret == secret && link.expires > worth_giving) {
            return link.id.clone();
        }
        let user = &secret.slot().user;
        let of_user: Vec<_> =
            (0..links.len()).filter(|index| links[*index].secret.slot().user == *user).collect();
        if of_user.len() >= MAX_LINKS_PER_USER {
            links.remove(of_user[0]);
        } else if links.len() >= MAX_LINKS {
            links.remove(0);
        }
        let link = Link::new(secret);
        let id = link.id.clone();
        links.push(link);
        id
    }

    /// The secret that the link with this id is for.
    pub(super) fn look_up(&self, id: &str) -> Option<OwnSecret> {
        self.good().iter().find(|link| link.is(id) && !link.is_claimed).map(|link| link.secret.clone())
    }

    /// Claims the link with this id: while it is claimed it is good for nobody else. Whoever waits for it
    /// goes on waiting, because the secret is not set yet.
    pub(super) fn claim(&self, id: &str) -> Option<Claim<'_>> {
        let mut links = self.good();
        let link = links.iter_mut().find(|link| link.is(id) && !link.is_claimed)?;
        link.is_claimed = true;
        Some(Claim { links: self, id: link.id.clone() })
    }

    /// Waits for the link for `secret`, if there is one and not too many wait for it already.
    pub(in crate::web) fn wait(&self, secret: &OwnSecret) -> Option<Wait> {
        let links = self.good();
        let link = links.iter().rfind(|link| link.secret == *secret)?;
        let place = link.waiting.clone().try_acquire_owned().ok()?;
        Some(Wait { over: link.over.clone(), _place: place })
    }

    /// The links that are good, oldest first.
    fn good(&self) -> MutexGuard<'_, Vec<Link>> {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        links.retain(|link| link.expires > now);
        links
    }
}

impl Link {
    fn new(secret: OwnSecret) -> Self {
        let over = CancellationToken::new();
        Self {
            secret,
            id: random_text::<32>().into(),
            expires: Instant::now() + LIFETIME,
            is_claimed: false,
            waiting: Arc::new(Semaphore::new(MAX_WAITING_CALLS)),
            _ends_waiting: over.clone().drop_guard(),
            over,
        }
    }

    fn is(&self, id: &str) -> bool {
        verify_slices_are_equal(self.id.expose_secret().as_bytes(), id.as_bytes()).is_ok()
    }
}

impl Claim<'_> {
    /// Ends the link, because the secret is set.
    pub(super) fn use_up(self) {
        self.links.good().retain(|link| !link.is(self.id.expose_secret()));
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.links.good().iter_mut().find(|link| link.is(self.id.expose_secret())) {
            link.is_claimed = false;
        }
    }
}

impl Wait {
    /// Returns when the link has been used or forgotten.
    pub(in crate::web) async fn over(&self) {
        self.over.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(user: &str, name: &str) -> OwnSecret {
        OwnSecret::for_test(user, "weather", "olga", name)
    }

    fn give(links: &Links, user: &str, name: &str) -> String {
        links.give(secret(user, name)).expose_secret().to_owned()
    }

    fn expire(links: &Links, left: Duration) {
        for link in links.good().iter_mut() {
            link.expires = Instant::now() + left;
        }
    }

    #[test]
    fn a_link_is_good_once() {
        let links = Links::default();
        let id = give(&links, "ana", "API_KEY");

        assert_eq!(links.look_up(&id), Some(secret("ana", "API_KEY")));
        assert!(links.look_up("guess").is_none() && links.look_up("").is_none());
        links.claim(&id).expect("it is good").use_up();
        assert!(links.claim(&id).is_none() && links.look_up(&id).is_none());
    }

    #[test]
    fn a_link_that_was_not_used_is_good_again() {
        let links = Links::default();
        let id = give(&links, "ana", "API_KEY");

        let claim = links.claim(&id);
        assert!(links.claim(&id).is_none() && links.look_up(&id).is_none());
        drop(claim);

        assert!(links.claim(&id).is_some());
    }

    #[test]
    fn a_link_is_forgotten_when_its_time_is_over() {
        let links = Links::default();
        let id = give(&links, "ana", "API_KEY");

        expire(&links, Duration::ZERO);

        assert!(links.look_up(&id).is_none() && links.claim(&id).is_none());
        assert!(links.good().is_empty());
    }

    #[test]
    fn who_asks_again_gets_the_same_link_while_it_is_good_for_a_while() {
        let links = Links::default();
        let id = give(&links, "ana", "API_KEY");

        assert_eq!(give(&links, "ana", "API_KEY"), id);
        assert_ne!(give(&links, "ana", "OTHER_KEY"), id);
        assert_ne!(give(&links, "ben", "API_KEY"), id);

        expire(&links, Duration::from_mins(1));
        assert_ne!(give(&links, "ana", "API_KEY"), id);
        assert!(links.look_up(&id).is_some(), "the page may be open");
    }

    #[test]
    fn nobody_pushes_out_the_links_of_others() {
        let links = Links::default();
        let of_ana = give(&links, "ana", "API_KEY");
        let oldest = give(&links, "eve", "KEY_0");
        for number in 1..=MAX_LINKS_PER_USER {
            give(&links, "eve", &format!("KEY_{number}"));
        }

        assert!(links.look_up(&of_ana).is_some());
        assert!(links.look_up(&oldest).is_none());
        assert_eq!(links.good().len(), 1 + MAX_LINKS_PER_USER);
    }

    #[test]
    fn all_links_together_are_bounded() {
        let links = Links::default();
        for number in 0..=MAX_LINKS {
            give(&links, &format!("user{number}"), "API_KEY");
        }

        assert_eq!(links.good().len(), MAX_LINKS);
    }

    #[tokio::test]
    async fn whoever_waits_goes_on_when_the_link_was_used_and_few_may_wait() {
        let links = Links::default();
        let id = give(&links, "ana", "API_KEY");
        let wait = links.wait(&secret("ana", "API_KEY")).expect("there is a link");
        let others: Vec<_> = (1..MAX_WAITING_CALLS).map(|_| links.wait(&secret("ana", "API_KEY"))).collect();

        assert!(others.iter().all(Option::is_some));
        assert!(links.wait(&secret("ana", "API_KEY")).is_none());
        assert!(links.wait(&secret("ben", "API_KEY")).is_none());
        drop(others);
        let claim = links.claim(&id).expect("it is good");
        assert!(links.wait(&secret("ana", "API_KEY")).is_some(), "the secret is not set yet");
        assert!(!wait.over.is_cancelled());
        claim.use_up();
        wait.over().await;
    }
}
