//! Subjects of grants in forms: the fields `kind` and `name`.

use kitbag_access::User;
use kitbag_access::values::identity::Subject;
use kitbag_access::values::view::SeenGroups;

use super::form::Form;
use crate::error::WebError;

/// Maximum number of suggested groups.
const SUGGESTED_GROUPS: usize = 500;

/// Groups that users were seen with, for operators; others do not learn which there are.
pub(super) struct KnownGroups(Option<SeenGroups>);

impl KnownGroups {
    pub(super) async fn read(user: &User) -> Result<Self, WebError> {
        Ok(Self(match user.operator() {
            Ok(operator) => Some(operator.seen_groups().await?),
            Err(_) => None,
        }))
    }

    /// Names to suggest.
    pub(super) fn names(&self) -> Vec<String> {
        self.0
            .iter()
            .flat_map(|seen| &seen.groups)
            .take(SUGGESTED_GROUPS)
            .map(|group| group.name.clone())
            .collect()
    }

    fn lack(&self, subject: &Subject) -> bool {
        let Subject::Group(name) = subject else { return false };
        self.0.as_ref().is_some_and(|seen| seen.lack(name))
    }
}

/// A subject in a list, with the form fields that identify it.
pub(super) struct SubjectRow {
    pub(super) who: String,
    /// Whether it is a group that nobody was seen with.
    pub(super) is_unseen: bool,
    pub(super) kind: &'static str,
    pub(super) name: String,
}

impl SubjectRow {
    pub(super) fn of(subject: &Subject, known: &KnownGroups) -> Self {
        let (kind, name, who) = match subject {
            Subject::User(id) => ("user", id.clone(), format!("the user {id}")),
            Subject::Group(name) => ("group", name.clone(), format!("the group {name}")),
            Subject::Everyone => ("everyone", String::new(), "everyone who signs in".to_owned()),
        };
        Self { who, is_unseen: known.lack(subject), kind, name }
    }
}

/// Returns the subject that a form names, or why it names none.
pub(super) fn subject(form: &Form) -> Result<Subject, String> {
    let name = || Some(form.get("name").trim().to_owned());
    let subject = match form.get("kind") {
        "user" => Subject::named(name(), None, false),
        "group" => Subject::named(None, name(), false),
        _ => Subject::named(None, None, true),
    };
    subject.map_err(|invalid| format!("Nothing was changed: {invalid}."))
}
