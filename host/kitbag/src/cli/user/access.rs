//! `kitbag user access`

use clap::{ArgGroup, Args};
use http::Method;
use kitbag_access::values::toolkits::ReachItem;
use kitbag_access::values::view::{AccessView, CollectionAccess, Question, Right, ToolkitAccess};
use kitbag_knowledge::collections::Role;

use crate::cli::client::Connection;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Number of printed users.
const SHOWN_PEOPLE: usize = 20;

/// Show who may use, read and reach what: a user, members of a group, for a toolkit, for a host.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kitbag user access ben                       what ben may use and read, and why\n  \
                  kitbag user access --group sales             what its members may, and who they are\n  \
                  kitbag user access --toolkit crm             who may use it, and what it reaches\n  \
                  kitbag user access --host api.example.com    which toolkits reach it, and for whom\n\n\
                  Groups of users are those of their last sign-in."
)]
#[command(group(ArgGroup::new("question").required(true)))]
pub(in crate::cli) struct Access {
    /// The user's id.
    #[arg(group = "question")]
    user: Option<String>,
    /// Members of this group.
    #[arg(long, value_name = "NAME", group = "question")]
    group: Option<String>,
    /// The toolkit with this id.
    #[arg(long, value_name = "ID", group = "question")]
    toolkit: Option<String>,
    /// A host that toolkits send requests to, such as api.example.com; with a port that port alone.
    #[arg(long, value_name = "HOST", group = "question")]
    host: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

impl Access {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { user, group, toolkit, host, connection } = self;
        let asked = [("user", user), ("group", group), ("toolkit", toolkit), ("host", host)];
        let asked =
            asked.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", path_segment(&value?))));
        let path = format!("/access?{}", asked.collect::<Vec<_>>().join("&"));
        let view: AccessView =
            connection.open().await?.send(Method::GET, &path, "application/json", "").await?;
        report(&view, || print(&view))
    }
}

fn print(view: &AccessView) {
    let AccessView { question, is_known, is_operator, is_ended, groups, people, toolkits, collections } =
        view;
    match question {
        Question::User(_) if *is_ended => {
            say!("The access of this user was ended: nothing below counts until they sign in again.");
        }
        Question::User(_) if !is_known => say!("Nobody with this id has signed in yet."),
        Question::User(_) if groups.is_empty() => say!("In no group at the last sign-in."),
        Question::User(_) => say!("In {}", groups.join(", ")),
        Question::Group(name) if !is_known => say!("Nobody was seen with the group {}.", name),
        Question::Toolkit(id) if !is_known => say!("There is no toolkit {}.", id),
        Question::Host(host) if !is_known => say!("No toolkit reaches {}.", host),
        Question::Group(_) | Question::Toolkit(_) | Question::Host(_) => {}
    }
    if *is_operator {
        say!("Operator: may deploy and manage all toolkits, and see who has what.");
    }
    if let Some(people) = people {
        say!("Members: {}", people.in_words(SHOWN_PEOPLE));
    }
    for toolkit in toolkits {
        print_toolkit(toolkit);
    }
    for CollectionAccess { id, role, by } in collections {
        let role = match role {
            Role::Reader => "reads",
            Role::Curator => "keeps",
        };
        say!("collection {:<20} {}, by {}", id, role, by.join(", "));
    }
}

fn print_toolkit(toolkit: &ToolkitAccess) {
    let ToolkitAccess { id, owner, by, reaches, refused_hosts, people } = toolkit;
    let preposition = if people.is_some() { "for" } else { "by" };
    say!("toolkit    {:<20} {} {}", id, preposition, Right::all_in_words(by));
    say!("           owned by {}", owner);
    if !reaches.is_empty() {
        say!("           reaches {}", reaches.iter().map(item_in_words).collect::<Vec<_>>().join(", "));
    }
    for refused in refused_hosts {
        say!("           {}: {}", refused.host, refused.in_words());
    }
    if let Some(people) = people {
        say!("           {}", people.in_words(SHOWN_PEOPLE));
    }
}

fn item_in_words(item: &ReachItem) -> String {
    match item.kind.as_str() {
        "Network" => item.name.clone(),
        kind => format!("{} {}", kind.to_lowercase(), item.name),
    }
}
