//! What browsers bring in place of a password: codes, and tickets, which are used up.
//!
//! Wrong codes are not counted: nobody guesses 128 random bits, and whoever counted would let strangers keep the owner out.

use std::collections::VecDeque;
use std::time::Instant;

use kitbag_base::sha256::{Digest, Sha256};

use super::sign_in_code::{SignInCode, TICKET_LIFETIME, TicketRequest};

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
}

/// Judges what browsers bring: codes and tickets.
#[derive(Debug)]
pub(super) struct CodeCheck {
    code: SignInCode,
    /// Tickets that were used, oldest first, until they would have expired.
    used: VecDeque<(Instant, Digest)>,
}

impl CodeCheck {
    pub(super) fn new(code: SignInCode) -> Self {
        Self { code, used: VecDeque::new() }
    }

    /// A ticket that is good for this sign-in, to be kept with it.
    pub(super) fn recognise(&self, ticket: Option<&str>, request: &TicketRequest<'_>) -> Option<Digest> {
        ticket.filter(|ticket| self.code.admits(ticket, request)).map(Sha256::digest)
    }

    /// Whether the ticket was not used before. It is used now.
    pub(super) fn use_up(&mut self, ticket: &Digest) -> bool {
        // Without a limit the clock has not run for that long.
        if let Some(limit) = Instant::now().checked_sub(TICKET_LIFETIME) {
            while self.used.pop_front_if(|(at, _)| *at <= limit).is_some() {}
        }
        let is_new = self.used.iter().all(|(_, used)| used != ticket);
        if is_new {
            self.used.push_back((Instant::now(), *ticket));
        }
        is_new
    }

    /// Whether this is the code; otherwise what to tell who typed it.
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
