//! Subjects of grants in forms: the fields `kind` and `name`.

use kitbag_access::values::identity::Subject;

use super::form::Form;

/// A subject in a list, with the form fields that identify it.
pub(super) struct SubjectRow {
    pub(super) who: String,
    pub(super) kind: &'static str,
    pub(super) name: String,
}

impl SubjectRow {
    pub(super) fn of(subject: &Subject) -> Self {
        let (kind, name, who) = match subject {
            Subject::User(id) => ("user", id.clone(), format!("the user {id}")),
            Subject::Group(name) => ("group", name.clone(), format!("the group {name}")),
            Subject::Everyone => ("everyone", String::new(), "everyone who signs in".to_owned()),
        };
        Self { who, kind, name }
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
