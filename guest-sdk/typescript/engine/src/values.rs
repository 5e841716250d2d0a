//! Text and bytes that come from JavaScript.

use std::borrow::Cow;

use rquickjs::{ArrayBuffer, Ctx, Error, Exception, FromJs, Object, Result, TypedArray, Value};

/// First byte of the three-byte encoding of a lone surrogate. Other characters with this first byte have a
/// second byte below `0xA0`.
const SURROGATE_LEAD: u8 = 0xED;

/// A string as UTF-8. A lone surrogate, which UTF-8 cannot hold, becomes U+FFFD, as in `USVString` (Web IDL).
pub(crate) struct Text(pub(crate) String);

impl<'js> FromJs<'js> for Text {
    fn from_js(_ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let Some(string) = value.into_string() else {
            return Err(Error::new_from_js("value", "string"));
        };
        let bytes = string.to_cstring()?;
        Ok(Self(well_formed(bytes.as_ref()).into_owned()))
    }
}

/// Converts the engine's encoding of a string to UTF-8, without a copy unless something has to be replaced.
pub(crate) fn well_formed(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(without_surrogates(bytes)),
    }
}

fn without_surrogates(bytes: &[u8]) -> String {
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        if *first == SURROGATE_LEAD && after.first().is_some_and(|second| *second >= 0xA0) {
            clean.extend("\u{FFFD}".as_bytes());
            rest = &rest[3.min(rest.len())..];
        } else {
            clean.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&clean).into_owned()
}

/// A copy of the contents of an `ArrayBuffer`, a typed array or a `DataView`.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl<'js> FromJs<'js> for Bytes {
    fn from_js(_ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let no_bytes = || Error::new_from_js("value", "buffer");
        let object = value.into_object().ok_or_else(no_bytes)?;
        if let Some(buffer) = ArrayBuffer::from_object(object.clone()) {
            return Ok(Self(copy(&buffer, 0, buffer.len())));
        }
        let (buffer, offset, length) = view(&object).map_err(|_| no_bytes())?;
        Ok(Self(copy(&buffer, offset, length)))
    }
}

fn view<'js>(object: &Object<'js>) -> Result<(ArrayBuffer<'js>, usize, usize)> {
    Ok((object.get("buffer")?, object.get("byteOffset")?, object.get("byteLength")?))
}

/// Copies bytes of a buffer; returns an empty vector if the buffer is detached or too short.
#[expect(unsafe_code, reason = "the engine exposes its memory directly")]
fn copy(buffer: &ArrayBuffer<'_>, offset: usize, length: usize) -> Vec<u8> {
    // SAFETY: the slice is dropped before JavaScript runs again, and nothing else writes to the buffer.
    let bytes = unsafe { buffer.as_bytes() };
    let piece = bytes.and_then(|bytes| bytes.get(offset..offset.checked_add(length)?));
    piece.map(<[u8]>::to_vec).unwrap_or_default()
}

/// Reads the bytes of an `Uint8Array` without a copy. `read` gets no context, so it cannot run JavaScript.
#[expect(unsafe_code, reason = "the engine exposes its memory directly")]
pub(crate) fn read_bytes<R>(
    ctx: &Ctx<'_>,
    bytes: &TypedArray<'_, u8>,
    read: impl FnOnce(&[u8]) -> R,
) -> Result<R> {
    // SAFETY: the slice is dropped before JavaScript runs again, and nothing else writes to the buffer.
    let contents = unsafe { bytes.as_bytes() };
    contents.map(read).ok_or_else(|| Exception::throw_type(ctx, "the buffer is detached"))
}

#[cfg(test)]
mod tests {
    use rquickjs::{CatchResultExt, Context, Runtime};

    use super::*;

    /// Evaluates `script`, and returns the value that a native function receives.
    fn received<T: for<'js> FromJs<'js> + 'static, R: 'static>(script: &str, read: fn(T) -> R) -> Option<R> {
        let runtime = Runtime::new().expect("a runtime");
        let context = Context::full(&runtime).expect("a context");
        context.with(|ctx| {
            let value: Value = ctx.eval(script).catch(&ctx).expect("a script");
            T::from_js(&ctx, value).ok().map(read)
        })
    }

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_are_letters() {
        let text = |script| received::<Text, _>(script, |Text(text)| text);

        assert_eq!(text(r"'a\ud83d\ude00b'").as_deref(), Some("a😀b"));
        assert_eq!(text(r"'\ud83d'").as_deref(), Some("\u{FFFD}"));
        assert_eq!(text(r"'x\ude00\ud83dé\ud83d'").as_deref(), Some("x\u{FFFD}\u{FFFD}é\u{FFFD}"));
        assert_eq!(
            text("'\u{d7ff}\u{e000}'").as_deref(),
            Some("\u{d7ff}\u{e000}"),
            "neighbours of surrogates"
        );
        assert_eq!(text("12"), None);
    }

    #[test]
    fn bytes_are_those_of_the_view() {
        let bytes = |script| received::<Bytes, _>(script, |Bytes(bytes)| bytes);

        assert_eq!(bytes("new Uint8Array([1, 2, 3]).buffer"), Some(vec![1, 2, 3]));
        assert_eq!(bytes("new Uint8Array([1, 2, 3, 4]).subarray(1, 3)"), Some(vec![2, 3]));
        assert_eq!(bytes("new DataView(new Uint8Array([1, 2, 3]).buffer, 2)"), Some(vec![3]));
        assert_eq!(bytes("const b = new ArrayBuffer(8); const v = new Uint8Array(b); b.transfer(); v"), None);
        assert_eq!(bytes("({ buffer: 1 })"), None);
        assert_eq!(bytes("'text'"), None);
    }
}
