//! With whom something is shared: options of commands.

use clap::Args;
use http::Method;
use kitbag_access::values::view::SeenGroups;
use kitbag_identity::Subject;

use super::client::Client;
use super::documents::path_segment;
use super::error::CliError;
use super::terminal::note;

/// Number of groups that are suggested.
const SUGGESTED_GROUPS: usize = 10;

/// Users, groups and everyone, as options.
#[derive(Args, Debug)]
#[group(id = "whom", multiple = true)]
pub(super) struct Whom {
    /// Members of this group; may be repeated.
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// The user with this id; may be repeated.
    #[arg(long, value_name = "ID")]
    user: Vec<String>,
    /// All who sign in.
    #[arg(long)]
    everyone: bool,
}

impl Whom {
    /// The named subjects, possibly none.
    pub(super) fn subjects(self) -> Vec<Subject> {
        let groups = self.group.into_iter();
        let users = self.user.into_iter();
        let named = groups.map(Subject::Group).chain(users.map(Subject::User));
        named.chain(self.everyone.then_some(Subject::Everyone)).collect()
    }

    /// The named subjects, whose grants end; at least one.
    pub(super) fn removed_subjects(self) -> Result<Vec<Subject>, CliError> {
        let subjects = self.subjects();
        if subjects.is_empty() {
            return Err(CliError::new("whom it is no longer shared with is missing")
                .hint("name them with --group, --user or --everyone"));
        }
        Ok(subjects)
    }
}

/// Says which of the named groups no user was seen with, and which there are. Operators alone learn that.
pub(super) async fn note_unseen(client: &Client, subjects: &[Subject]) {
    let named = subjects.iter().filter_map(|subject| match subject {
        Subject::Group(name) => Some(name),
        Subject::User(_) | Subject::Everyone => None,
    });
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        return;
    }
    // What was asked for is done, whether the server tells the groups or not.
    let Ok(known) = client.send::<SeenGroups>(Method::GET, "/groups", "application/json", "").await else {
        return;
    };
    for name in named.into_iter().filter(|name| known.lack(name)) {
        let seen: Vec<_> =
            known.groups.iter().take(SUGGESTED_GROUPS).map(|group| group.name.as_str()).collect();
        let seen = if seen.is_empty() { "any group".to_owned() } else { seen.join(", ") };
        note!("nobody was seen with the group {} so far; users were seen with {}", name, seen);
    }
}

/// Formats a subject as a parameter of a query string, such as `group=sales`.
pub(super) fn query_parameter(subject: &Subject) -> String {
    match subject {
        Subject::Group(name) => format!("group={}", path_segment(name)),
        Subject::User(name) => format!("user={}", path_segment(name)),
        Subject::Everyone => "everyone=true".to_owned(),
    }
}
