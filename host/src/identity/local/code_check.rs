//! What browsers bring in place of a password: codes, which are counted, and tickets, which are used up.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::sign_in_code::{SignInCode, TICKET_LIFETIME, TicketRequest};
use crate::sha256::{Digest, Sha256};

/// Wrong codes of all browsers together that are looked at in one [`WINDOW`].
const MAX_WRONG_CODES: usize = 20;
const WINDOW: Duration = Duration::from_mins(1);

/// What the page says about the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodePrompt {
    /// Nothing: a ticket stands for it.
    Unneeded,
    /// It is asked for.
    Asked,
    /// It was left out.
    Missing,
    /// It is another one.
    Wrong,
    /// It was not looked at: too many wrong ones came within a minute.
    TooManyTries,
}

/// Judges what browsers bring: codes and tickets.
#[derive(Debug)]
pub(super) struct CodeCheck {
    code: SignInCode,
    /// When wrong codes came, oldest first; no more than [`MAX_WRONG_CODES`].
    wrong: VecDeque<Instant>,
    /// Tickets that were used, oldest first, until they would have expired.
    used: VecDeque<(Instant, Digest)>,
}

impl CodeCheck {
    pub(super) fn new(code: SignInCode) -> Self {
        Self { code, wrong: VecDeque::new(), used: VecDeque::new() }
    }

    /// A ticket that is good for this sign-in, to be kept with it.
    pub(super) fn recognise(&self, ticket: Option<&str>, request: &TicketRequest<'_>) -> Option<Digest> {
        ticket.filter(|ticket| self.code.admits(ticket, request)).map(Sha256::digest)
    }

    /// Whether the ticket was not used before. It is used now.
    pub(super) fn use_up(&mut self, ticket: &Digest) -> bool {
        forget_before(&mut self.used, Instant::now().checked_sub(TICKET_LIFETIME), |(at, _)| *at);
        let is_new = self.used.iter().all(|(_, used)| used != ticket);
        if is_new {
            self.used.push_back((Instant::now(), *ticket));
        }
        is_new
    }

    /// Whether this is the code; otherwise what to tell who typed it. Beyond the bound on wrong codes none
    /// is looked at, right or wrong: an answer would be a try.
    pub(super) fn check(&mut self, typed: &str) -> Result<(), CodePrompt> {
        let typed = typed.trim();
        if typed.is_empty() {
            return Err(CodePrompt::Missing);
        }
        forget_before(&mut self.wrong, Instant::now().checked_sub(WINDOW), |at| *at);
        if self.wrong.len() >= MAX_WRONG_CODES {
            return Err(CodePrompt::TooManyTries);
        }
        if self.code.is(typed) {
            return Ok(());
        }
        self.wrong.push_back(Instant::now());
        Err(CodePrompt::Wrong)
    }

    #[cfg(test)]
    pub(super) fn forget_tries_as_after_a_minute(&mut self) {
        for at in &mut self.wrong {
            *at = at.checked_sub(WINDOW).expect("the machine runs for longer");
        }
    }
}

/// Without a `limit` the clock has not run for that long.
fn forget_before<T>(entries: &mut VecDeque<T>, limit: Option<Instant>, at: impl Fn(&T) -> Instant) {
    let Some(limit) = limit else { return };
    while entries.front().is_some_and(|oldest| at(oldest) <= limit) {
        entries.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const REQUEST: TicketRequest<'_> =
        TicketRequest { issuer: "http://127.0.0.1:8787", client_id: "c", code_challenge: "x" };

    #[test]
    fn a_ticket_is_used_once_and_codes_are_counted() {
        let data = tempfile::tempdir().unwrap();
        let code = SignInCode::create(data.path()).unwrap();
        let mut check = CodeCheck::new(code.clone());
        let ticket = check.recognise(Some(&code.ticket(&REQUEST)), &REQUEST).unwrap();
        let right = code.reveal().expose_secret().to_owned();

        assert!(check.use_up(&ticket) && !check.use_up(&ticket));
        assert_eq!(check.recognise(None, &REQUEST), None);
        for _ in 0..2 * MAX_WRONG_CODES {
            assert_eq!(check.check(" "), Err(CodePrompt::Missing));
        }
        for _ in 0..MAX_WRONG_CODES {
            assert_eq!(check.check(&format!(" {right}\n")), Ok(()));
            assert_eq!(check.check(&right[1..]), Err(CodePrompt::Wrong));
        }
        assert_eq!(check.check(&right), Err(CodePrompt::TooManyTries));
        check.forget_tries_as_after_a_minute();
        assert_eq!(check.check(&right), Ok(()));
    }
}
