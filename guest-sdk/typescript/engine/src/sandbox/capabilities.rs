//! The module `kitbag:toolkit`: the contract's capabilities as functions.
//!
//! The engine imports all of them; in a component, the builder keeps those that its declaration grants and
//! replaces the others by traps. Errors of the contract are thrown as `{ tag, val? }`.

use rquickjs::function::Func;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Error, IntoJs, Object, Result, Value};

use super::bindings::kitbag::toolkit::{ask, cache, ingest, knowledge, log, progress, search, secrets};
use super::moment::require_call;
use super::record::{required, text};
use crate::values::Text;

/// The module `kitbag:toolkit`.
pub(super) struct Capabilities;

impl ModuleDef for Capabilities {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        let names = ["log", "progress", "secret", "search", "getDocument", "ingest", "ask"];
        for name in names.into_iter().chain(["cached", "cache", "removeCached"]) {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("log", Func::from(write))?;
        exports.export("progress", Func::from(report))?;
        exports.export("secret", Func::from(secret))?;
        exports.export("search", Func::from(find))?;
        exports.export("getDocument", Func::from(get_document))?;
        exports.export("ingest", Func::from(store))?;
        exports.export("ask", Func::from(question))?;
        exports.export("cached", Func::from(cached))?;
        exports.export("cache", Func::from(keep))?;
        exports.export("removeCached", Func::from(remove_cached))?;
        Ok(())
    }
}

/// Appends a log entry of one plain string.
pub(super) fn write_log(text: &str) {
    log::write(&[text.to_owned()]);
}

fn write(ctx: Ctx<'_>, arguments: Vec<Text>) -> Result<()> {
    require_call(&ctx, "writes to the log")?;
    log::write(&arguments.into_iter().map(|Text(text)| text).collect::<Vec<_>>());
    Ok(())
}

fn report(ctx: Ctx<'_>, progress: f64, total: Option<f64>, message: Option<Text>) -> Result<()> {
    require_call(&ctx, "reports progress")?;
    progress::report(progress, total, message.as_ref().map(|Text(text)| text.as_str()));
    Ok(())
}

fn secret(ctx: Ctx<'_>, name: Text) -> Result<Option<String>> {
    require_call(&ctx, "asks for a credential")?;
    secrets::get(&name.0).map_err(|error| match error {
        secrets::SecretError::Undeclared => throw(&ctx, "undeclared", None),
        secrets::SecretError::Unavailable(why) => throw(&ctx, "unavailable", Some(why)),
    })
}

fn find<'js>(ctx: Ctx<'js>, query: Text, options: Object<'js>) -> Result<Vec<Object<'js>>> {
    require_call(&ctx, "searches the knowledge base")?;
    let options = search::SearchOptions {
        limit: options.get("limit")?,
        source: text(&options, "source")?,
        author: text(&options, "author")?,
    };
    let found = search::search(&query.0, &options).map_err(|error| refusal(&ctx, error))?;
    let result = |it: search::SearchResult| {
        let result = Object::new(ctx.clone())?;
        result.set("document", summary(&ctx, it.document)?)?;
        result.set("snippet", it.snippet)?;
        result.set("score", it.score)?;
        Ok(result)
    };
    found.into_iter().map(result).collect()
}

fn get_document<'js>(ctx: Ctx<'js>, id: Text) -> Result<Object<'js>> {
    require_call(&ctx, "reads the knowledge base")?;
    let document = search::get_document(&id.0).map_err(|error| refusal(&ctx, error))?;
    let result = summary(&ctx, document.summary)?;
    result.set("text", document.text)?;
    Ok(result)
}

fn store<'js>(ctx: Ctx<'js>, documents: Vec<Object<'js>>) -> Result<u32> {
    require_call(&ctx, "writes to the knowledge base")?;
    let documents = documents.iter().map(document).collect::<Result<Vec<_>>>()?;
    ingest::ingest(&documents).map_err(|error| refusal(&ctx, error))
}

