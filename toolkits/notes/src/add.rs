//! The tool `add`: stores a note.

use kitbag_toolkit::prelude::*;

use crate::note::Note;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AddArgs {
    /// The note, in Markdown or plain text.
    #[schemars(length(min = 1, max = 100_000))]
    text: String,
    /// Title of the note; by default its first line.
    #[schemars(length(min = 1, max = 200))]
    title: Option<String>,
    /// The notebook for the note; a new name creates a new notebook.
    #[schemars(length(min = 1, max = 100))]
    notebook: Option<String>,
}

/// The note that was stored.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Added {
    title: String,
    notebook: Option<String>,
}

pub(crate) async fn add(args: AddArgs, ctx: Ctx) -> Result<Structured<Added>> {
    let AddArgs { text, title, notebook } = args;
    if text.trim().is_empty() {
        return Err(ToolError::new("The note is empty. Say what it is to hold.").into());
    }
    if notebook.as_deref().is_some_and(|name| name.trim().is_empty()) {
        return Err(ToolError::new("The notebook has no name. Give one, or none at all.").into());
    }
    let note = Note { text, title, notebook };
    let added = Added { title: note.title(), notebook: note.notebook.clone() };

    ctx.svc().context("the toolkit declares its scopes")?.ingest(vec![note.into_document()]).await?;

    let place = added.notebook.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
    Ok(Structured::new(format!("Noted{place}: {}", added.title), added))
}
