//! The host functions of one call: the component's imports.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::bindings::kitbag::toolkit::{ask, log, progress, secrets};
use crate::error::SecretError;
use crate::{AskError, Asked, Progress, Toolkit};

/// Host functions behind [`Ctx`](crate::Ctx); each method calls one import.
pub(crate) struct Platform {
    /// Declared `egress`; error messages name the missing entry when the host refuses a request.
    pub(super) egress: Vec<Cow<'static, str>>,
}

impl Platform {
    /// Creates the host functions for a call of `toolkit`.
    pub(super) fn of(toolkit: &Toolkit) -> Self {
        Self { egress: toolkit.egress_entries().to_vec() }
    }

    pub(crate) fn log(&self, arguments: Vec<String>) {
        log::write(&arguments);
    }

    pub(crate) fn progress(&self, report: Progress) {
        progress::report(report.progress, report.total, report.message.as_deref());
    }

    pub(crate) fn secret(&self, name: &str) -> Result<Option<String>, SecretError> {
        secrets::get(name).map_err(|error| match error {
            secrets::SecretError::Undeclared => SecretError::Undeclared,
            secrets::SecretError::Unavailable(why) => SecretError::Unavailable(why),
        })
    }

    #[expect(clippy::unused_async, reason = "the import is synchronous only in the current contract")]
    pub(crate) async fn ask(
        &self,
        key: &str,
        message: &str,
        schema: &str,
    ) -> Result<Asked<Map<String, Value>>, AskError> {
        match ask::ask(key, message, schema) {
            Ok(ask::Answer::Accepted(fields)) => {
                Ok(Asked::Accepted(serde_json::from_str(&fields).expect("the host sends an object")))
            }
            Ok(ask::Answer::Declined) => Ok(Asked::Declined),
            Ok(ask::Answer::Cancelled) => Ok(Asked::Cancelled),
            Err(ask::AskError::Unsupported) => Err(AskError::Unsupported),
            Err(ask::AskError::Invalid(why)) => Err(AskError::Invalid(why)),
        }
    }
}