/// Returns the user's answer as `{ tag, val? }`. If there is none yet, the host ends the run here.
fn question<'js>(ctx: Ctx<'js>, key: Text, message: Text, schema: Text) -> Result<Object<'js>> {
    require_call(&ctx, "asks its user")?;
    let answer = ask::ask(&key.0, &message.0, &schema.0).map_err(|error| match error {
        ask::AskError::Unsupported => throw(&ctx, "unsupported", None),
        ask::AskError::Invalid(why) => throw(&ctx, "invalid", Some(why)),
    })?;
    match answer {
        ask::Answer::Accepted(fields) => variant(&ctx, "accepted", Some(fields)),
        ask::Answer::Declined => variant(&ctx, "declined", None),
        ask::Answer::Cancelled => variant(&ctx, "cancelled", None),
    }
}

fn cached(ctx: Ctx<'_>, key: Text) -> Result<Option<String>> {
    require_call(&ctx, "reads its cache")?;
    cache::get(&key.0).map_err(|error| of_cache(&ctx, error))
}

fn keep(ctx: Ctx<'_>, key: Text, value: Text, seconds: Option<u32>) -> Result<()> {
    require_call(&ctx, "writes to its cache")?;
    cache::set(&key.0, &value.0, seconds).map_err(|error| of_cache(&ctx, error))
}

fn remove_cached(ctx: Ctx<'_>, key: Text) -> Result<()> {
    require_call(&ctx, "writes to its cache")?;
    cache::delete(&key.0).map_err(|error| of_cache(&ctx, error))
}

fn of_cache(ctx: &Ctx<'_>, error: cache::CacheError) -> Error {
    match error {
        cache::CacheError::Invalid(why) => throw(ctx, "invalid", Some(why)),
        cache::CacheError::Unavailable(why) => throw(ctx, "unavailable", Some(why)),
    }
}

/// Converts a summary to an object; absent members stay absent.
fn summary<'js>(ctx: &Ctx<'js>, it: search::DocumentSummary) -> Result<Object<'js>> {
    let summary = Object::new(ctx.clone())?;
    let members = [
        ("id", Some(it.id)),
        ("title", Some(it.title)),
        ("url", it.url),
        ("author", it.author),
        ("source", Some(it.source)),
        ("feed", it.feed),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            summary.set(name, value)?;
        }
    }
    Ok(summary)
}

fn document(it: &Object<'_>) -> Result<ingest::Document> {
    let feed: Option<Object> = it.get("feed")?;
    Ok(ingest::Document {
        title: required(it, "title")?,
        text: text(it, "text")?,
        url: text(it, "url")?,
        author: text(it, "author")?,
        file_url: text(it, "fileUrl")?,
        audio_url: text(it, "audioUrl")?,
        mime_type: text(it, "mimeType")?,
        capture_only: it.get::<_, Value>("captureOnly")?.as_bool() == Some(true),
        feed: feed
            .map(|feed| -> Result<_> {
                Ok(ingest::Feed {
                    key: required(&feed, "key")?,
                    name: required(&feed, "name")?,
                    label: text(&feed, "label")?,
                })
            })
            .transpose()?,
    })
}

fn refusal(ctx: &Ctx<'_>, error: knowledge::KnowledgeError) -> Error {
    match error {
        knowledge::KnowledgeError::NotFound => throw(ctx, "not-found", None),
        knowledge::KnowledgeError::Invalid(why) => throw(ctx, "invalid", Some(why)),
        knowledge::KnowledgeError::Unavailable(why) => throw(ctx, "unavailable", Some(why)),
    }
}

/// Throws a variant of the contract as an object `{ tag, val }`.
fn throw(ctx: &Ctx<'_>, tag: &str, value: Option<String>) -> Error {
    let thrown = variant(ctx, tag, value).and_then(|variant| variant.into_js(ctx));
    thrown.map_or_else(|error| error, |variant| ctx.throw(variant))
}

/// Makes a variant of the contract, as an object `{ tag, val }`.
fn variant<'js>(ctx: &Ctx<'js>, tag: &str, value: Option<String>) -> Result<Object<'js>> {
    let variant = Object::new(ctx.clone())?;
    variant.set("tag", tag)?;
    variant.set("val", value)?;
    Ok(variant)
}
