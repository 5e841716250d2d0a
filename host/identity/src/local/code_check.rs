//! Check of sign-in codes and single-use tickets, which replace a password.
//!
//! There is no limit of wrong codes: 128 random bits cannot be guessed, and a limit would let strangers lock
//! the owner out.

use std::collections::VecDeque;
use std::time::Instant;

use kitbag_base::sha256::{Digest, Sha256};

use super::sign_in_code::{SignInCode, TICKET_LIFETIME, TicketRequest};

/// State of the sign-in code prompt on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodePrompt {
    /// No prompt: the request has a valid ticket.
    Unneeded,
    /// The code is required.
    Asked,
    /// The code was left empty.
    Missing,
    /// The code was wrong.
    Wrong,
}

/// Checks codes and tickets; records used tickets.
#[derive(Debug)]
pub(super) struct CodeCheck {
    code: SignInCode,
    /// Digests of used tickets with the time of use, oldest first; dropped once expired.
    used: VecDeque<(Instant, Digest)>,
}

impl CodeCheck {
    pub(super) fn new(code: SignInCode) -> Self {
        Self { code, used: VecDeque::new() }
    }

    /// Returns the digest of a ticket that is valid for this sign-in. Does not use up the ticket.
    pub(super) fn recognise(&self, ticket: Option<&str>, request: &TicketRequest<'_>) -> Option<Digest> {
        ticket.filter(|ticket| self.code.admits(ticket, request)).map(Sha256::digest)
    }

    /// Marks a ticket as used. Returns `false` if it was used before.
    pub(super) fn use_up(&mut self, ticket: &Digest) -> bool {
        // `None`: the clock started less than a ticket's lifetime ago, so no ticket has expired.
        if let Some(limit) = Instant::now().checked_sub(TICKET_LIFETIME) {
            while self.used.pop_front_if(|(at, _)| *at <= limit).is_some() {}
        }
        let is_new = self.used.iter().all(|(_, used)| used != ticket);
        if is_new {
            self.used.push_back((Instant::now(), *ticket));
        }
        is_new
    }

    /// Checks a typed code. The error is the prompt to show.
    pub(super) fn check(&self, typed: &str) -> Result<(), CodePrompt> {
        let typed = typed.trim();
        if typed.is_empty() {
            return Err(CodePrompt::Missing);
        }
        if self.code.is(typed) { Ok(()) } else { Err(CodePrompt::Wrong) }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const REQUEST: TicketRequest<'_> =
        TicketRequest { issuer: "http://127.0.0.1:8787", client_id: "c", code_challenge: "x" };

    #[test]
    fn a_ticket_is_used_once_and_no_wrong_code_keeps_the_owner_out() {
        let data = tempfile::tempdir().unwrap();
        let code = SignInCode::create(data.path()).unwrap();
        let mut check = CodeCheck::new(code.clone());
        let ticket = check.recognise(Some(&code.ticket(&REQUEST)), &REQUEST).unwrap();
        let right = code.reveal().expose_secret().to_owned();

        assert!(check.use_up(&ticket) && !check.use_up(&ticket));
        assert_eq!(check.recognise(None, &REQUEST), None);
        assert_eq!(check.check(" "), Err(CodePrompt::Missing));
        for _ in 0..1000 {
            assert_eq!(check.check(&right[1..]), Err(CodePrompt::Wrong));
        }
        assert_eq!(check.check(&format!(" {right}\n")), Ok(()));
    }
}
