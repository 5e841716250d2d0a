//! The module `kitbag:url`: the URL Standard by the crate `url`.
//!
//! A URL is passed as its serialized text. Parsing it again takes less than a microsecond, and avoids an
//! object that both sides would have to manage.

use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Exception, Function, Result, String as JsString};
use url::{Url as Parsed, form_urlencoded, quirks};

use crate::values::Text;

/// The module `kitbag:url`.
pub(crate) struct Url;

impl ModuleDef for Url {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in ["parse", "get", "set", "parseQuery", "serializeQuery"] {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("parse", Function::new(ctx.clone(), parse)?)?;
        exports.export("get", Function::new(ctx.clone(), get)?)?;
        exports.export("set", Function::new(ctx.clone(), set)?)?;
        exports.export("parseQuery", Function::new(ctx.clone(), parse_query)?)?;
        exports.export("serializeQuery", Function::new(ctx.clone(), serialize_query)?)?;
        Ok(())
    }
}

/// Parses `url` relative to `base`, and serializes it; `undefined` if it is not a URL.
fn parse(ctx: Ctx<'_>, url: Text, base: Option<Text>) -> Result<Option<JsString<'_>>> {
    let base = match base.map(|base| Parsed::parse(&base.0)) {
        None => None,
        Some(Ok(base)) => Some(base),
        Some(Err(_)) => return Ok(None),
    };
    match Parsed::options().base_url(base.as_ref()).parse(&url.0) {
        Ok(url) => JsString::from_str(ctx, url.as_str()).map(Some),
        Err(_) => Ok(None),
    }
}

/// Returns a component of a URL, by its number in `url.ts`.
fn get(ctx: Ctx<'_>, href: Text, component: u8) -> Result<JsString<'_>> {
    let url = parsed(&ctx, &href)?;
    let text = match component {
        0 => return JsString::from_str(ctx, &quirks::origin(&url)),
        1 => quirks::protocol(&url),
        2 => quirks::username(&url),
        3 => quirks::password(&url),
        4 => quirks::host(&url),
        5 => quirks::hostname(&url),
        6 => quirks::port(&url),
        7 => quirks::pathname(&url),
        8 => quirks::search(&url),
        _ => quirks::hash(&url),
    };
    JsString::from_str(ctx, text)
}

/// Serializes the URL with one component changed; a value that does not fit changes nothing, as in browsers.
fn set(ctx: Ctx<'_>, href: Text, component: u8, value: Text) -> Result<JsString<'_>> {
    let mut url = parsed(&ctx, &href)?;
    let value = value.0.as_str();
    let _ignored = match component {
        1 => quirks::set_protocol(&mut url, value),
        2 => quirks::set_username(&mut url, value),
        3 => quirks::set_password(&mut url, value),
        4 => quirks::set_host(&mut url, value),
        5 => quirks::set_hostname(&mut url, value),
        6 => quirks::set_port(&mut url, value),
        7 => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        8 => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        _ => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
    };
    JsString::from_str(ctx, url.as_str())
}

/// Splits `application/x-www-form-urlencoded` text into a list that alternates names and values.
fn parse_query(query: Text) -> Vec<String> {
    let mut pairs = Vec::new();
    for (name, value) in form_urlencoded::parse(query.0.as_bytes()) {
        pairs.push(name.into_owned());
        pairs.push(value.into_owned());
    }
    pairs
}

/// Serializes a list that alternates names and values, the reverse of [`parse_query`].
fn serialize_query(pairs: Vec<Text>) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    for pair in pairs.chunks_exact(2) {
        text.append_pair(&pair[0].0, &pair[1].0);
    }
    text.finish()
}

fn parsed(ctx: &Ctx<'_>, href: &Text) -> Result<Parsed> {
    Parsed::parse(&href.0).map_err(|_| Exception::throw_type(ctx, "Invalid URL"))
}
