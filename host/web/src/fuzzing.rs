//! Entry points for `fuzz/`.

pub use super::documents::fuzzing::disposition;
pub use super::graphql::fuzzing::query;
pub use super::mcp::fuzzing::{Reading, is_allowed_origin, message};
pub use super::ui::fuzzing::{Filled, Upload, arguments, form, upload};
