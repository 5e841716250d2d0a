//! Parsed fields of a submitted form.

use axum::body::Body;
use url::form_urlencoded;

use crate::body::{Unread, read_small};
use crate::error::WebError;

/// Maximum size of a form, in bytes.
pub(super) const MAX_FORM_BYTES: usize = 256 << 10;
/// Maximum number of fields.
const MAX_FIELDS: usize = 1000;
/// Names of fields whose values are never sent back to the browser.
const SECRET_FIELDS: [&str; 2] = ["secret", "code"];

/// Form fields in the order of submission (`application/x-www-form-urlencoded`).
#[derive(Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// Parses the body of a request.
    pub(super) async fn read(body: Body) -> Result<Self, WebError> {
        Self::read_at_most(MAX_FORM_BYTES, body).await
    }

    /// Parses the body of a request of at most `limit` bytes.
    pub(super) async fn read_at_most(limit: usize, body: Body) -> Result<Self, WebError> {
        let bytes = read_small(body, limit).await;
        let bytes = bytes.map_err(|why| WebError::unread(why, limit))?;
        let fields: Vec<_> = form_urlencoded::parse(&bytes).into_owned().take(MAX_FIELDS + 1).collect();
        if fields.len() > MAX_FIELDS {
            return Err(WebError::unread(Unread::TooLarge, MAX_FORM_BYTES));
        }
        Ok(Self(fields))
    }

    /// Creates a form from fields that were parsed elsewhere.
    pub(super) fn of(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }

    /// Returns all fields.
    pub(super) fn into_fields(self) -> Vec<(String, String)> {
        self.0
    }

    /// Returns the first value of a field; empty if the field is missing.
    pub(super) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    /// Returns the first value of a field; `None` if the field is missing.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns the fields whose values may be sent back to the browser.
    pub(super) fn without_secrets(self) -> Vec<(String, String)> {
        self.0.into_iter().filter(|(name, _)| !SECRET_FIELDS.contains(&name.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_form_is_read_within_its_bounds() {
        let form = Form::read("a=1+2&b=%C3%A9&a=3&on&secret=x&code=y".into()).await.expect("a form");
        assert_eq!((form.get("a"), form.get("b"), form.get("c")), ("1 2", "é", ""));
        assert_eq!((form.find("on"), form.find("off")), (Some(""), None));
        let shown: Vec<_> = form.without_secrets().into_iter().map(|(name, _)| name).collect();
        assert_eq!(shown, ["a", "b", "a", "on"]);

        assert!(Form::read("x".repeat(MAX_FORM_BYTES + 1).into()).await.is_err());
        assert!(Form::read("a&".repeat(MAX_FIELDS + 1).into()).await.is_err());
    }
}
