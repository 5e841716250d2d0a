//! What an exchange is told, and what it says.

use serde::{Deserialize, Serialize};

use super::attachment::Attached;
use super::redirect::RedirectMode;
use crate::reply::Failure;

/// A request without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Method, in upper case.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Names and values of headers; several may have the same name.
    pub headers: Vec<(String, String)>,
}

/// What to send next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "do")]
pub enum Sending {
    /// The request, with what is attached.
    Send {
        /// What to attach, if anything.
        attach: Option<Attached>,
    },
    /// A token is needed first; then ask again.
    #[serde(rename_all = "camelCase")]
    Token {
        /// Index of the sign-in.
        sign_in: usize,
    },
    /// Nothing: the request fails.
    Fail(Refusal),
}

/// Why a request is not sent, or has no response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Text for the handler, if the host names a reason.
    pub message: String,
    /// Reply for the client if the call fails too; `None` if a retry may help.
    pub failure: Option<Failure>,
}

/// What follows from a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "do")]
pub enum Following {
    /// The handler gets the response.
    Answer {
        /// Reply for the client if the call fails: the API has refused the user's account.
        failure: Option<Failure>,
    },
    /// The token was refused: request another, unless another request has done so already, and send the request
    /// again. Without a token the handler gets the response.
    #[serde(rename_all = "camelCase")]
    Renew {
        /// Index of the sign-in.
        sign_in: usize,
    },
    /// A redirect: send this request, without what was attached to the one before.
    #[serde(rename_all = "camelCase")]
    Follow {
        /// The next request.
        head: Head,
        /// Whether it has no body any more.
        drops_body: bool,
    },
    /// The request fails; the text is for the handler.
    Fail {
        /// Reason.
        message: String,
    },
}

/// A response, as far as it matters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Responded {
    /// HTTP status.
    pub status: u16,
    /// Values of the `Location` header.
    #[serde(default)]
    pub locations: Vec<String>,
    /// Whether the request can be sent again; a stream cannot.
    pub is_repeatable: bool,
    /// What the handler wants of redirects.
    #[serde(default)]
    pub mode: RedirectMode,
}

/// Text for a handler whose request lacks its sign-in, as in the sandbox.
const COULD_NOT_SIGN_IN: &str = "the host could not sign in at the server";

impl Refusal {
    /// Creates a refusal that becomes the reply if the call fails.
    pub(super) fn of(failure: Failure) -> Self {
        Self { message: COULD_NOT_SIGN_IN.to_owned(), failure: Some(failure) }
    }

    /// Creates a refusal without a reply of its own.
    pub(super) fn passing(message: &str) -> Self {
        Self { message: message.to_owned(), failure: None }
    }
}
