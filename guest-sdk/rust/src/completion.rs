//! Completion: values that are proposed for an argument while a user types.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;

use crate::error::CallError;
use crate::{Ctx, Failure};

type Completer = Box<dyn Fn(Completion, Ctx) -> PendingValues>;
type PendingValues = Pin<Box<dyn Future<Output = Result<Vec<String>, CallError>>>>;

/// What a user has typed of an argument of a prompt, or of a variable of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The text so far; may be empty.
    pub value: String,
    /// What is known of the other arguments, by their names.
    pub others: BTreeMap<String, String>,
}

/// Types that a handler of a completion may return: a list of texts, or a [`Result`](crate::Result) of one.
pub trait IntoValues {
    /// Returns the values, or why the handler failed.
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

/// The handlers of completions, by the names of what they complete.
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

    /// The names of what is completed.
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
