//! A call in a test obeys the rules of a call in the sandbox.

mod envelope;
mod grants;
mod json;

use crate::prelude::*;

/// A toolkit that declares nothing but what every toolkit must.
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
