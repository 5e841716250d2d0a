//! Results in bytes for JavaScript.

use rquickjs::{ArrayBuffer, Ctx, IntoJs, Result, Value};

/// Bytes that become an `ArrayBuffer` in JavaScript; `None` becomes `undefined`.
pub(super) struct Reply(pub(super) Option<Vec<u8>>);

impl<'js> IntoJs<'js> for Reply {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        match self.0 {
            Some(bytes) => ArrayBuffer::new(ctx.clone(), bytes).map(ArrayBuffer::into_value),
            None => Ok(Value::new_undefined(ctx.clone())),
        }
    }
}
