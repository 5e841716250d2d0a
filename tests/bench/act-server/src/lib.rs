//! The tool `count` of `toolkits/text` as a component for ACT, made with ACT's own SDK.

#[path = "../../counts.rs"]
mod counts;

use act_sdk::prelude::*;

#[act_component]
mod component {
    use super::*;

    #[act_tool(
        description = "Counts the words, characters, lines, sentences and paragraphs of a text.",
        read_only,
        idempotent
    )]
    fn count(
        /// The text to count.
        text: String,
    ) -> ActResult<Json<counts::Counts>> {
        Ok(Json(counts::Counts::of(&text)))
    }
}
