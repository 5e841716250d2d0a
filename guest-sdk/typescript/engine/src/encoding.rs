//! The module `kitbag:encoding`: UTF-8 by the standard library, other encodings by the crate `encoding_rs`.

use encoding_rs::{Decoder, DecoderResult, Encoding as Named};
use rquickjs::function::MutFn;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Exception, Function, Result, String as JsString, TypedArray};

use crate::values::{Text, read_bytes, well_formed};

/// The module `kitbag:encoding`.
pub(crate) struct Encoding;

impl ModuleDef for Encoding {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in ["encode", "decode", "encodingName", "createDecoder", "find"] {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("encode", Function::new(ctx.clone(), encode)?)?;
        exports.export("decode", Function::new(ctx.clone(), decode)?)?;
        exports.export("encodingName", Function::new(ctx.clone(), encoding_name)?)?;
        exports.export("createDecoder", Function::new(ctx.clone(), create_decoder)?)?;
        exports.export("find", Function::new(ctx.clone(), find)?)?;
        Ok(())
    }
}

/// Encodes a string as UTF-8. A lone surrogate becomes U+FFFD.
fn encode<'js>(ctx: Ctx<'js>, text: JsString<'js>) -> Result<TypedArray<'js, u8>> {
    let bytes = text.to_cstring()?;
    TypedArray::new_copy(ctx, well_formed(bytes.as_ref()).as_bytes())
}

/// Decodes UTF-8; `undefined` if the bytes are not UTF-8 and `fatal` is set.
fn decode<'js>(
    ctx: Ctx<'js>,
    bytes: TypedArray<'js, u8>,
    fatal: bool,
    keep_bom: bool,
) -> Result<Option<JsString<'js>>> {
    let text = |bytes: &[u8]| {
        let bytes = if keep_bom { bytes } else { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) };
        match str::from_utf8(bytes) {
            Ok(text) => JsString::from_str(ctx.clone(), text).map(Some),
            Err(_) if fatal => Ok(None),
            Err(_) => JsString::from_str(ctx.clone(), &String::from_utf8_lossy(bytes)).map(Some),
        }
    };
    read_bytes(&ctx, &bytes, text)?
}

/// Returns the name of an encoding, in lower case, for one of its labels (Encoding Standard, section 4.2).
fn encoding_name(label: Text) -> Option<String> {
    Named::for_label_no_replacement(label.0.as_bytes()).map(|named| named.name().to_ascii_lowercase())
}

/// Returns a function that decodes data piece by piece: `(bytes, last) => text`. It returns `undefined` if
/// the bytes are not valid in the encoding and `fatal` is set.
fn create_decoder<'js>(ctx: Ctx<'js>, name: Text, fatal: bool, keep_bom: bool) -> Result<Function<'js>> {
    let named = Named::for_label(name.0.as_bytes())
        .ok_or_else(|| Exception::throw_range(&ctx, "this encoding is not supported"))?;
    let mut decoder = if keep_bom {
        named.new_decoder_without_bom_handling()
    } else {
        named.new_decoder_with_bom_removal()
    };
    let step =
        move |ctx: Ctx<'js>, bytes: TypedArray<'js, u8>, last: bool| -> Result<Option<JsString<'js>>> {
            match read_bytes(&ctx, &bytes, |bytes| decoded(&mut decoder, bytes, last, fatal))? {
                Ok(Some(text)) => JsString::from_str(ctx, &text).map(Some),
                Ok(None) => Ok(None),
                Err(TooLarge) => Err(Exception::throw_range(&ctx, "the text is too large")),
            }
        };
    Function::new(ctx.clone(), MutFn::from(step))
}

/// Error of a text that does not fit into memory.
struct TooLarge;

fn decoded(
    decoder: &mut Decoder,
    bytes: &[u8],
    last: bool,
    fatal: bool,
) -> std::result::Result<Option<String>, TooLarge> {
    let mut text = String::new();
    let capacity = decoder.max_utf8_buffer_length(bytes.len()).ok_or(TooLarge)?;
    text.try_reserve_exact(capacity).map_err(|_| TooLarge)?;
    if fatal {
        let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, last);
        Ok((!matches!(result, DecoderResult::Malformed(..))).then_some(text))
    } else {
        let _all_fits = decoder.decode_to_string(bytes, &mut text, last);
        Ok(Some(text))
    }
}

/// Returns the index of the first `needle` in `haystack` at `from` or later; -1 if there is none.
fn find<'js>(
    ctx: Ctx<'js>,
    haystack: TypedArray<'js, u8>,
    needle: TypedArray<'js, u8>,
    from: usize,
) -> Result<i32> {
    let needle = read_bytes(&ctx, &needle, <[u8]>::to_vec)?;
    let search = |haystack: &[u8]| {
        let rest = haystack.get(from..).unwrap_or_default();
        let mut candidates = rest.iter().enumerate().filter(|(_, byte)| Some(*byte) == needle.first());
        candidates.find(|&(at, _)| rest[at..].starts_with(&needle)).map(|(at, _)| at + from)
    };
    let found = read_bytes(&ctx, &haystack, search)?;
    Ok(found.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1))
}
