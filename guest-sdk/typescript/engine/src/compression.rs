//! The module `kitbag:compression`.

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Result};

/// The module `kitbag:compression`.
pub(crate) struct Compression;

impl ModuleDef for Compression {
    fn declare(_declarations: &Declarations<'_>) -> Result<()> {
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, _exports: &Exports<'js>) -> Result<()> {
        Ok(())
    }
}
