//! The module `kitbag:crypto`.

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Result};

/// The module `kitbag:crypto`.
pub(crate) struct Crypto;

impl ModuleDef for Crypto {
    fn declare(_declarations: &Declarations<'_>) -> Result<()> {
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, _exports: &Exports<'js>) -> Result<()> {
        Ok(())
    }
}
