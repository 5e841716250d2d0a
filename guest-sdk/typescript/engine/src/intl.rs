//! The module `kitbag:intl`.

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Result};

/// The module `kitbag:intl`.
pub(crate) struct Intl;

impl ModuleDef for Intl {
    fn declare(_declarations: &Declarations<'_>) -> Result<()> {
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, _exports: &Exports<'js>) -> Result<()> {
        Ok(())
    }
}
