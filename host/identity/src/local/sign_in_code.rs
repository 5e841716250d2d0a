//! The secret that local sign-in requires. It is readable only with access to the data directory, so not by
//! other accounts of the machine.
//!
//! A ticket replaces the code in one sign-in of a program that can read the code, so that its user types
//! nothing. It is single-use, valid for minutes, and bound to one PKCE challenge: an attacker who sees the
//! page's URL gets an authorization code that only the program with the verifier can redeem.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs, io};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag_base::private_file;
use kitbag_base::sha256::Sha256;
use secrecy::{ExposeSecret, SecretString};

use super::issuer_error::LocalIssuerError;
use crate::clock::now;

/// Name of the code's file in the data directory.
const FILE: &str = "sign-in-code";

/// 128 bits, as 32 hexadecimal digits: no line breaks in a terminal, and never mistaken for a flag.
const CODE_BYTES: usize = 16;
const CODE_LENGTH: usize = 2 * CODE_BYTES;

/// Lifetime of a ticket: as long as `kitbag login` waits for the user.
pub(super) const TICKET_LIFETIME: Duration = Duration::from_mins(10);
/// Domain separator of the MAC: purpose and format version.
const TICKET_PURPOSE: &str = "kitbag sign-in ticket 1";

/// Sign-in code of a data directory.
#[derive(Clone)]
pub struct SignInCode(SecretString);

/// Sign-in that a ticket is bound to.
#[derive(Clone, Copy, Debug)]
pub struct TicketRequest<'a> {
    /// Issuer identifier of the local issuer.
    pub issuer: &'a str,
    /// OAuth client of the sign-in.
    pub client_id: &'a str,
    /// PKCE code challenge of the authorization request (RFC 7636).
    pub code_challenge: &'a str,
}

impl SignInCode {
    /// Reads the code of this data directory; `None` if no server in local mode has created one.
    pub fn read(data_directory: &Path) -> Result<Option<Self>, LocalIssuerError> {
        let path = data_directory.join(FILE);
        let failed = |source| LocalIssuerError::File { path: path.clone(), source: Arc::new(source) };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(LocalIssuerError::NoCode { path });
            }
            Err(error) => return Err(failed(error)),
        };
        if private_file::is_exposed(&path).map_err(failed)? {
            return Err(LocalIssuerError::Exposed { path });
        }
        let code = text.trim();
        if code.len() != CODE_LENGTH || !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(LocalIssuerError::NoCode { path });
        }
        Ok(Some(Self(code.into())))
    }

    /// Creates a code in this data directory; returns the existing one if there is one.
    pub(super) fn create(data_directory: &Path) -> Result<Self, LocalIssuerError> {
        let path = data_directory.join(FILE);
        let mut bytes = [0; CODE_BYTES];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
        let line = format!("{}\n", hex::encode(bytes));
        let failed = |source| LocalIssuerError::File { path: path.clone(), source: Arc::new(source) };
        private_file::create(&path, line.as_bytes()).map_err(failed)?;
        Self::read(data_directory)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Returns the code as typed by the user.
    pub fn reveal(&self) -> &SecretString {
        &self.0
    }

    /// Creates a ticket for this sign-in, valid for ten minutes.
    pub fn ticket(&self, request: &TicketRequest<'_>) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since 1970")]
        let expires = now() as u64 + TICKET_LIFETIME.as_secs();
        let tag = hmac::sign(&self.key(), signed(request, expires).as_bytes());
        format!("{expires}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    /// Whether the ticket is for this sign-in and has not expired.
    pub(super) fn admits(&self, ticket: &str, request: &TicketRequest<'_>) -> bool {
        let Some((expires, tag)) = ticket.split_once('.') else { return false };
        let (Ok(expires), Ok(tag)) = (expires.parse::<u64>(), URL_SAFE_NO_PAD.decode(tag)) else {
            return false;
        };
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970")]
        let is_in_time = now() < expires as f64;
        hmac::verify(&self.key(), signed(request, expires).as_bytes(), &tag).is_ok() && is_in_time
    }

    /// SHA-256 of the code, in hexadecimal.
    pub(super) fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.0.expose_secret()))
    }

    /// Whether `typed` is the code, compared in constant time.
    pub(super) fn is(&self, typed: &str) -> bool {
        verify_slices_are_equal(&Sha256::digest(typed), &Sha256::digest(self.0.expose_secret())).is_ok()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.0.expose_secret().as_bytes())
    }
}

