//! The module `kitbag:url`.

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Result};

/// The module `kitbag:url`.
pub(crate) struct Url;

impl ModuleDef for Url {
    fn declare(_declarations: &Declarations<'_>) -> Result<()> {
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, _exports: &Exports<'js>) -> Result<()> {
        Ok(())
    }
}
