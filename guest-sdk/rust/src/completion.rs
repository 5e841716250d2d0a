//! Completion: suggested values for an argument while a user types.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;

use crate::error::CallError;
use crate::{Ctx, Failure};

type Completer = Box<dyn Fn(Completion, Ctx) -> PendingValues>;
type PendingValues = Pin<Box<dyn Future<Output = Result<Vec<String>, CallError>>>>;

/// Completion request for an argument of a prompt or a variable of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Text typed so far; may be empty.
    pub value: String,
    /// Known values of the other arguments, by name.
    pub others: BTreeMap<String, String>,
}

/// Return types of completion handlers: a list of strings, or a [`Result`](crate::Result) of one.
pub trait IntoValues {
    /// Returns the suggested values, or the handler's failure.
    fn into_values(self) -> Result<Vec<String>, Failure>;
}

impl<T: Into<String>> IntoValues for Vec<T> {
    fn into_values(self) -> Result<Vec<String>, Failure> {
        Ok(self.into_iter().map(Into::into).collect())
    }
}

impl<V: IntoValues, E: Into<Failure>> IntoValues for Result<V, E> {
    fn into_values(self) -> Result<Vec<String>, Failure> {
        self.map_err(Into::into)?.into_values()
    }
}

/// Completion handlers, by the name of the argument or variable that they complete.
#[derive(Default)]
pub(crate) struct Completers(Vec<(Cow<'static, str>, Completer)>);

impl Completers {
    pub(crate) fn add<Values, Answer>(
        &mut self,
        name: Cow<'static, str>,
        handler: impl Fn(Completion, Ctx) -> Answer + 'static,
    ) where
        Values: IntoValues + 'static,
        Answer: Future<Output = Values> + 'static,
    {
        let completer = move |completion, ctx| -> PendingValues {
            let answer = handler(completion, ctx);
            Box::pin(async move { answer.await.into_values().map_err(CallError::from) })
        };
        self.0.push((name, Box::new(completer)));
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns the names of the arguments or variables that have a handler.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn call(&self, name: &str, completion: Completion, ctx: Ctx) -> Option<PendingValues> {
        self.find(name).map(|completer| completer(completion, ctx))
    }

    fn find(&self, name: &str) -> Option<&Completer> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, completer)| completer)
    }
}