impl fmt::Debug for SignInCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SignInCode")
    }
}

/// Builds the signed text. No part can contain a line break, so different requests have different texts.
fn signed(request: &TicketRequest<'_>, expires: u64) -> String {
    let TicketRequest { issuer, client_id, code_challenge } = request;
    format!("{TICKET_PURPOSE}\n{issuer}\n{client_id}\n{code_challenge}\n{expires}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const REQUEST: TicketRequest<'_> =
        TicketRequest { issuer: "http://127.0.0.1:8787", client_id: "c", code_challenge: "x" };

    #[test]
    fn the_code_is_made_once_for_its_owner_alone() {
        let data = tempfile::tempdir().unwrap();
        assert!(SignInCode::read(data.path()).unwrap().is_none());

        let first = SignInCode::create(data.path()).unwrap();
        let second = SignInCode::create(data.path()).unwrap();

        assert!(second.is(first.reveal().expose_secret()));
        let mode = fs::metadata(data.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = SignInCode::create(tempfile::tempdir().unwrap().path()).unwrap();
        assert!(!other.is(first.reveal().expose_secret()));
        assert!(!format!("{first:?}").contains(first.reveal().expose_secret()));
    }

    #[test]
    fn a_code_that_others_may_read_or_that_is_none_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(FILE);
        SignInCode::create(data.path()).unwrap();
        for exposed in [0o640, 0o604, 0o660] {
            fs::set_permissions(&path, fs::Permissions::from_mode(exposed)).unwrap();
            assert!(matches!(SignInCode::read(data.path()), Err(LocalIssuerError::Exposed { .. })));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for text in ["", "\n", "1234", &"a".repeat(31), &"a".repeat(33), &"g".repeat(32)] {
            fs::write(&path, text).unwrap();
            assert!(
                matches!(SignInCode::read(data.path()), Err(LocalIssuerError::NoCode { .. })),
                "{text:?}"
            );
        }
        fs::write(&path, [0xff; 32]).unwrap();
        assert!(matches!(SignInCode::read(data.path()), Err(LocalIssuerError::NoCode { .. })));
    }

    #[test]
    fn a_ticket_is_for_one_sign_in_of_this_server_in_time() {
        let data = tempfile::tempdir().unwrap();
        let code = SignInCode::create(data.path()).unwrap();
        let ticket = code.ticket(&REQUEST);
        let (expires, tag) = ticket.split_once('.').unwrap();
        let later = format!("{}.{tag}", expires.parse::<u64>().unwrap() + 1);
        let over =
            format!("1.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&code.key(), signed(&REQUEST, 1).as_bytes())));
        let other = SignInCode::create(tempfile::tempdir().unwrap().path()).unwrap();

        assert!(code.admits(&ticket, &REQUEST));
        assert!(!other.admits(&ticket, &REQUEST));
        for request in [
            TicketRequest { issuer: "http://127.0.0.1:8788", ..REQUEST },
            TicketRequest { client_id: "d", ..REQUEST },
            TicketRequest { code_challenge: "y", ..REQUEST },
        ] {
            assert!(!code.admits(&ticket, &request), "{request:?}");
        }
        for ticket in [&later, &over, "", ".", &format!("{expires}."), expires, tag] {
            assert!(!code.admits(ticket, &REQUEST), "{ticket}");
        }
    }
}
