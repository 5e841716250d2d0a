//! Adds, finds and lists notes. Each note is a document in the calling user's knowledge base.

mod add;
mod find;
mod note;

use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

/// The toolkit's definition.
pub fn toolkit() -> Toolkit {
    Toolkit::new("notes", "Notes")
        .description("Keeps notes in your knowledge base, in notebooks, and finds them again.")
        .icon("📝")
        .version(env!("CARGO_PKG_VERSION"))
        .visibility(Visibility::Shared)
        .scope(Scope::Search)
        .scope(Scope::Ingest)
        .tool(
            Tool::new("add", add::add)
                .title("Add a note")
                .description(
                    "Keeps a note in the user's knowledge base. Write it so that it can be understood \
                     later: with names, dates and what it is about.",
                )
                .mutating()
                .destructive_hint(false)
                .idempotent_hint(true)
                .open_world_hint(false),
        )
        .tool(
            Tool::new("find", find::find)
                .title("Find notes")
                .description("Searches the user's notes by what they say; in all notebooks, or in one.")
                .read_only_hint(true),
        )
        .tool(
            Tool::new("list", find::list)
                .title("List notes")
                .description("Lists up to 50 of the user's notes by title; of all notebooks, or of one.")
                .read_only_hint(true),
        )
}

#[cfg(test)]
mod tests;
