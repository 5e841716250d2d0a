//! Validation of declarations. All problems are reported at once, each with its path.

mod auth;
mod egress;
mod fields;
mod offers;

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::ToolkitDefinition;
pub(crate) use fields::is_id_byte;

/// One problem of a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Path of the field, such as `tools[2].name`.
    pub path: String,
    /// Description of the problem, and of what is expected.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path, self.message)
    }
}

/// All problems of a declaration, in the order of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds one problem.
    pub fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem { path: path.into(), message: message.into() });
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(out, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// A declaration that has passed every rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidDefinition(ToolkitDefinition);

impl ValidDefinition {
    /// Returns the declaration.
    pub fn into_inner(self) -> ToolkitDefinition {
        self.0
    }
}

impl Deref for ValidDefinition {
    type Target = ToolkitDefinition;

    fn deref(&self) -> &ToolkitDefinition {
        &self.0
    }
}

/// Checks a declaration against every rule and makes its defaults explicit.
pub fn validate(definition: ToolkitDefinition) -> Result<ValidDefinition, Problems> {
    let mut problems = Problems::default();

    fields::identity(&definition, &mut problems);
    fields::tools(&definition, &mut problems);
    offers::prompts(&definition, &mut problems);
    offers::resources(&definition, &mut problems);
    fields::secrets(&definition.secrets, &mut problems);
    egress::hosts(&definition.egress, &mut problems);
    fields::scopes(&definition.scopes, &mut problems);
    fields::config(&definition.config, &mut problems);
    auth::all(&definition, &mut problems);

    if problems.0.is_empty() { Ok(ValidDefinition(definition.resolved())) } else { Err(problems) }
}

#[cfg(test)]
mod tests;
