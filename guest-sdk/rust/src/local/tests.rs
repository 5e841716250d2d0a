//! A call in a test follows the same rules as a call in the sandbox.

mod envelope;
mod grants;
mod host;
mod json;
mod offers;
mod questions;
mod sign_in;

use crate::prelude::*;

/// Creates a toolkit with only the required fields, and no tools.
fn bare() -> Toolkit {
    Toolkit::new("books", "Books").description("Finds books.").icon("📚").version("1.0.0")
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

async fn nothing(_: NoArgs, _ctx: Ctx) -> Result<String> {
    Ok(String::new())
}
