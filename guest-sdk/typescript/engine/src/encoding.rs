//! The module `kitbag:encoding`.

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Result};

/// The module `kitbag:encoding`.
pub(crate) struct Encoding;

impl ModuleDef for Encoding {
    fn declare(_declarations: &Declarations<'_>) -> Result<()> {
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, _exports: &Exports<'js>) -> Result<()> {
        Ok(())
    }
}
